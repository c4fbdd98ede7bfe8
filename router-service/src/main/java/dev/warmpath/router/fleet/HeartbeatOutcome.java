package dev.warmpath.router.fleet;

import dev.warmpath.protocol.fleet.RefusalReason;

/** The answer to a heartbeat. */
public sealed interface HeartbeatOutcome {

    /** The lease runs anew from now. */
    record Extended() implements HeartbeatOutcome {}

    record Refused(RefusalReason reason, String message) implements HeartbeatOutcome {}
}
