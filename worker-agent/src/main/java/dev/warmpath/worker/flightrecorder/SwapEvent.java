package dev.warmpath.worker.flightrecorder;

import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;

/** Blocks of a sequence go to swap space, or come back; the copies are made with the next step. */
@Name("warmpath.Swap")
@Label("Swap")
@Category({"Warmpath", "Cache"})
@StackTrace(false)
public final class SwapEvent extends Event {

    private static final SwapEvent PROBE = new SwapEvent();

    @Label("Request")
    String request = "";

    @Label("Direction")
    @Description("out or in")
    String direction = "";

    @Label("Blocks")
    @Description("That are copied; what is still cached comes back without a copy")
    long blocks;

    public static void record(String request, boolean out, long blocks) {
        if (PROBE.isEnabled()) {
            var event = new SwapEvent();
            event.request = request;
            event.direction = out ? "out" : "in";
            event.blocks = blocks;
            event.commit();
        }
    }
}
