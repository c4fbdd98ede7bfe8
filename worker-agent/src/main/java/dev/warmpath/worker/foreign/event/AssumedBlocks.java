package dev.warmpath.worker.foreign.event;

import dev.warmpath.protocol.block.BlockHashChain;
import dev.warmpath.protocol.block.ExtraKeys;
import dev.warmpath.protocol.block.HashSettings;
import dev.warmpath.protocol.event.BlockChange;
import dev.warmpath.protocol.event.Medium;
import dev.warmpath.protocol.generate.GenerateRequest;
import dev.warmpath.worker.engine.BlockChangeListener;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.List;

/**
 * What an engine probably holds that tells nothing of its cache: the blocks of the prompts that it was sent last. Of
 * each prompt the first block counts as used last, so that a chain is given up from its end and what is announced stays
 * closed under parents (D9). What others send there, and when the engine gives something up, nobody knows: that costs
 * time (D5), no answer. Safe on any thread.
 */
public final class AssumedBlocks {

    private final HashSettings settings;
    private final int maxBlocks;
    private final BlockChangeListener listener;
    /** Least lately used first. */
    private final LinkedHashSet<Long> keys = new LinkedHashSet<>();

    /**
     * @param maxBlocks that the engine is taken to hold, at least 1
     * @param listener  hears of changes, on the threads that send
     */
    public AssumedBlocks(HashSettings settings, int maxBlocks, BlockChangeListener listener) {
        this.settings = settings;
        this.maxBlocks = maxBlocks;
        this.listener = listener;
    }

    /** @return tokens of a prompt that the engine probably has: whole blocks, fewer than the prompt has */
    public int expectedTokens(GenerateRequest request) {
        BlockHashChain chain = chain(request);
        return tokens(held(chain, counted(chain)), request);
    }

    /** A prompt is sent. @return what was expected of it until then */
    public int sent(GenerateRequest request) {
        BlockHashChain chain = chain(request);
        return tokens(take(chain, counted(chain)), request);
    }

    private int counted(BlockHashChain chain) {
        return Math.min(chain.blockCount(), maxBlocks);
    }

    private int tokens(int held, GenerateRequest request) {
        return Math.min(held, settings.reusableBlocks(request.promptTokens().length)) * settings.blockSize();
    }

    private BlockHashChain chain(GenerateRequest request) {
        return BlockHashChain.of(settings, ExtraKeys.ofSalt(request.salt()), request.promptTokens());
    }

    /** The engine has begun anew, and holds nothing. */
    public synchronized void clear() {
        if (!keys.isEmpty()) {
            keys.clear();
            listener.onBlockChanges(List.of(new BlockChange.Cleared()));
        }
    }

    private synchronized int held(BlockHashChain chain, int count) {
        int held = 0;
        while (held < count && keys.contains(chain.key(held))) {
            held++;
        }
        return held;
    }

    /** @return of these, how many were held from the first on */
    private synchronized int take(BlockHashChain chain, int count) {
        int held = held(chain, count);
        for (int block = count - 1; block >= 0; block--) {
            keys.remove(chain.key(block));
            keys.add(chain.key(block));
        }
        List<BlockChange> changes = new ArrayList<>();
        if (keys.size() > maxBlocks) {
            changes.add(new BlockChange.Removed(Medium.DEVICE, removeOldest(keys.size() - maxBlocks)));
        }
        if (held < count) {
            long[] stored = new long[count - held];
            for (int block = held; block < count; block++) {
                stored[block - held] = chain.key(block);
            }
            changes.add(new BlockChange.Stored(Medium.DEVICE, stored));
        }
        if (!changes.isEmpty()) {
            listener.onBlockChanges(changes);
        }
        return held;
    }

    private long[] removeOldest(int count) {
        long[] removed = new long[count];
        Iterator<Long> oldest = keys.iterator();
        for (int i = 0; i < count; i++) {
            removed[i] = oldest.next();
            oldest.remove();
        }
        return removed;
    }
}
