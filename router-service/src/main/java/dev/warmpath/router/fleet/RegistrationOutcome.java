package dev.warmpath.router.fleet;

import dev.warmpath.protocol.fleet.RefusalReason;

/** The answer to a registration. */
public sealed interface RegistrationOutcome {

    /** @param isNew true if somebody has to start following this worker; false if it had registered before */
    record Accepted(FleetWorker worker, boolean isNew) implements RegistrationOutcome {}

    /** @param message names what is wrong, with both values where two differ */
    record Refused(RefusalReason reason, String message) implements RegistrationOutcome {}
}
