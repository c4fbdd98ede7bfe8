package dev.warmpath.worker.model;

import dev.warmpath.worker.compute.AttentionSpec;

/**
 * What a decoder layer may differ in from the others of its model.
 *
 * @param attention what its tokens see
 * @param rotation  how its heads know their position
 */
public record LayerShape(AttentionSpec attention, Rotation rotation) {

    /** Of most models: every position seen, whole heads turned. */
    public static LayerShape plain(int headSize, double theta) {
        return new LayerShape(AttentionSpec.plain(headSize), Rotation.plain(headSize, theta));
    }

    /** The same layer in a model that was made for such a context: a window that is not narrower hides nothing. */
    LayerShape in(int contextLength) {
        boolean sees = attention.window() == AttentionSpec.NO_WINDOW || attention.window() < contextLength;
        return sees ? this : new LayerShape(new AttentionSpec(attention.scale(), AttentionSpec.NO_WINDOW,
                attention.softCap(), attention.sinks()), rotation);
    }
}
