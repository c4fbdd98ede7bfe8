package dev.warmpath.worker.model;

/**
 * What happens between the blocks of a decoder, besides adding them up.
 *
 * @param embeddingScale of what the first layer is given; 1 for most
 * @param residualScale  of what each block adds; 1 for most
 * @param logitScale     of what the head makes; 1 for most
 * @param logitCap       bound of the logits after that, see {@code softCap}; {@link #NO_CAP} for most
 */
public record StreamSpec(double embeddingScale, double residualScale, double logitScale, double logitCap) {

    public static final double NO_CAP = 0;

    /** Of most models. */
    public static final StreamSpec PLAIN = new StreamSpec(1, 1, 1, NO_CAP);
}
