package dev.warmpath.worker.foreign.event;

import dev.warmpath.protocol.block.BlockExtraKeys;
import dev.warmpath.protocol.block.BlockHashChain;
import dev.warmpath.protocol.block.BlockHasher;
import dev.warmpath.protocol.block.HashSettings;
import dev.warmpath.protocol.event.BlockChange;
import dev.warmpath.protocol.event.Medium;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;

/**
 * The books of an engine's blocks: turns its events, one for every physical copy, into changes of the set that is
 * announced (D8), under our own keys.
 *
 * <p><b>Keys.</b> Every block is hashed from its tokens, its extra keys and its parent, whatever the engine hashes with
 * and whatever its seed is: its own hash is no more than a handle. That proves the key of each block instead of
 * trusting samples, costs a fraction of a microsecond, and covers what the engine hashes in another way than the fleet:
 * vLLM writes salts and adapters with tags since 0.31, SGLang has a rule of its own. Where the engine's hash is ours,
 * that is counted.
 *
 * <p><b>Reachable.</b> A block is announced while all its ancestors are (D9). So one whose parent is not known, as the
 * chain was met in its middle, is not announced, nor is what follows it, until all of it is stored again. If an engine
 * gives up a block before what follows it, that is withdrawn with it, leaf up.
 *
 * <p><b>Copies.</b> vLLM may hold equal blocks twice and says so each time: copies are counted. (Its report mode
 * {@code full} repeats blocks of which there is but one copy, in events that look no different, as captured from 0.32.
 * No request of ours asks for it; after others' the blocks stay announced too long, which costs time (D5), until they
 * are more than the engine can hold.)
 *
 * <p>Names in keys are those of D2: {@code a:} before an adapter's name, and salts as they were sent. One thread owns
 * it.
 */
final class EngineBlocks {

    /** vLLM's kinds of attention that keep every token; a group that does not say counts if it is the first. */
    private static final Set<String> FULL_ATTENTION = Set.of("full_attention", "mla_attention", "sink_full_attention");
    private static final int NO_GROUP = -1;

    private final int blockSize;
    private final int maxBlocks;
    private final BlockHasher hasher;
    private final BlockTree tree = new BlockTree();
    private final ChangeList changes = new ChangeList();
    private final long[] hash = new long[BlockHashChain.WORDS_PER_HASH];
    /** The group whose blocks are announced; vLLM says what attention a group has only where it stores. */
    private int announcedGroup = NO_GROUP;

    private long stored;
    private long unproved;
    private long passedOver;
    private long strayRemoved;
    private long overflows;
    private long equalHashes;

    /**
     * @param settings  what the fleet hashes with
     * @param maxBlocks different blocks that the engine can hold; if it tells of more, the books are wrong, and begin
     *                  anew
     */
    EngineBlocks(HashSettings settings, int maxBlocks) {
        this.blockSize = settings.blockSize();
        this.maxBlocks = maxBlocks;
        this.hasher = new BlockHasher(settings);
    }

    /** Takes events over. @return how that changed the announced set, in order; empty if it did not */
    List<BlockChange> apply(List<EngineEvent> events) {
        for (EngineEvent event : events) {
            switch (event) {
                case EngineEvent.Stored block -> store(block);
                case EngineEvent.Removed block -> remove(block);
                case EngineEvent.Cleared() -> clear();
            }
        }
        return changes.take();
    }

    /** Forgets everything, what the engine is like included: another one may be there. */
    List<BlockChange> forget() {
        announcedGroup = NO_GROUP;
        clear();
        return changes.take();
    }

    /** Adds what it has counted. */
    EventCounts counts(EventCounts others) {
        return new EventCounts(others.batches(), others.replayed(), others.broken(), others.unknown(), others.gaps(),
                others.lostGaps(), others.restarts(), stored, unproved, passedOver, strayRemoved, overflows,
                equalHashes, tree.size());
    }

