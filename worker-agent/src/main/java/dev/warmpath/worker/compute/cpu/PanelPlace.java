package dev.warmpath.worker.compute.cpu;

import dev.warmpath.worker.compute.ComputeException;
import java.lang.foreign.MemorySegment;

/**
 * Where the panels of weights lie: in memory of this process, in a file that it fills for others, or in one that
 * another process has filled. Used by one thread at a time.
 */
sealed interface PanelPlace extends AutoCloseable permits PanelMemory, FillingPanels, FilledPanels {

    /** Of a piece, in bytes: a cache line, and the widest vector. */
    long ALIGNMENT = 64;

    /**
     * Zeros, aligned to a cache line, for a weight that is being uploaded.
     * @throws ComputeException if there are none
     */
    MemorySegment allocate(long bytes);

    /** All rows of a weight are uploaded. It may get other memory with the same content, to be read only. */
    default void whole(PanelWeight weight) {}

    /**
     * Gives a weight the panels that another process has packed.
     * @return false if its rows have to be uploaded
     * @throws ComputeException if that one has packed another weight
     */
    default boolean adopt(PanelWeight weight) {
        return false;
    }

    /** There are no more weights, and all are whole: others may have them. */
    default void publish() {}

    /** Instead: nobody gets them, and nobody waits for them any longer. */
    default void keep() {}

    /** All that was handed out goes. */
    @Override
    void close();
}
