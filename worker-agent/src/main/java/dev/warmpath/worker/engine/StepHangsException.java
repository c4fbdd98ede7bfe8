package dev.warmpath.worker.engine;

import java.time.Duration;

/** The device has been at one step for twice as long as it may be: whoever waits for it waits for ever. */
public final class StepHangsException extends IllegalStateException {

    private static final long serialVersionUID = 1;

    StepHangsException(Duration age, Duration longest) {
        super("a step has been running for " + age.toMillis() + " ms, of " + longest.toMillis() + " ms that it may: if "
                + "the device is only slow, set warmpath.compute.longest-step higher, or "
                + "warmpath.scheduler.max-num-batched-tokens lower");
    }
}
