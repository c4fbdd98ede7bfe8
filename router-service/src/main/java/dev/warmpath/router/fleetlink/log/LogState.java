package dev.warmpath.router.fleetlink.log;

/** What of the log in Redis is known here. */
public enum LogState {
    /** Redis does not answer. */
    LOST,
    /** Redis answers, or may do so any moment: whoever has a checkpoint there waits for it. */
    AWAITED,
    /** Redis answers and checkpoints have been handed out: what is not here is not in the log. */
    FRESH
}
