package dev.warmpath.worker.model;

import dev.warmpath.worker.compute.WeightFormat;

/** What becomes of the weights of linear layers while a model is loaded. */
public enum Quantization {
    /** They reach the device as they are stored. */
    NONE,
    /**
     * Those that are stored in 16 or 32 bits reach it as {@link WeightFormat#Q8_0}: 8.5 bits. A row that is no whole
     * blocks stays as it is, as do blocks of other formats, which have fewer bits already.
     */
    INT8;

    /** @return how rows of so many columns reach the device */
    WeightFormat uploaded(WeightFormat stored, int columns) {
        boolean shrinks = this == INT8 && !stored.hasBlocks() && WeightFormat.Q8_0.isWhole(columns);
        return shrinks ? WeightFormat.Q8_0 : stored;
    }
}
