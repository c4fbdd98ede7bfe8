package dev.warmpath.cli.bench;

/** When the requests of a run come. */
sealed interface Pace {

    /** Closed loop: each client takes one session after the other, and sends its next turn at once. */
    record Clients(int count) implements Pace {}

    /**
     * Open loop: requests come at random (Poisson), whatever has become of those before. Each is the next turn of the
     * session that has been ready for it longest, having thought, or where none is, the first of a new one: the rate is
     * that of requests from the first second on, however long the load's sessions think.
     */
    record AtRandom(double perSecond) implements Pace {}

    /** Open loop: each session of a trace begins when the trace has it. @param speed 2: in half the time */
    record Recorded(double speed) implements Pace {}
}
