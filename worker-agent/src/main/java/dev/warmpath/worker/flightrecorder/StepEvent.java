package dev.warmpath.worker.flightrecorder;

import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;
import jdk.jfr.Timespan;
import org.jspecify.annotations.Nullable;

/**
 * A turn of the engine that computed something, with its phases one after the other. If the scheduler works ahead, the
 * batch that is settled is the one that the turn before submitted.
 */
@Name("warmpath.Step")
@Label("Engine Step")
@Category({"Warmpath", "Engine"})
@StackTrace(false)
public final class StepEvent extends Event {

    private static final StepEvent PROBE = new StepEvent();

    @Label("Sequences")
    @Description("Of the settled batch")
    public int sequences;

    @Label("Prefill Tokens")
    @Description("Tokens of prompts, and those computed again after a preemption, of the settled batch")
    public int prefillTokens;

    @Label("Decode Tokens")
    public int decodeTokens;

    @Label("Device Steps")
    @Description("Of the settled batch; 0 if none was settled")
    public int deviceSteps;

    @Label("Schedule")
    @Description("Taking commands, and deciding on the next batch")
    @Timespan(Timespan.NANOSECONDS)
    public long schedule;

    @Label("Submit")
    @Description("Copying blocks and handing the next batch to the device; processors compute it here")
    @Timespan(Timespan.NANOSECONDS)
    public long submit;

    @Label("Wait")
    @Description("Waiting for the settled batch's tokens")
    @Timespan(Timespan.NANOSECONDS)
    public long wait;

    @Label("Settle")
    @Description("Adding the tokens to their sequences and publishing what the cache holds")
    @Timespan(Timespan.NANOSECONDS)
    public long settle;

    @Label("Tell")
    @Description("Handing the tokens to those who wait for them")
    @Timespan(Timespan.NANOSECONDS)
    public long tell;

    /** A turn begins. @return null while nobody records turns */
    public static @Nullable StepEvent start() {
        if (!PROBE.isEnabled()) {
            return null;
        }
        var event = new StepEvent();
        event.begin();
        return event;
    }
}
