package dev.warmpath.worker.model;

/**
 * How a sampled row's logits are adjusted, apart from its entries: see
 * {@link dev.warmpath.worker.compute.LogitAdjustments}.
 * @param repetition  above 0; 1 is off
 * @param frequency   0 is off
 * @param presence    0 is off
 * @param cut         at most 0; minus infinity is off
 * @param allowedOnly true: tokens without an entry that allows them are masked
 */
public record RowAdjustment(float repetition, float frequency, float presence, float cut, boolean allowedOnly) {

    public RowAdjustment {
        if (!(repetition > 0) || !(cut <= 0)) {
            throw new IllegalArgumentException("repetition is %s, takes above 0; cut is %s, takes at most 0"
                    .formatted(repetition, cut));
        }
    }
}
