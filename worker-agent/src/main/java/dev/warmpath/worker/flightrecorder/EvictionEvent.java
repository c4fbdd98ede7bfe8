package dev.warmpath.worker.flightrecorder;

import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;

/** Prefix blocks that a decision on a batch overwrote, together. */
@Name("warmpath.Eviction")
@Label("Block Eviction")
@Category({"Warmpath", "Cache"})
@StackTrace(false)
public final class EvictionEvent extends Event {

    private static final EvictionEvent PROBE = new EvictionEvent();

    @Label("Blocks")
    long blocks;

    @Label("Free Blocks")
    @Description("That are left, those among them that hold prefixes")
    int freeBlocks;

    public static void record(long blocks, int freeBlocks) {
        if (PROBE.isEnabled()) {
            var event = new EvictionEvent();
            event.blocks = blocks;
            event.freeBlocks = freeBlocks;
            event.commit();
        }
    }
}
