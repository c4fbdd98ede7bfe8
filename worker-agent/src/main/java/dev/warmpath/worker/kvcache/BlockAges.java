package dev.warmpath.worker.kvcache;

import dev.warmpath.worker.histogram.Histogram;

/**
 * When blocks were allocated and last hit, and what follows from it, see {@link BlockResidency}. A block of a small
 * pool takes 16 bytes here; of a large one only each sixteenth does, so 1 byte a block and next to no time. Which one
 * of sixteen is as good as random, for blocks that are taken together lie side by side.
 */
final class BlockAges {

    private static final int OBSERVED_WHOLE = 4_096;
    private static final int SAMPLE_SHIFT = 4;
    private static final int NOT_OBSERVED = -1;
    private static final long NEVER = Long.MIN_VALUE;

    private final boolean samples;
    private final long[] allocatedNanos;
    private final long[] hitNanos;
    private final Histogram lifetime = Histogram.ofNanos();
    private final Histogram idleBeforeEviction = Histogram.ofNanos();
    private final Histogram reuseGap = Histogram.ofNanos();
    private long nowNanos;

    BlockAges(int blockCount) {
        samples = blockCount > OBSERVED_WHOLE;
        int observed = samples ? (blockCount >>> SAMPLE_SHIFT) + 1 : blockCount;
        allocatedNanos = new long[observed];
        hitNanos = new long[observed];
    }

    void at(long nowNanos) {
        this.nowNanos = nowNanos;
    }

    void allocated(int block) {
        int place = place(block);
        if (place != NOT_OBSERVED) {
            allocatedNanos[place] = nowNanos;
            hitNanos[place] = NEVER;
        }
    }

    void touched(int block) {
        int place = place(block);
        if (place != NOT_OBSERVED) {
            if (hitNanos[place] != NEVER) {
                reuseGap.record(nowNanos - hitNanos[place]);
            }
            hitNanos[place] = nowNanos;
        }
    }

    /** It loses its key, for it is allocated anew. */
    void evicted(int block) {
        int place = place(block);
        if (place != NOT_OBSERVED) {
            lifetime.record(nowNanos - allocatedNanos[place]);
            long lastUse = hitNanos[place] == NEVER ? allocatedNanos[place] : hitNanos[place];
            idleBeforeEviction.record(nowNanos - lastUse);
        }
    }

    BlockResidency residency() {
        return new BlockResidency(
                lifetime.distribution(), idleBeforeEviction.distribution(), reuseGap.distribution());
    }

    private int place(int block) {
        if (!samples) {
            return block;
        }
        int group = block >>> SAMPLE_SHIFT;
        int chosen = group * 0x9e3779b9 >>> Integer.SIZE - SAMPLE_SHIFT;
        return (block & (1 << SAMPLE_SHIFT) - 1) == chosen ? group : NOT_OBSERVED;
    }
}
