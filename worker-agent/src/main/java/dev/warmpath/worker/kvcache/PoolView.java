package dev.warmpath.worker.kvcache;

import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/** The blocks of a cache to look at, for whoever owns the cache's thread; changes nothing. */
public final class PoolView {

    private final KvCacheSettings settings;
    private final BlockPool pool;
    private final SwapSpace swap;

    PoolView(KvCacheSettings settings, BlockPool pool, SwapSpace swap) {
        this.settings = settings;
        this.pool = pool;
        this.swap = swap;
    }

    public KvCacheSettings settings() {
        return settings;
    }

    /**
     * Copies all that changes from step to step; a fraction of a millisecond for 100,000 blocks.
     *
     * @param image    of as many blocks
     * @param nowNanos the clock of {@link KvCacheManager#beginStep}
     */
    public void copyTo(PoolImage image, long nowNanos) {
        image.atMillis = atMillis(nowNanos);
        pool.copyTo(image);
        swap.copyUsed(image.hostUsed);
    }

    /** Since the first step. @param nowNanos the clock of {@link KvCacheManager#beginStep} */
    public long atMillis(long nowNanos) {
        return pool.atMillis(nowNanos);
    }

    /** How often a block is held. @throws IndexOutOfBoundsException if there is no such block, here and below */
    public int references(int block) {
        return pool.references(block);
    }

    public boolean isKeyed(int block) {
        return pool.isKeyed(block);
    }

    /** When a block was last taken, hit or let go, rounded up by some milliseconds; 0 = never. */
    public long lastUseMillis(int block) {
        return pool.lastUseMillis(block);
    }

    /** The group of layers that a keyed block's content belongs to. */
    public int group(int block) {
        return pool.keys().group(block);
    }

    /** The 32 bytes of a keyed block's hash; a new array. */
    public byte[] hash(int block) {
        return pool.keys().hash(block);
    }

    /** A keyed block's tokens, or null if they are not kept; a new array. */
    public int @Nullable [] tokens(int block) {
        return settings.verifyTokens() ? pool.keys().tokens(block, settings.blockSize(group(block))) : null;
    }

    /** What a sequence has in swap space, group after group; a new array. */
    public int[] hostBlocks(TokenSequence sequence) {
        int[] blocks = {};
        for (int group = 0; sequence.swappedTokens() > 0 && group < settings.groups().size(); group++) {
            BlockTable table = sequence.holding().swapped(group);
            int before = blocks.length;
            blocks = Arrays.copyOf(blocks, before + table.blockCount());
            System.arraycopy(table.blocks(), 0, blocks, before, table.blockCount());
        }
        return blocks;
    }
}
