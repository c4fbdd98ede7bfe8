package dev.warmpath.router.routing;

import dev.warmpath.protocol.fleet.Ability;
import dev.warmpath.protocol.fleet.RouterId;
import dev.warmpath.protocol.fleet.StepCost;
import dev.warmpath.router.fleet.Fleet;
import dev.warmpath.router.fleet.FleetWorker;
import dev.warmpath.router.fleet.IndexAge;
import dev.warmpath.router.fleet.IndexGrade;
import dev.warmpath.router.health.HealthState;
import dev.warmpath.router.health.WorkerHealth;
import dev.warmpath.router.models.ServedModel;
import dev.warmpath.router.prefix.PrefixIndex;
import dev.warmpath.router.prefix.PrefixMatch;
import dev.warmpath.router.routing.RouteDecision.NoWorker;
import dev.warmpath.router.routing.RouteDecision.NoWorkerReason;
import dev.warmpath.router.routing.RouteDecision.Routed;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.function.LongSupplier;
import java.util.random.RandomGenerator;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Places requests: asks the index and its own books about every ready worker, lets the policy choose, and books the
 * request at the winner before anybody else is placed. So of two equal prompts that arrive together the second finds the
 * first one's blocks counted as held, long before any event says so.
 *
 * <p>The heartbeat knows what the books do not, the work that other routers gave: the worker tells whose its requests
 * are, see {@link WorkerLedger#loadOfOthers}. The last one counts as it is, for a worker that several routers use sends
 * one soon after each change.
 *
 * <p>An index that has fallen behind a worker is relied on by degrees, see {@link IndexGrade}: first it counts together
 * with what this router has sent there since, then not at all.
 *
 * <p>Nor is a worker believed that promised blocks and did not find them: its announcements count by the share of them
 * that proved true lately. What this router has sent there itself is known without the worker's word.
 *
 * <p>A worker that has been ejected, see {@link dev.warmpath.router.fleet.WorkerHealth}, gets one request in a hundred
 * to show that it has recovered. It is the client of that request who pays for it, so the share is small, and all
 * ejected workers together have one.
 *
 * <p>Safe for use by several threads: one lock around the books, held for a few microseconds a decision. The prompt is
 * matched before, without it; what the index learns in between is missed by that one decision. Under the lock the index
 * is asked only whether prompts that were computed a moment ago have arrived, one key for each.
 */
public final class RequestRouter {

    private static final Logger log = LoggerFactory.getLogger(RequestRouter.class);
    private static final long DECISIONS_PER_TRIAL = 100;
    private static final int MAX_REVISIONS = 64;
    private static final Duration LONGEST_WITHOUT_TRIAL = Duration.ofMinutes(1);

    private final Fleet fleet;
    private final PrefixIndex index;
    private final PolicyPlan plan;
    private final RandomGenerator random;
    private final LongSupplier nanoTime;
    private final RouterId self;
    private final Map<FleetWorker, WorkerLedger> ledgers = new HashMap<>();
    /** By revision of a model, each of which has workers of its own; those that came first give way to too many. */
    private final Map<String, FleetPressure> pressures = new LinkedHashMap<>() {
        @Override
        protected boolean removeEldestEntry(Map.Entry<String, FleetPressure> eldest) {
            return size() > MAX_REVISIONS;
        }
    };
    /** Of the next decision, so that asking what it would be changes nothing. */
    private long nextDraw;
    private long decisions;
    private long trialDecision = -DECISIONS_PER_TRIAL;
    private long trialNanos;
    private boolean shadowHasFailed;

    /**
     * One beyond what a worker computes at the same time for each so many, so that its next step is not short of a
     * sequence. A small worker gets none: whoever waits there waits for that worker, not for the first that is free.
     */
    private static final int SEQUENCES_PER_SPARE = 16;
    /** More prompts than take it so long to compute make a worker no faster. */
    private static final long LONGEST_PREFILL_NANOS = 500_000_000L;
    /** Of the workers' places: what a router may use however many others take. Heartbeats tell of those late. */
    private static final int SHARE = 4;

    /**
     * With one policy, which decides without chance.
     *
     * @param nanoTime a monotonic clock, as {@link System#nanoTime}
     * @param self     as the requests say that go to the workers
     */
    public RequestRouter(Fleet fleet, PrefixIndex index, RoutingPolicy policy, LongSupplier nanoTime, RouterId self) {
        this(fleet, index, PolicyPlan.of(policy), new SplittableRandom(0), nanoTime, self);
    }

    /** @param random for policies that draw; used under the lock only */
    RequestRouter(Fleet fleet, PrefixIndex index, PolicyPlan plan, RandomGenerator random, LongSupplier nanoTime,
            RouterId self) {
        this.self = self;
        this.fleet = fleet;
        this.index = index;
        this.plan = plan;
        this.random = random;
        this.nanoTime = nanoTime;
        this.nextDraw = random.nextLong();
    }

    /** What {@link #route} would decide now, were it not the turn of a worker on trial. Changes nothing. */
    public RouteDecision explain(TokenizedPrompt prompt) {
        return explain(prompt, Set.of());
    }

    /** The same. @param needed as {@link #route(TokenizedPrompt, Set, Set)} */
    public RouteDecision explain(TokenizedPrompt prompt, Set<Ability> needed) {
        Ready ready = Ready.of(fleet.workers(prompt.model()), needed);
        LeftOut leftOut = LeftOut.of(Set.of(), fleet.unready(prompt.model()), ready.unable(), Integer.MAX_VALUE);
        if (ready.able().isEmpty()) {
            return new NoWorker(NoWorkerReason.NONE_READY, leftOut);
        }
        return explain(prompt, ready.able(), index.match(prompt.chain(), prompt.reusableBlocks()), leftOut);
    }

    /**
     * How many more requests the workers of this revision should be given: as many as they compute at the same time and
     * a few, so that their batches stay full, less what they have; none to one that has half a second of prompts to
     * compute, nor to one that is not healthy while others are. Without a ready worker there is no end to it: whom
     * nobody will answer should not wait.
     */
    public int room(ServedModel model) {
        List<FleetWorker> ready = fleet.workers(model);
        long now = nanoTime.getAsLong();
        List<FleetWorker> fit = ready.stream().filter(each -> each.health().state(now) == HealthState.HEALTHY).toList();
        return ready.isEmpty() ? Integer.MAX_VALUE : room(fit.isEmpty() ? ready : fit);
    }

    private synchronized int room(List<FleetWorker> ready) {
        int room = 0;
        int places = 0;
        int own = 0;
        boolean someoneIsFree = false;
        for (FleetWorker worker : ready) {
            WorkerLedger ledger = ledger(worker);
            int taken = ledger.booked().requests();
            int size = worker.maxSequences() + worker.maxSequences() / SEQUENCES_PER_SPARE;
            int left = size - taken - ledger.loadOfOthers().requests();
            boolean isFree = ledger.prefillNanos() <= LONGEST_PREFILL_NANOS;
            someoneIsFree |= isFree;
            room += isFree ? left : Math.min(0, left);
            places += size;
            own += taken;
        }
        return someoneIsFree ? Math.max(room, places / SHARE - own) : Math.min(0, room);
    }

    /** Tokens of the prompt that its best worker would have to compute, by the index. */
    public long uncachedTokens(TokenizedPrompt prompt) {
        PrefixMatch match = index.match(prompt.chain(), prompt.reusableBlocks());
        int most = 0;
        for (FleetWorker worker : fleet.workers(prompt.model())) {
            most = Math.max(most, match.blocks(worker.keys()));
        }
        return prompt.length() - (long) most * prompt.blockSize();
    }

    /**
     * Chooses a worker and books the request there.
     *
     * @param prompt            read only during the call
     * @param excludedWorkerIds those that failed this request already
     */
    public RouteResult route(TokenizedPrompt prompt, Set<String> excludedWorkerIds) {
        return route(prompt, excludedWorkerIds, Set.of());
    }

    /**
     * The same.
     *
     * @param needed what the worker has to be able to: others are as good as none
     */
    public RouteResult route(TokenizedPrompt prompt, Set<String> excludedWorkerIds, Set<Ability> needed) {
        Ready ready = Ready.of(fleet.workers(prompt.model()), needed);
        List<FleetWorker> workers =
                ready.able().stream().filter(worker -> !excludedWorkerIds.contains(worker.id())).toList();
        LeftOut leftOut = LeftOut.of(
                excludedWorkerIds, fleet.unready(prompt.model()), ready.unable(), RouteSnapshot.MAX_KEPT);
        if (workers.isEmpty()) {
            return new RouteResult.Unplaced(new NoWorker(
                    ready.able().isEmpty() ? NoWorkerReason.NONE_READY : NoWorkerReason.ALL_EXCLUDED, leftOut));
        }
        return place(prompt, workers, index.match(prompt.chain(), prompt.reusableBlocks()), leftOut,
                excludedWorkerIds.isEmpty());
    }

    /** The ready workers, by whether they would answer as the request wants. */
    private record Ready(List<FleetWorker> able, List<FleetWorker> unable) {

        static Ready of(List<FleetWorker> workers, Set<Ability> needed) {
            if (needed.isEmpty()) {
                return new Ready(workers, List.of());
            }
            Map<Boolean, List<FleetWorker>> byAbility =
                    workers.stream().collect(Collectors.partitioningBy(worker -> worker.isAble(needed)));
            return new Ready(byAbility.get(true), byAbility.get(false));
        }
    }

    private synchronized Routed explain(
            TokenizedPrompt prompt, List<FleetWorker> workers, PrefixMatch match, LeftOut leftOut) {
        long now = nanoTime.getAsLong();
        var depths = new PrefixDepths();
        List<Candidate> candidates = candidates(prompt, workers, match, depths, now);
        FleetPressure pressure = pressures.getOrDefault(prompt.model().revision(), new FleetPressure());
        RouteQuery query = prompt.query(nextDraw, pressure.busyShare(candidates, now), pressure.reuse(),
                depths.uses());
        RoutingPolicy policy = plan.decidesOn(query);
        Choice choice = policy.choose(query, candidates);
        return routed(policy, choice, workers.get(choice.chosen()), RouteSnapshot.whole(query, choice, leftOut),
                shadow(query, candidates, choice, /* stands */ false));
    }

    private synchronized RouteResult place(
            TokenizedPrompt prompt, List<FleetWorker> workers, PrefixMatch match, LeftOut leftOut,
            boolean isFirstTry) {
        long now = nanoTime.getAsLong();
        decisions++;
        for (FleetWorker worker : workers) {
            ledger(worker).settle(indexWord(worker, worker.indexAge(now), now));
        }
        var depths = new PrefixDepths();
        List<Candidate> candidates = candidates(prompt, workers, match, depths, now);
        // whoever was failed once already is not tried upon, and the rest of the workers are no measure of the fleet
        FleetWorker tried = isFirstTry ? dueForTrial(workers, candidates, now) : null;
        FleetPressure pressure = pressures.computeIfAbsent(prompt.model().revision(), _ -> new FleetPressure());
        if (isFirstTry) {
            pressure.observe(candidates, now);
        }
        RouteQuery query = prompt.query(nextDraw, pressure.busyShare(), pressure.reuse(), depths.uses());
        nextDraw = random.nextLong();
        RoutingPolicy policy = plan.decidesOn(query);
        Choice choice = policy.choose(query, candidates);
        policy.chose(query, choice.candidate());
        @Nullable ShadowChoice shadow = shadow(query, candidates, choice, /* stands */ true);
        if (tried != null) {
            choice = choice.tryOut(workers.indexOf(tried));
        }
        FleetWorker worker = workers.get(choice.chosen());
        Routed routed = routed(policy, choice, worker, RouteSnapshot.bounded(query, choice, leftOut), shadow);
        pressure.placed(routed.cachedTokens(), prompt.length());
        WorkerLedger ledger = ledger(worker);
        boolean hasSlot = ledger.booked().requests() + ledger.loadOfOthers().requests() < worker.maxSequences();
        WorkerLedger.Entry entry = ledger.book(prompt.chain(), prompt.length(), prompt.choices(),
                routed.cachedTokens(), hasSlot, decisions, now);
        return new RouteResult.Placed(prompt, routed, worker, new InFlightRequest(this, worker, entry));
    }

    /**
     * A trial is no choice of a policy: what is compared is whom each would have chosen. Nobody's request depends on
     * it: null, too, where the shadow fails.
     */
    private @Nullable ShadowChoice shadow(RouteQuery query, List<Candidate> candidates, Choice live, boolean stands) {
        RoutingPolicy shadow = plan.shadow();
        if (shadow == null) {
            return null;
        }
        try {
            Choice choice = shadow.choose(query, candidates);
            if (stands) {
                shadow.chose(query, choice.candidate());
            }
            return ShadowChoice.of(query, shadow, choice, live);
        } catch (RuntimeException e) {
            if (!shadowHasFailed) {
                shadowHasFailed = true;
                log.warn("The shadow {} has failed; requests go on without it, and this is said once",
                        shadow.name().text(), e);
            }
            return null;
        }
    }

    private static Routed routed(RoutingPolicy policy, Choice choice, FleetWorker worker, RouteSnapshot snapshot,
            @Nullable ShadowChoice shadow) {
        long workTokens = choice.candidate().workTokens(snapshot.query());
        return new Routed(policy.name(), choice.costs().get(choice.chosen()), choice.reason(),
                worker.health().expectedFirstTokenNanos(workTokens), snapshot, shadow);
    }

    /**
     * The worker that has waited longest for its trial, if this request is to be one: one in a hundred, or one a minute
     * where requests are rare, over all workers that need one. Null while everybody is healthy, or nobody is: then the
     * requests go there anyway.
     */
    private @Nullable FleetWorker dueForTrial(List<FleetWorker> workers, List<Candidate> candidates, long now) {
        boolean tooSoon = decisions - trialDecision < DECISIONS_PER_TRIAL
                && now - trialNanos < LONGEST_WITHOUT_TRIAL.toNanos();
        if (tooSoon || candidates.stream().noneMatch(each -> each.health() == HealthState.HEALTHY)) {
            return null;
        }
        FleetWorker due = null;
        long longest = -1;
        for (FleetWorker worker : workers) {
            long overdue = worker.health().trialOverdueNanos(now);
            if (overdue > longest) {
                longest = overdue;
                due = worker;
            }
        }
        if (due != null) {
            due.health().beginTrial(now);
            trialDecision = decisions;
            trialNanos = now;
        }
        return due;
    }

    /**
     * In the order of the workers. Reads the books and changes nothing in them.
     *
     * @param depths takes whom the prompt shares its beginning with
     */
    private List<Candidate> candidates(TokenizedPrompt prompt, List<FleetWorker> workers, PrefixMatch match,
            PrefixDepths depths, long now) {
        StepCost usual = usualCost(workers);
        List<Candidate> candidates = new ArrayList<>(workers.size());
        for (FleetWorker worker : workers) {
            WorkerLedger known = ledgers.get(worker);
            candidates.add(candidate(prompt, worker, known == null ? emptyLedger(worker) : known,
                    match.blocks(worker.keys()), depths, usual, now));
        }
        return candidates;
    }

    /** Of a worker that has not told what its steps take: as one that runs the same model. */
    private static StepCost usualCost(List<FleetWorker> workers) {
        for (FleetWorker worker : workers) {
            StepCost told = worker.stepCost();
            if (told != null) {
                return told;
            }
        }
        return StepCost.USUAL;
    }

    private WorkerLedger.IndexWord indexWord(FleetWorker worker, IndexAge age, long now) {
        return new WorkerLedger.IndexWord(age.isInStep(), worker.gradeOf(age), now,
                key -> index.holds(worker.keys(), key));
    }

    private Candidate candidate(TokenizedPrompt prompt, FleetWorker worker, WorkerLedger ledger, int indexedBlocks,
            PrefixDepths depths, StepCost usual, long now) {
        IndexAge age = worker.indexAge(now);
        WorkerLedger.IndexWord word = indexWord(worker, age, now);
        IndexGrade grade = word.grade();
        WorkerLedger.Load own = ledger.booked();
        WorkerLedger.Load others = ledger.loadOfOthers(worker.heartbeat());
        WorkerHealth health = worker.health();
        int ownBlocks = ledger.aboutToHold(prompt.chain(), prompt.reusableBlocks(), word);
        StepCost told = worker.stepCost();
        int believedBlocks = (int) Math.round(indexedBlocks * health.credit());
        return new Candidate(
                worker.id(),
                matchedBlocks(grade, believedBlocks, ownBlocks),
                own.pendingTokens() + others.pendingTokens(),
                own.pendingRequests() + others.pendingRequests(),
                own.requests() + others.requests(),
                worker.maxSequences(),
                own.blocks() + others.blocks(),
                ledger.sharedBlocks(prompt.chain(), prompt.reusableBlocks(), depths),
                worker.blockCount(),
                ledger.lastChosen(),
                age,
                grade,
                health.state(now),
                health.failureShare(now),
                grade.isInTime() ? indexedBlocks : 0,
                worker.events().position().setSize(),
                worker.keys().blockCount(),
                own.contextTokens() + others.contextTokens(),
                told == null ? usual : told);
    }

    private static int matchedBlocks(IndexGrade grade, int indexedBlocks, int ownBlocks) {
        return switch (grade) {
            case EXACT, ASSUMED, HISTORY -> Math.max(indexedBlocks, ownBlocks);
            case LOAD -> 0;
        };
    }

    synchronized void firstToken(FleetWorker worker, WorkerLedger.Entry entry, boolean isTimed) {
        WorkerLedger ledger = ledgers.get(worker);                 // absent once the worker is gone and forgotten
        if (ledger != null) {
            ledger.hear(worker.heartbeat());
            ledger.firstToken(entry, isTimed, nanoTime.getAsLong());
        }
    }

    synchronized void close(FleetWorker worker, WorkerLedger.Entry entry) {
        WorkerLedger ledger = ledgers.get(worker);
        if (ledger != null) {
            ledger.hear(worker.heartbeat());
            long now = nanoTime.getAsLong();
            IndexAge age = worker.indexAge(now);
            ledger.close(entry, age.isInStep(), worker.gradeOf(age), now);
        }
    }

    /** Requests of this router that are placed and not closed, over all workers. */
    public synchronized int inFlight() {
        int requests = 0;
        for (WorkerLedger ledger : ledgers.values()) {
            requests += ledger.booked().requests();
        }
        return requests;
    }

    /** The books on a worker, with its last heartbeat taken in. */
    private WorkerLedger ledger(FleetWorker worker) {
        WorkerLedger ledger = ledgers.get(worker);
        if (ledger == null) {
            ledgers.keySet().removeIf(FleetWorker::isGone);
            ledger = emptyLedger(worker);
            ledgers.put(worker, ledger);
        }
        ledger.hear(worker.heartbeat());
        return ledger;
    }

    private WorkerLedger emptyLedger(FleetWorker worker) {
        return new WorkerLedger(self, worker.blockSize(), worker.blockCount());
    }
}
