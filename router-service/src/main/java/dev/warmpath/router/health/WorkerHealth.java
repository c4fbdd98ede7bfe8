package dev.warmpath.router.health;

import dev.warmpath.protocol.fleet.Backoff;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What this router's own attempts have shown of one life of a worker, and whether new requests go there. Heartbeats do
 * not count: a broken worker that breathes is the commonest fault of a fleet, and the one that looks idlest.
 *
 * <pre>
 *             fails half as often again as the best, or far slower than the others
 *   HEALTHY ──────────────────────────────────────────────────────────────▶ EJECTED ◀───┐
 *      ▲                                                                        │ pause   │ the trial failed or was
 *      │ three trials in a row went well                                        ▼ over    │ slow: a longer pause
 *      └────────────────────────────────────────────────────────────────── ON_TRIAL ────┘
 * </pre>
 *
 * <p><b>Failures</b> are an average over attempts, the last ten for most of it, that fades with a half-life of 30 s: it
 * makes a worker dearer in routing from the first failure on, and ejects it after the seventh in a row. What fails the
 * whole fleet alike (a prompt that breaks every engine) ejects nobody: the best worker's average is the measure.
 *
 * <p><b>Suspicions</b> are failures of requests that have not been answered elsewhere yet: they cost at once, and count
 * as failures only when somebody else could do it.
 *
 * <p><b>Trials</b> are requests of clients, one at a time, as {@link dev.warmpath.router.routing.RequestRouter} finds
 * it bearable. Where no healthy worker is left, requests come without being trials; their outcomes count as if they
 * were.
 *
 * <p><b>Probes</b> come from a thread of their own, each second or so: who leaves two in a row unanswered is
 * UNREACHABLE, whatever else is known, until one is answered.
 *
 * <p>Safe for use by several threads: its lock is held for a few instructions, and while sixteen numbers are sorted.
 * All times are on one monotonic clock that the callers pass in.
 */
public final class WorkerHealth {

    private static final Logger log = LoggerFactory.getLogger(WorkerHealth.class);
    /** How much one outcome counts in an average. */
    private static final double WEIGHT = 0.1;
    private static final double FAILURE_HALF_LIFE_NANOS = 30e9;
    /** A full queue is load: it shrinks within seconds, and ejects nobody. */
    private static final double REFUSAL_HALF_LIFE_NANOS = 3e9;
    /** A worker is ejected when it fails by so much more than the best one of its model. */
    private static final double WORSE_THAN_THE_BEST = 0.5;
    private static final int GOOD_TRIALS = 3;
    /** The average has forgotten most of what it began with. */
    private static final int TELLING_OUTCOMES = 10;
    /** Below, what a worker promises counts for nothing: after seven empty promises in a row. */
    private static final double LEAST_CREDIT = 0.5;
    private static final int UNANSWERED_IS_UNREACHABLE = 2;
    /** So many requests in a row without usable logits are their own doing. */
    private static final int BAD_REQUESTS = 3;
    private static final Duration SHORTEST_PAUSE = Duration.ofSeconds(1);
    private static final Duration LONGEST_PAUSE = Duration.ofSeconds(30);
    /** Who was well for so long begins again with the shortest pause. */
    private static final long GOOD_WHILE_NANOS = TimeUnit.MINUTES.toNanos(1);
    /** A trial that was never begun, or takes longer, does not hold up the next. */
    private static final long LONGEST_TRIAL_NANOS = TimeUnit.MINUTES.toNanos(1);
    /** What a first token waits for even if nothing is to be computed, in prompt tokens. */
    private static final long LEAST_WORK_TOKENS = 128;
    /** Nobody is slow below these, however fast the others are. */
    private static final long NOTICEABLE_FIRST_TOKEN_NANOS = TimeUnit.MILLISECONDS.toNanos(100);
    private static final long NOTICEABLE_STEP_NANOS = TimeUnit.MILLISECONDS.toNanos(20);

