package dev.warmpath.worker.engine;

import dev.warmpath.protocol.event.BlockChange;
import java.util.List;

/** Hears, on the engine's thread, how the announced set of blocks changed. Must return at once and never block. */
@FunctionalInterface
public interface BlockChangeListener {

    /** @param changes at least one, in order */
    void onBlockChanges(List<BlockChange> changes);
}