    private void store(EngineEvent.Stored event) {
        long[] handles = event.handles();
        if (!isAnnounced(event)) {
            passedOver += handles.length;
            return;
        }
        int parent = event.parent() == null ? BlockTree.NONE : tree.find(event.parent());
        boolean chainIsKnown = event.parent() == null || parent != BlockTree.NONE;
        boolean hasTokens = event.tokens().length == (long) handles.length * blockSize;
        int provable = chainIsKnown && hasTokens ? Math.min(handles.length, event.extraKeys().size()) : 0;
        for (int i = 0; i < provable; i++) {
            int known = tree.find(handles[i]);
            if (known != BlockTree.NONE) {
                tree.addCopy(known);
                parent = known;
            } else if (tree.size() < maxBlocks) {
                parent = storeFirst(handles[i], parent, event.tokens(), i * blockSize, event.extraKeys().get(i));
            } else {
                overflows++;
                clear();
                return;
            }
        }
        unproved += handles.length - provable;
    }

    private int storeFirst(long handle, int parent, int[] tokens, int from, BlockExtraKeys published) {
        if (parent == BlockTree.NONE) {
            System.arraycopy(hasher.root(), 0, hash, 0, hash.length);
        } else {
            tree.copyHash(parent, hash);
        }
        hasher.hash(hash, 0, tokens, from, ours(published), hash, 0);
        int block = tree.add(handle, parent, hash);
        stored++;
        equalHashes += tree.key(block) == handle ? 1 : 0;
        changes.stored(tree.key(block));
        return block;
    }

    private static BlockExtraKeys ours(BlockExtraKeys published) {
        return published.adapter() == null ? published
                : new BlockExtraKeys("a:" + published.adapter(), published.media(), published.salt());
    }

    /** The first full-attention group that is seen is the one that is announced. */
    private boolean isAnnounced(EngineEvent.Stored event) {
        int group = event.place().group();
        boolean keepsAll = event.attention() == null || event.attention().equals("unknown")
                ? group == 0 : FULL_ATTENTION.contains(event.attention());
        if (!keepsAll || !event.place().isDevice() || event.blockSize() != blockSize) {
            return false;
        }
        if (announcedGroup == NO_GROUP) {
            announcedGroup = group;
        }
        return group == announcedGroup;
    }

    private void remove(EngineEvent.Removed event) {
        if (!event.place().isDevice() || event.place().group() != announcedGroup) {
            passedOver += event.handles().length;
            return;
        }
        for (long handle : event.handles()) {
            int block = tree.find(handle);
            if (block == BlockTree.NONE) {
                strayRemoved++;
            } else if (tree.removeCopy(block) == 0) {
                withdraw(block);
            }
        }
    }

    private void withdraw(int block) {
        if (tree.hasChildren(block)) {
            for (int below : tree.descendants(block)) {
                withdrawUpTo(block, below);
            }
        }
        withdrawLeaf(block);
    }

    /** From a leaf up to where another child holds a block, or to the ancestor, which stays. */
    private void withdrawUpTo(int ancestor, int from) {
        int block = from;
        while (block != ancestor && tree.isHeld(block) && !tree.hasChildren(block)) {
            int parent = tree.parent(block);
            withdrawLeaf(block);
            block = parent;
        }
    }

    private void withdrawLeaf(int block) {
        changes.removed(tree.key(block));
        tree.remove(block);
    }

    private void clear() {
        if (tree.size() > 0) {
            tree.clear();
            changes.cleared();
        }
    }

    /** Changes in order, runs of one kind in one. */
    private static final class ChangeList {

        private List<BlockChange> changes = new ArrayList<>();
        private boolean runIsStored;
        private long[] run = new long[64];
        private int runLength;

        void stored(long key) {
            add(true, key);
        }

        void removed(long key) {
            add(false, key);
        }

        /** What came before does not matter any more. */
        void cleared() {
            runLength = 0;
            changes.clear();
            changes.add(new BlockChange.Cleared());
        }

        /** Hands them out and begins anew. */
        List<BlockChange> take() {
            endRun();
            List<BlockChange> taken = changes;
            changes = new ArrayList<>();
            return taken;
        }

        private void add(boolean isStored, long key) {
            if (isStored != runIsStored) {
                endRun();
                runIsStored = isStored;
            }
            if (runLength == run.length) {
                run = Arrays.copyOf(run, runLength * 2);
            }
            run[runLength++] = key;
        }

        private void endRun() {
            if (runLength > 0) {
                long[] keys = Arrays.copyOf(run, runLength);
                changes.add(runIsStored ? new BlockChange.Stored(Medium.DEVICE, keys)
                        : new BlockChange.Removed(Medium.DEVICE, keys));
                runLength = 0;
            }
        }
    }
}
