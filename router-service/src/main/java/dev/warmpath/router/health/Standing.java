package dev.warmpath.router.health;

/**
 * How a worker stands, as decisions ask: whether requests go there, and how dear it is. Made anew with each change, and
 * read without a lock.
 *
 * @param isUnreachable whether its probes go unanswered
 * @param isEjected     whether it has been ejected and has not recovered
 * @param pauseEndNanos if so, from when on it may be tried
 * @param failures      of its last attempts
 * @param refusals      likewise, for lack of room
 * @param suspected     share of its last attempts that may turn out to have failed
 * @param credit        how far to rely on the blocks that it says it holds: 0, or the share of promised tokens that
 *                      were found
 */
public record Standing(boolean isUnreachable, boolean isEjected, long pauseEndNanos, FadingShare failures,
        FadingShare refusals, double suspected, double credit) {

    public HealthState state(long nowNanos) {
        if (isUnreachable) {
            return HealthState.UNREACHABLE;
        }
        if (!isEjected) {
            return HealthState.HEALTHY;
        }
        return nowNanos - pauseEndNanos < 0 ? HealthState.EJECTED : HealthState.ON_TRIAL;
    }

    /** Share of the last attempts that failed or were refused for lack of room, suspicions included: 0 to 1. */
    public double failureShare(long nowNanos) {
        return Math.min(1, failures.at(nowNanos) + refusals.at(nowNanos) + suspected);
    }

    /** Whether it stands so as long as nothing happens: it takes requests, and nothing fades. */
    public boolean isSteady(long nowNanos) {
        return !isUnreachable && !isEjected && failures.hasFaded(nowNanos) && refusals.hasFaded(nowNanos);
    }
}
