package dev.warmpath.worker.kvcache;

import dev.warmpath.worker.kvcache.CacheGroup.FullAttention;
import dev.warmpath.worker.kvcache.CacheGroup.SlidingWindow;
import java.util.List;

/**
 * Shape and habits of the KV cache.
 *
 * @param blockCount     blocks in all; block 0 is the null block, so one less can be used; at least 2
 * @param blockSize      tokens per block, at least 1; of every group that has no size of its own, and of what is
 *                       announced
 * @param groups         at least one; at most the first has full attention; all take their blocks from one pool
 * @param maxLength      no sequence gets slots beyond this position: the model's context; at least 1
 * @param prefixCaching  false: nothing is kept beyond its request, nothing announced
 * @param verifyTokens   true: a hit is confirmed by comparing token ids, beyond the 32-byte hash (D5);
 *                       costs 4 bytes per token of the cache
 * @param freeOrder      which free block is taken next
 * @param watermark      share of {@code blockCount} that an admission leaves free while others run, 0 to below 1
 * @param hostBlockCount blocks of swap space in host memory, 0 for none
 */
public record KvCacheSettings(
        int blockCount, int blockSize, List<CacheGroup> groups, int maxLength, boolean prefixCaching,
        boolean verifyTokens, FreeOrder freeOrder, double watermark, int hostBlockCount) {

    /** Hits come in multiples of what all groups' blocks fit into; beyond this there would hardly be any. */
    public static final int MAX_ALIGNMENT = 16_384;

    public KvCacheSettings {
        groups = List.copyOf(groups);
        if (blockCount < 2) {
            throw new IllegalArgumentException("block count " + blockCount
                    + " leaves nothing beside the null block, at least 2 are needed");
        }
        if (blockSize < 1) {
            throw new IllegalArgumentException("block size " + blockSize + " is below 1");
        }
        if (groups.isEmpty() || groups.lastIndexOf(new FullAttention()) > 0) {
            throw new IllegalArgumentException("groups " + groups
                    + ": at least one is needed, and only the first may have full attention");
        }
        if (groups.size() > BlockKeys.MAX_GROUPS) {
            throw new IllegalArgumentException(groups.size() + " groups, at most " + BlockKeys.MAX_GROUPS);
        }
        int largest = blockSize;
        long alignment = 1;
        for (CacheGroup group : groups) {
            int size = blockSizeOf(group, blockSize);
            largest = Math.max(largest, size);
            alignment = alignment / gcd(alignment, size) * size;
            if (alignment > MAX_ALIGNMENT && groups.size() > 1) {
                throw new IllegalArgumentException("blocks of the groups " + groups + " in a cache of blocks of "
                        + blockSize + " tokens end together every " + alignment + " tokens or more, at most every "
                        + MAX_ALIGNMENT + " is of use: choose sizes of which one divides the other");
            }
        }
        if ((long) blockCount * largest > Integer.MAX_VALUE) {
            throw new IllegalArgumentException(blockCount + " blocks of " + largest + " tokens are "
                    + (long) blockCount * largest + " slots, at most " + Integer.MAX_VALUE + " can be numbered");
        }
        if (maxLength < 1) {
            throw new IllegalArgumentException("maximum length " + maxLength + " is below 1");
        }
        if (!(watermark >= 0 && watermark < 1)) {
            throw new IllegalArgumentException("watermark " + watermark + " is outside 0 to below 1");
        }
        if (hostBlockCount < 0) {
            throw new IllegalArgumentException("host block count " + hostBlockCount + " is negative");
        }
    }

    /** One group with full attention, caching and token verification on, no watermark, no swap space. */
    public static KvCacheSettings of(int blockCount, int blockSize) {
        return new KvCacheSettings(blockCount, blockSize, List.of(new FullAttention()), Integer.MAX_VALUE,
                true, true, FreeOrder.UNKEYED_FIRST, 0.0, 0);
    }

    public KvCacheSettings withGroups(CacheGroup... groups) {
        return withGroups(List.of(groups));
    }

    public KvCacheSettings withGroups(List<CacheGroup> groups) {
        return new KvCacheSettings(blockCount, blockSize, groups, maxLength, prefixCaching, verifyTokens, freeOrder,
                watermark, hostBlockCount);
    }

    public KvCacheSettings withMaxLength(int maxLength) {
        return new KvCacheSettings(blockCount, blockSize, groups, maxLength, prefixCaching, verifyTokens, freeOrder,
                watermark, hostBlockCount);
    }

    public KvCacheSettings withPrefixCaching(boolean prefixCaching) {
        return new KvCacheSettings(blockCount, blockSize, groups, maxLength, prefixCaching, verifyTokens, freeOrder,
                watermark, hostBlockCount);
    }

    public KvCacheSettings withVerifyTokens(boolean verifyTokens) {
        return new KvCacheSettings(blockCount, blockSize, groups, maxLength, prefixCaching, verifyTokens, freeOrder,
                watermark, hostBlockCount);
    }

    public KvCacheSettings withFreeOrder(FreeOrder freeOrder) {
        return new KvCacheSettings(blockCount, blockSize, groups, maxLength, prefixCaching, verifyTokens, freeOrder,
                watermark, hostBlockCount);
    }

    public KvCacheSettings withWatermark(double watermark) {
        return new KvCacheSettings(blockCount, blockSize, groups, maxLength, prefixCaching, verifyTokens, freeOrder,
                watermark, hostBlockCount);
    }

    public KvCacheSettings withHostBlockCount(int hostBlockCount) {
        return new KvCacheSettings(blockCount, blockSize, groups, maxLength, prefixCaching, verifyTokens, freeOrder,
                watermark, hostBlockCount);
    }

    /** Tokens in a block of a group. @param group its place in {@link #groups} */
    public int blockSize(int group) {
        return blockSizeOf(groups.get(group), blockSize);
    }

    private static int blockSizeOf(CacheGroup group, int blockSize) {
        return group instanceof SlidingWindow(_, int own) && own > 0 ? own : blockSize;
    }

    /** The least number of tokens after which blocks of all groups end: hits are multiples of it. */
    public int alignment() {
        long alignment = 1;
        for (CacheGroup group : groups) {
            int size = blockSizeOf(group, blockSize);
            alignment = alignment / gcd(alignment, size) * size;
        }
        return (int) alignment;
    }

    private static long gcd(long a, long b) {
        return b == 0 ? a : gcd(b, a % b);
    }

    /** The most tokens that a block of any group holds. */
    int largestBlockSize() {
        int largest = 1;
        for (CacheGroup group : groups) {
            largest = Math.max(largest, blockSizeOf(group, blockSize));
        }
        return largest;
    }

    /** Blocks that an admission leaves free while others run. */
    public int watermarkBlocks() {
        return (int) (watermark * blockCount);
    }

    /**
     * The most blocks that a sequence of this length can hold at once, over all groups. A window group keeps what a
     * step of so many tokens sees: one block more than they fill, since they need not begin at a block's first slot.
     *
     * @param maxStepTokens the most tokens of one sequence between two settlements, at least 1
     */
    public int mostBlocks(int length, int maxStepTokens) {
        int most = 0;
        for (CacheGroup group : groups) {
            most += mostBlocks(group, length, maxStepTokens);
        }
        return most;
    }

    /** True if there is a group with full attention: its keys are announced. */
    boolean announces() {
        return groups.getFirst() instanceof FullAttention;
    }

    int mostBlocks(CacheGroup group, int length, int maxStepTokens) {
        int size = blockSizeOf(group, blockSize);
        int all = Math.ceilDiv(Math.min(length, maxLength), size);
        return switch (group) {
            case FullAttention() -> all;
            case SlidingWindow(int window, _) -> (int) Math.min(
                    all, Math.ceilDiv((long) window - 1 + maxStepTokens, size) + 1);
        };
    }
}
