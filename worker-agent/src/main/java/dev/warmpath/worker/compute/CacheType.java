package dev.warmpath.worker.compute;

/** Element type of the keys and values in a paged cache. */
public enum CacheType {
    F32("float32", 4, 0),
    BF16("bfloat16", 2, 0),
    /**
     * Sign, 4 bits of exponent, 3 of mantissa, up to ±448. Each key and each value of a head has a scale of its own
     * beside its elements, float32: its largest magnitude / 448. So it reaches as far as bfloat16, keeps the largest
     * element as it is and four significant bits of all that are not 28,672 times smaller. vLLM's fp8_per_token_head
     * does so (vllm-project/vllm, pull request 38378 and triton_unified_attention.py): scales are found when a row is
     * stored, a score is multiplied by that of its key, a weight, once it is in the sum, by that of its value. vLLM's
     * least scale is 1e-6; here rows of zeros have 1. vLLM's plain fp8 has one scale for keys and one for values, 1
     * unless calibrated: keys that a large bias lifts beyond 448, as some of Qwen 2, are cut off there.
     */
    FP8_E4M3("fp8_e4m3", 1, Float.BYTES);

    private final String label;
    private final int bytes;
    private final int scaleBytes;

    CacheType(String label, int bytes, int scaleBytes) {
        this.label = label;
        this.bytes = bytes;
        this.scaleBytes = scaleBytes;
    }

    /** The name that vLLM's metrics know it by. */
    public String label() {
        return label;
    }

    /** Size of one element. */
    public int bytes() {
        return bytes;
    }

    /** Size of the scale of one key or value of one head; 0: it has none. */
    public int scaleBytes() {
        return scaleBytes;
    }
}
