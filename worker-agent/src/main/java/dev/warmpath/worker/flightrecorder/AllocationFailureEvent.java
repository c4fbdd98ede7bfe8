package dev.warmpath.worker.flightrecorder;

import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;

/** A sequence found too few free blocks. */
@Name("warmpath.BlockAllocationFailure")
@Label("Block Allocation Failure")
@Category({"Warmpath", "Cache"})
@StackTrace(false)
public final class AllocationFailureEvent extends Event {

    private static final AllocationFailureEvent PROBE = new AllocationFailureEvent();

    @Label("Request")
    String request = "";

    @Label("Running")
    @Description("It runs, and somebody has to give way; or it waits, and goes on waiting")
    boolean running;

    @Label("Tokens")
    @Description("That it was to compute")
    int tokens;

    @Label("Free Blocks")
    int freeBlocks;

    public static void record(String request, boolean running, int tokens, int freeBlocks) {
        if (PROBE.isEnabled()) {
            var event = new AllocationFailureEvent();
            event.request = request;
            event.running = running;
            event.tokens = tokens;
            event.freeBlocks = freeBlocks;
            event.commit();
        }
    }
}