    private final String workerId;
    private final Backoff pauses;
    private final RecentSamples firstTokens = new RecentSamples();
    private final RecentSamples paces = new RecentSamples();
    private final RecentSamples steps = new RecentSamples();
    private FadingShare failures = new FadingShare(WEIGHT, FAILURE_HALF_LIFE_NANOS);
    private FadingShare refusals = new FadingShare(WEIGHT, REFUSAL_HALF_LIFE_NANOS);
    /** Since it takes requests. */
    private int outcomes;
    private long lastOutcomeNanos;
    private int suspicions;
    /** Of the model's workers the one that fails least: what can be expected of this one. */
    private double leastFaultShare;
    /** Of the revision's workers; stands in as long as this one's own is not known. */
    private long typicalPaceNanos = RecentSamples.UNKNOWN;
    private long longestPaceNanos = Long.MAX_VALUE;
    private long longestStepNanos = Long.MAX_VALUE;
    /** Why, or null while it is not ejected. */
    private @Nullable String ejection;
    /** Share of the cached tokens that it promised lately and that were found; the last ten promises for most of it. */
    private double credit = 1;
    /** Requests in a row without usable logits, with no token for anybody in between. */
    private int unusableInARow;
    private int unansweredProbes;
    private String lastTrouble = "";
    private long ejectedNanos;
    private long pauseEndNanos;
    private long healthySinceNanos;
    private int goodTrials;
    private boolean trialRuns;
    private long trialNanos;
    private volatile Standing standing;

    /** @param random jitters the pauses, so that routers do not try in step */
    public WorkerHealth(String workerId, long nowNanos, RandomGenerator random) {
        this.workerId = workerId;
        this.pauses = new Backoff(SHORTEST_PAUSE, LONGEST_PAUSE, random);
        this.healthySinceNanos = nowNanos;
        this.standing = stand();
    }

    // ---- what decisions ask

    /** As of its last change. Takes no lock: every decision asks every worker. */
    public Standing standing() {
        return standing;
    }

    public HealthState state(long nowNanos) {
        return standing.state(nowNanos);
    }

    /** Share of the last attempts that failed or were refused for lack of room, suspicions included: 0 to 1. */
    public double failureShare(long nowNanos) {
        return standing.failureShare(nowNanos);
    }

    /** How far to rely on the blocks that it says it holds: 0, or the share of promised tokens that were found. */
    public double credit() {
        return standing.credit();
    }

    /** Since when a trial is due: nanoseconds, at least 0; negative while none is. */
    public synchronized long trialOverdueNanos(long nowNanos) {
        boolean runs = trialRuns && nowNanos - trialNanos < LONGEST_TRIAL_NANOS;
        boolean none = ejection == null || runs || unansweredProbes >= UNANSWERED_IS_UNREACHABLE;
        return none ? -1 : nowNanos - pauseEndNanos;
    }

    /** The next attempt at this worker is a trial: no other one may begin before it has ended. */
    public synchronized void beginTrial(long nowNanos) {
        trialRuns = true;
        trialNanos = nowNanos;
    }

    /**
     * How long a first token typically takes here: by this worker's own pace, by its revision's while that is unknown.
     *
     * @param workTokens as for {@link #firstToken}
     * @return nanoseconds; negative while neither is known
     */
    public synchronized long expectedFirstTokenNanos(long workTokens) {
        long pace = paces.median() >= 0 ? paces.median() : typicalPaceNanos;
        if (pace < 0) {
            return RecentSamples.UNKNOWN;
        }
        long work = LEAST_WORK_TOKENS + workTokens;
        return pace > Long.MAX_VALUE / work ? Long.MAX_VALUE : pace * work;
    }

    /** Why it gets no requests, or null. */
    public synchronized @Nullable String problem() {
        return unansweredProbes >= UNANSWERED_IS_UNREACHABLE
                ? "has left " + unansweredProbes + " probes in a row unanswered: " + lastTrouble : ejection;
    }

    // ---- what probes tell

    /** It has answered, whatever: requests can reach it. */
    public synchronized void probeAnswered() {
        boolean wasUnreachable = unansweredProbes >= UNANSWERED_IS_UNREACHABLE;
        unansweredProbes = 0;
        standing = stand();
        if (wasUnreachable) {
            log.info("worker {} is reachable again", workerId);
        }
    }

