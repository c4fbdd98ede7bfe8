package dev.warmpath.worker.compute;

/**
 * Philox4x32-10, the counter-based generator: a number is a function of key and counter, so no backend keeps state and
 * a preempted sequence draws the same tokens again. Source: Salmon et al., "Parallel random numbers: as easy as 1, 2,
 * 3", SC11.
 */
public final class Philox {

    private static final int ROUNDS = 10;
    private static final long MULTIPLIER_0 = 0xD2511F53L;
    private static final long MULTIPLIER_1 = 0xCD9E8D57L;
    private static final int WEYL_0 = 0x9E3779B9;
    private static final int WEYL_1 = 0xBB67AE85;
    private static final long LOW_WORD = 0xFFFF_FFFFL;

    private Philox() {
    }

    /**
     * A float64 in [0, 1) with 53 random bits: output words 0 (high) and 1 (low) of key (low, high word of
     * {@code seed}) and counter ({@code counter}, 0, 0, 0), shifted right by 11 and scaled by 2^-53.
     */
    public static double uniform(long seed, int counter) {
        long words = firstWords(counter, 0, 0, 0, (int) seed, (int) (seed >>> 32));
        return (words >>> 11) * 0x1p-53;
    }

    /** Output words 0 and 1 of a block, word 0 in the high half. */
    static long firstWords(int c0, int c1, int c2, int c3, int k0, int k1) {
        return generate(c0, c1, c2, c3, k0, k1, true);
    }

    /** Output words 2 and 3 of a block, word 2 in the high half. */
    static long lastWords(int c0, int c1, int c2, int c3, int k0, int k1) {
        return generate(c0, c1, c2, c3, k0, k1, false);
    }

    private static long generate(int c0, int c1, int c2, int c3, int k0, int k1, boolean first) {
        for (int round = 0; round < ROUNDS; round++) {
            long product0 = MULTIPLIER_0 * (c0 & LOW_WORD);
            long product1 = MULTIPLIER_1 * (c2 & LOW_WORD);
            c0 = (int) (product1 >>> 32) ^ c1 ^ k0;
            c1 = (int) product1;
            c2 = (int) (product0 >>> 32) ^ c3 ^ k1;
            c3 = (int) product0;
            k0 += WEYL_0;
            k1 += WEYL_1;
        }
        return first ? (c0 & LOW_WORD) << 32 | c1 & LOW_WORD : (c2 & LOW_WORD) << 32 | c3 & LOW_WORD;
    }
}
