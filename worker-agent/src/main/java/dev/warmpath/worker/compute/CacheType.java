package dev.warmpath.worker.compute;

/** Element type of the keys and values in a paged cache. */
public enum CacheType {
    F32("float32", 4),
    BF16("bfloat16", 2),
    /** Sign, 4 bits of exponent, 3 of mantissa; scale 1, larger values saturate at ±448. */
    FP8_E4M3("fp8_e4m3", 1);

    private final String label;
    private final int bytes;

    CacheType(String label, int bytes) {
        this.label = label;
        this.bytes = bytes;
    }

    /** The name that vLLM's metrics know it by. */
    public String label() {
        return label;
    }

    /** Size of one element. */
    public int bytes() {
        return bytes;
    }
}
