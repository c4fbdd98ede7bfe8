package dev.warmpath.worker.flightrecorder;

import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;

/** A running sequence gave its blocks up to others. */
@Name("warmpath.Preemption")
@Label("Preemption")
@Category({"Warmpath", "Engine"})
@StackTrace(false)
public final class PreemptionEvent extends Event {

    private static final PreemptionEvent PROBE = new PreemptionEvent();

    @Label("Request")
    String request = "";

    @Label("Mode")
    @Description("recompute or swap")
    String mode = "";

    @Label("Tokens")
    @Description("That it had computed")
    int tokens;

    @Label("Times")
    @Description("How often that has happened to it, this time included")
    int times;

    public static void record(String request, boolean swapped, int tokens, int times) {
        if (PROBE.isEnabled()) {
            var event = new PreemptionEvent();
            event.request = request;
            event.mode = swapped ? "swap" : "recompute";
            event.tokens = tokens;
            event.times = times;
            event.commit();
        }
    }
}
