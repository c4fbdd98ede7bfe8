package dev.warmpath.worker.foreign.event;

import dev.warmpath.protocol.block.BlockExtraKeys;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What an engine says of its cache, one entry for every physical block. A block is named by a handle: the engine's own
 * hash where that is an integer, otherwise the last eight bytes of it, which vLLM's integers are, too. Arrays are not
 * written after construction.
 */
sealed interface EngineEvent {

    /**
     * Consecutive blocks of one prompt are in the cache.
     *
     * @param handles      one for each block
     * @param parent       handle of the block before the first, or null at a prompt's beginning
     * @param tokens       ids of all the blocks' tokens, not negative; of another number than {@code handles.length *
     *                     blockSize} where layers keep only a window
     * @param blockSize    tokens a block
     * @param attention    which attention the layers of its group have, as vLLM names it, or null if it does not say
     * @param extraKeys    one for each of the first blocks whose keys are understood, the adapter under the engine's
     *                     name for it; the blocks from there on cannot be hashed
     */
    record Stored(long[] handles, @Nullable Long parent, int[] tokens, int blockSize, Place place,
            @Nullable String attention, List<BlockExtraKeys> extraKeys) implements EngineEvent {

        public Stored {
            extraKeys = List.copyOf(extraKeys);
        }
    }

    /** A copy of each of the blocks is gone. */
    record Removed(long[] handles, Place place) implements EngineEvent {}

    /** Everything is gone. */
    record Cleared() implements EngineEvent {}

    /**
     * Where blocks are.
     *
     * @param medium the engine's name for it, or null if it does not say
     * @param remote true if they are on another machine
     * @param group  index of the group of layers that they serve; 0 if the engine does not say
     */
    record Place(@Nullable String medium, boolean remote, int group) {

        /** vLLM says GPU on CPU builds, too, as captured from 0.32; before 0.10.2 it said nothing. */
        boolean isDevice() {
            return !remote && (medium == null || medium.equals("GPU"));
        }
    }
}