    /** It has not, within the time for it. */
    public synchronized void probeUnanswered(String trouble) {
        unansweredProbes++;
        lastTrouble = trouble;
        standing = stand();
        if (unansweredProbes == UNANSWERED_IS_UNREACHABLE) {
            log.warn("worker {} takes no requests for now: it {}", workerId, problem());
        }
    }

    // ---- what attempts tell

    /**
     * A first token has come.
     *
     * @param workTokens   uncached prompt tokens that it had to wait for, those of others included
     * @param elapsedNanos since the request was sent
     */
    public synchronized void firstToken(long workTokens, long elapsedNanos) {
        unusableInARow = 0;
        firstTokens.add(elapsedNanos);
        paces.add(elapsedNanos / (LEAST_WORK_TOKENS + workTokens));
    }

    /**
     * A request tells what it found in the cache. A block that was evicted while the request waited costs as good as
     * nothing; a worker that never finds what it promised is believed no more after seven requests, and again after
     * seven that it kept its word on. Its own report is not doubted here.
     *
     * @param promisedTokens of the prompt that its announcements promised, at least 1
     */
    public synchronized void found(int promisedTokens, int foundTokens) {
        boolean believed = credit >= LEAST_CREDIT;
        credit += WEIGHT * (Math.min(1, (double) foundTokens / promisedTokens) - credit);
        standing = stand();
        if (believed && credit < LEAST_CREDIT) {
            log.warn("worker {} is not believed what it announces: of {} promised tokens {} were found, and few before",
                    workerId, promisedTokens, foundTokens);
        }
    }

    /** Tokens have come at a pace that is not its own. */
    public synchronized void untimedTokens() {
        unusableInARow = 0;
    }

    /** @param nanosPerToken between tokens of one answer, over some of them */
    public synchronized void tokens(long nanosPerToken) {
        unusableInARow = 0;
        steps.add(nanosPerToken);
    }

    /**
     * An attempt has ended as it should, or was ended by the client after tokens had come.
     *
     * @param startedNanos when it began
     */
    public synchronized void answered(long startedNanos, long nowNanos) {
        failures = failures.with(false, nowNanos);
        refusals = refusals.with(false, nowNanos);
        outcome(nowNanos);
        if (isTrial(startedNanos)) {
            trialRuns = false;
            pauseEndNanos = nowNanos;
            goodTrials++;
            String slowness = slowness(firstTokens.last(), paces.last(), steps.last());
            if (slowness != null) {
                eject(nowNanos, "was slow when it was tried again: it " + slowness);
            } else if (goodTrials == GOOD_TRIALS) {
                recover(nowNanos);
            }
        }
        standing = stand();
    }

    /** An attempt has failed, and it was the worker's fault. */
    public synchronized void failed(String cause, long startedNanos, long nowNanos) {
        if (isTrial(startedNanos)) {
            eject(nowNanos, "failed when it was tried again: " + cause);
        } else if (ejection == null) {
            failures = failures.with(true, nowNanos);
            standing = stand();
            outcome(nowNanos);
            if (failures.at(nowNanos) >= WORSE_THAN_THE_BEST + leastFaultShare) {
                eject(nowNanos, "failed most of its last requests: " + cause);
            }
        }
    }

    /**
     * An attempt has ended because the model's numbers were of no use. That is the request's own doing while others get
     * tokens here; a worker that has none for anybody is broken, and the fourth in a row counts as a failure.
     */
    public synchronized void unusable(String cause, long startedNanos, long nowNanos) {
        unusableInARow++;
        if (unusableInARow > BAD_REQUESTS) {
            failed(cause, startedNanos, nowNanos);
        } else {
            undecided(startedNanos);
        }
    }

    /** An attempt was refused for lack of room. */
    public synchronized void refused(long startedNanos, long nowNanos) {
        refusals = refusals.with(true, nowNanos);
        standing = stand();
        undecided(startedNanos);
    }

    /** An attempt has ended in a way that tells nothing of the worker. */
    public synchronized void undecided(long startedNanos) {
        trialRuns &= !isTrial(startedNanos);
    }

    /** An attempt has failed; whether it was the worker's fault is told later, once, after {@link #unsuspect}. */
    public synchronized void suspect() {
        suspicions++;
        standing = stand();
    }

    /** The one suspicion is dropped: it has been decided on. */
    public synchronized void unsuspect() {
        suspicions--;
        standing = stand();
    }

    // ---- what the comparison with others asks and tells, see HealthComparison

    /** As {@link #failureShare}, without suspicions and full queues. */
    synchronized double faultShare(long nowNanos) {
        return failures.at(nowNanos);
    }

    /** Whether others can be held against it: it takes requests, and enough of them have ended lately. */
    synchronized boolean isMeasure(long nowNanos) {
        return state(nowNanos) == HealthState.HEALTHY && outcomes >= TELLING_OUTCOMES
                && nowNanos - lastOutcomeNanos < FAILURE_HALF_LIFE_NANOS;
    }

    synchronized void expectFaultShare(double least) {
        leastFaultShare = least;
    }

    /** Typical time to a first token by the prompt token that it waited for; negative while unknown. */
    synchronized long paceNanos() {
        return paces.median();
    }

    /** Typical time between two tokens of an answer; negative while unknown. */
    synchronized long stepNanos() {
        return steps.median();
    }

    /** @param nanos the median of the revision's, or what is expected of a new revision; negative while unknown */
    synchronized void expectPace(long nanos) {
        typicalPaceNanos = nanos;
    }

    synchronized void expectSpeed(long longestPaceNanos, long longestStepNanos) {
        this.longestPaceNanos = longestPaceNanos;
        this.longestStepNanos = longestStepNanos;
    }

    /** Whether it takes requests and has typically been slower than expected. */
    synchronized boolean isSlow() {
        return ejection == null && slowness(firstTokens.median(), paces.median(), steps.median()) != null;
    }

    synchronized void ejectIfSlow(long nowNanos) {
        String slowness = slowness(firstTokens.median(), paces.median(), steps.median());
        if (ejection == null && slowness != null) {
            eject(nowNanos, slowness);
        }
    }

    synchronized boolean isEjected() {
        return ejection != null;
    }

    // ---- details

    /** To be told after each change of what is in it. */
    private Standing stand() {
        return new Standing(unansweredProbes >= UNANSWERED_IS_UNREACHABLE, ejection != null, pauseEndNanos, failures,
                refusals, WEIGHT * suspicions, credit < LEAST_CREDIT ? 0 : credit);
    }

    private void outcome(long nowNanos) {
        outcomes++;
        lastOutcomeNanos = nowNanos;
    }

    /** Attempts of before the ejection tell nothing new. */
    private boolean isTrial(long startedNanos) {
        return ejection != null && startedNanos - ejectedNanos >= 0;
    }

    private @Nullable String slowness(long firstToken, long pace, long step) {
        if (firstToken > NOTICEABLE_FIRST_TOKEN_NANOS && pace > longestPaceNanos) {
            return "took " + TimeUnit.NANOSECONDS.toMillis(firstToken) + " ms to a first token, many times what others "
                    + "take for as much work";
        }
        if (step > Math.max(NOTICEABLE_STEP_NANOS, longestStepNanos)) {
            return "took " + TimeUnit.NANOSECONDS.toMillis(step) + " ms a token, many times what others take";
        }
        return null;
    }

    private void eject(long nowNanos, String why) {
        boolean isNew = ejection == null;
        if (isNew && nowNanos - healthySinceNanos > GOOD_WHILE_NANOS) {
            pauses.reset();
        }
        ejection = why;
        ejectedNanos = nowNanos;
        pauseEndNanos = nowNanos + pauses.next().toNanos();
        goodTrials = 0;
        trialRuns = false;
        outcomes = 0;
        clearSpeed();
        standing = stand();
        if (isNew) {                                               // after all that a log that fails would leave undone
            log.warn("worker {} takes no requests for now: it {}", workerId, why);
        }
    }

    private void recover(long nowNanos) {
        ejection = null;
        healthySinceNanos = nowNanos;
        failures = failures.cleared();
        clearSpeed();
        standing = stand();
        log.info("worker {} takes requests again: {} trials went well", workerId, GOOD_TRIALS);
    }

    private void clearSpeed() {
        firstTokens.clear();
        paces.clear();
        steps.clear();
    }
}
