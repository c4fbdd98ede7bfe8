package dev.warmpath.router.routing;

import dev.warmpath.protocol.fleet.Ability;
import dev.warmpath.protocol.fleet.Heartbeat;
import dev.warmpath.protocol.fleet.RouterId;
import dev.warmpath.protocol.fleet.StepCost;
import dev.warmpath.router.fleet.Fleet;
import dev.warmpath.router.fleet.FleetWorker;
import dev.warmpath.router.fleet.IndexAge;
import dev.warmpath.router.fleet.IndexGrade;
import dev.warmpath.router.health.HealthState;
import dev.warmpath.router.health.Standing;
import dev.warmpath.router.models.ServedModel;
import dev.warmpath.router.prefix.PrefixIndex;
import dev.warmpath.router.prefix.PrefixMatch;
import dev.warmpath.router.routing.RouteDecision.NoWorker;
import dev.warmpath.router.routing.RouteDecision.NoWorkerReason;
import dev.warmpath.router.routing.RouteDecision.Routed;
import dev.warmpath.router.routing.RouteResult.Placed;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
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
 * request at the winner. So of two equal prompts that arrive together the second finds the first one's blocks counted
 * as held, long before any event says so.
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
 * <p>A worker that has been ejected, see {@link dev.warmpath.router.health.WorkerHealth}, gets one request in a hundred
 * to show that it has recovered. It is the client of that request who pays for it, so the share is small, and all
 * ejected workers together have one.
 *
 * <p>Safe for use by several threads, which think at the same time: a lock is held while the books are read, and again
 * while the choice is booked, a microsecond each. What others have booked in between is looked at then: if it went to
 * the chosen worker, or brings a worker more of this prompt than was counted, the request is thought about again.
 * <pre>
 *   look    lock   what the prompt shares with requests in flight
 *   weigh          the index is asked, then every worker's numbers are read, then the policy
 *   book    lock   nothing in the way: booked; else from the beginning, the third time with the lock held throughout
 * </pre>
 * The index is asked after the books, so that blocks which pass from a promise to the index meanwhile count at least
 * once.
 */
public final class RequestRouter {

    private static final Logger log = LoggerFactory.getLogger(RequestRouter.class);
    private static final long DECISIONS_PER_TRIAL = 100;
    private static final int MAX_REVISIONS = 64;
    private static final Duration LONGEST_WITHOUT_TRIAL = Duration.ofMinutes(1);
    /**
     * One beyond what a worker computes at the same time for each so many, so that its next step is not short of a
     * sequence. A small worker gets none: whoever waits there waits for that worker, not for the first that is free.
     */
    private static final int SEQUENCES_PER_SPARE = 16;
    /** More prompts than take it so long to compute make a worker no faster. */
    private static final long LONGEST_PREFILL_NANOS = 500_000_000L;
    /** Lost races after which a decision is made with the lock held. */
    private static final int MOST_LOST = 2;
    /** Of the workers' places: what a router may use however many others take. Heartbeats tell of those late. */
    private static final int SHARE = 4;

    private final Fleet fleet;
    private final PrefixIndex index;
    private final PolicyPlan plan;
    private final RandomGenerator random;
    private final LongSupplier nanoTime;
    private final Books books;
    /** By revision of a model, each of which has workers of its own; those not used for longest give way to many. */
    private final Map<String, OneRevision> revisions = new LinkedHashMap<>(16, 0.75f, /* by last use */ true) {
        @Override
        protected boolean removeEldestEntry(Map.Entry<String, OneRevision> eldest) {
            return size() > MAX_REVISIONS;
        }
    };
    /** Of the next decision, so that asking what it would be changes nothing. */
    private long nextDraw;
    private long decisions;
    private long trialDecision = -DECISIONS_PER_TRIAL;
    private long trialNanos;
    private volatile boolean shadowHasFailed;

    /** What is kept of a revision of a model. */
    private static final class OneRevision {
        final FleetPressure pressure = new FleetPressure();
        @Nullable Crew crew;
    }

    /**
     * What is to become of one request.
     *
     * @param isWhole    whether these are all ready workers of the revision
     * @param isFirstTry whether nobody has failed it yet
     */
    private record Task(TokenizedPrompt prompt, List<FleetWorker> workers, boolean isWhole, LeftOut leftOut,
            boolean isFirstTry) {}

    /** A decision that is thought through. @param shadow what the other policy says of it, or null */
    private record Thought(Deliberation by, double busyShare, RouteQuery query, RoutingPolicy policy, Choice choice,
            @Nullable Choice shadow) {}

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
        this.books = new Books(self);
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
        return explain(new Task(prompt, ready.able(), ready.unable().isEmpty(), leftOut, /* isFirstTry */ true));
    }

    /**
     * How many more requests the workers of this revision should be given: as many as they compute at the same time and
     * a few, so that their batches stay full, less what they have; none to one that has half a second of prompts to
     * compute, nor to one that is not healthy while others are. Without a ready worker there is no end to it: whom
     * nobody will answer should not wait.
     */
    public int room(ServedModel model) {
        List<FleetWorker> ready = fleet.workers(model);
        if (ready.isEmpty()) {
            return Integer.MAX_VALUE;
        }
        Crew crew = crew(model, ready, /* isWhole */ true);
        long now = nanoTime.getAsLong();
        var ofHealthy = new Room();
        var ofAll = new Room();
        for (int place = 0; place < ready.size(); place++) {
            FleetWorker worker = ready.get(place);
            WorkerLedger ledger = crew.ledger(place);
            books.hear(worker, ledger);
            ofAll.add(worker, ledger);
            if (worker.health().state(now) == HealthState.HEALTHY) {
                ofHealthy.add(worker, ledger);
            }
        }
        return (ofHealthy.places > 0 ? ofHealthy : ofAll).left();
    }

    /** What some workers have room for. */
    private static final class Room {
        private int room;
        private int places;
        private int own;
        private boolean someoneIsFree;

        void add(FleetWorker worker, WorkerLedger ledger) {
            int taken = ledger.booked().requests();
            int size = worker.maxSequences() + worker.maxSequences() / SEQUENCES_PER_SPARE;
            int left = size - taken - ledger.loadOfOthers().requests();
            boolean isFree = ledger.prefillNanos() <= LONGEST_PREFILL_NANOS;
            someoneIsFree |= isFree;
            room += isFree ? left : Math.min(0, left);
            places += size;
            own += taken;
        }

        int left() {
            return someoneIsFree ? Math.max(room, places / SHARE - own) : Math.min(0, room);
        }
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
     * @param prompt            its chain is kept until the request is over, and a moment longer
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
        List<FleetWorker> workers = excludedWorkerIds.isEmpty() ? ready.able()
                : ready.able().stream().filter(worker -> !excludedWorkerIds.contains(worker.id())).toList();
        LeftOut leftOut = LeftOut.of(
                excludedWorkerIds, fleet.unready(prompt.model()), ready.unable(), RouteSnapshot.MAX_KEPT);
        if (workers.isEmpty()) {
            return new RouteResult.Unplaced(new NoWorker(
                    ready.able().isEmpty() ? NoWorkerReason.NONE_READY : NoWorkerReason.ALL_EXCLUDED, leftOut));
        }
        boolean isWhole = ready.unable().isEmpty() && excludedWorkerIds.isEmpty();
        return place(new Task(prompt, workers, isWhole, leftOut, excludedWorkerIds.isEmpty()));
    }

    /** The ready workers, by whether they would answer as the request wants. */
    private record Ready(List<FleetWorker> able, List<FleetWorker> unable) {

        static Ready of(List<FleetWorker> workers, Set<Ability> needed) {
            if (needed.isEmpty()) {
                return new Ready(workers, List.of());
            }
            if (workers.stream().allMatch(worker -> worker.isAble(needed))) {
                return new Ready(workers, List.of());              // the fleet's own list, whose arrays are kept
            }
            Map<Boolean, List<FleetWorker>> byAbility =
                    workers.stream().collect(Collectors.partitioningBy(worker -> worker.isAble(needed)));
            return new Ready(byAbility.get(true), byAbility.get(false));
        }
    }

    private Routed explain(Task task) {
        Thought thought = weigh(task, look(task, /* isToBeBooked */ false));
        Choice choice = thought.choice;
        Routed routed = routed(thought, choice, task.workers.get(choice.chosen()),
                RouteSnapshot.whole(thought.query, choice, task.leftOut));
        giveBack(thought.by);
        return routed;
    }

    private Placed place(Task task) {
        for (int lost = 0; lost < MOST_LOST; lost++) {
            Placed placed = tryToPlace(task);
            if (placed != null) {
                return placed;
            }
        }
        synchronized (books) {
            return Objects.requireNonNull(tryToPlace(task), "nobody else books meanwhile");
        }
    }

    private @Nullable Placed tryToPlace(Task task) {
        Thought thought = weigh(task, look(task, /* isToBeBooked */ true));
        Choice choice = thought.choice;
        Routed routed = routed(thought, choice, task.workers.get(choice.chosen()),
                RouteSnapshot.bounded(thought.query, choice, task.leftOut));
        return book(task, thought, routed);
    }

    // ---- look

    /** @param isToBeBooked false: it is only asked what would be, and nothing changes */
    private Deliberation look(Task task, boolean isToBeBooked) {
        Crew crew = crew(task.prompt.model(), task.workers, task.isWhole);
        synchronized (books) {
            Deliberation by = crew.take();
            by.look(task.prompt, isToBeBooked, nextDraw, nanoTime.getAsLong());
            nextDraw = isToBeBooked ? random.nextLong() : nextDraw;
            return by;
        }
    }

    /** That of all ready workers is kept; who goes without some of them pays for an own one, outside of the lock. */
    private Crew crew(ServedModel model, List<FleetWorker> workers, boolean isWhole) {
        OneRevision revision;
        synchronized (books) {
            revision = revisions.computeIfAbsent(model.revision(), _ -> new OneRevision());
            Crew known = revision.crew;
            if (known != null && isWhole && known.consistsOf(workers)) {
                return known;
            }
        }
        books.forgetWhoIsGone();
        var crew = new Crew(workers, books, revision.pressure);
        if (isWhole) {
            synchronized (books) {
                revision.crew = crew;
            }
        }
        return crew;
    }

    // ---- weigh

    private Thought weigh(Task task, Deliberation by) {
        by.weigh(index, task.prompt);
        FleetPressure pressure = by.crew().pressure();
        double busyShare = task.isFirstTry ? pressure.busyShare(by.candidates(), by.nowNanos()) : pressure.busyShare();
        RouteQuery query = task.prompt.query(by.draw(), busyShare, pressure.reuse(), by.uses());
        RoutingPolicy policy = plan.decidesOn(query);
        Choice choice = policy.choose(query, by.candidates());
        return new Thought(by, busyShare, query, policy, choice, shadow(query, by.candidates()));
    }

    /** Nobody's request depends on it: null, too, where the shadow fails. */
    private @Nullable Choice shadow(RouteQuery query, List<Candidate> candidates) {
        RoutingPolicy shadow = plan.shadow();
        if (shadow == null) {
            return null;
        }
        try {
            return shadow.choose(query, candidates);
        } catch (RuntimeException e) {
            shadowHasFailed(shadow, e);
            return null;
        }
    }

    private void shadowHasFailed(RoutingPolicy shadow, RuntimeException why) {
        if (!shadowHasFailed) {
            shadowHasFailed = true;
            log.warn("The shadow {} has failed; requests go on without it, and this is said once",
                    shadow.name().text(), why);
        }
    }

    /**
     * A trial is no choice of a policy: what is compared with a shadow is whom each would have chosen.
     *
     * @param choice the policy's own, or a trial
     */
    private Routed routed(Thought thought, Choice choice, FleetWorker worker, RouteSnapshot snapshot) {
        long workTokens = choice.candidate().workTokens(snapshot.query());
        RoutingPolicy shadow = plan.shadow();
        return new Routed(thought.policy.name(), choice.costs().get(choice.chosen()), choice.reason(),
                worker.health().expectedFirstTokenNanos(workTokens), snapshot,
                shadow == null || thought.shadow == null ? null
                        : ShadowChoice.of(thought.query, shadow, thought.shadow, thought.choice));
    }

    // ---- book

    /** @return null if others have booked meanwhile what changes the choice */
    private @Nullable Placed book(Task task, Thought thought, Routed routed) {
        Deliberation by = thought.by;
        synchronized (books) {
            by.settle();
            Placed placed = by.isOutdated(task.prompt, thought.choice.chosen()) ? null : bookNow(task, thought, routed);
            by.crew().giveBack(by);
            return placed;
        }
    }

    private Placed bookNow(Task task, Thought thought, Routed routed) {
        Deliberation by = thought.by;
        decisions++;
        // whoever was failed once already is not tried upon, and the rest of the workers are no measure of the fleet
        FleetWorker tried = task.isFirstTry ? dueForTrial(task.workers, by) : null;
        Routed decision = tried == null ? routed : trial(task, thought, tried);
        FleetPressure pressure = by.crew().pressure();
        if (task.isFirstTry) {
            pressure.observe(thought.busyShare, by.nowNanos());
        }
        pressure.placed(decision.cachedTokens(), task.prompt.length());
        stands(thought);
        FleetWorker worker = tried == null ? task.workers.get(thought.choice.chosen()) : tried;
        Booking booking = books.book(worker, task.prompt, decision.cachedTokens(), decisions,
                nanoTime.getAsLong());
        return new Placed(task.prompt, decision, worker, new InFlightRequest(this, booking));
    }

    private Routed trial(Task task, Thought thought, FleetWorker tried) {
        Choice choice = thought.choice.tryOut(task.workers.indexOf(tried));
        return routed(thought, choice, tried, RouteSnapshot.bounded(thought.query, choice, task.leftOut));
    }

    private void stands(Thought thought) {
        thought.policy.chose(thought.query, thought.choice.candidate());
        RoutingPolicy shadow = plan.shadow();
        if (shadow != null && thought.shadow != null) {
            try {
                shadow.chose(thought.query, thought.shadow.candidate());
            } catch (RuntimeException e) {
                shadowHasFailed(shadow, e);
            }
        }
    }

    private void giveBack(Deliberation done) {
        synchronized (books) {
            done.crew().giveBack(done);
        }
    }

    /**
     * The worker that has waited longest for its trial, if this request is to be one: one in a hundred, or one a minute
     * where requests are rare, over all workers that need one. Null while everybody is healthy, or nobody is: then the
     * requests go there anyway.
     */
    private @Nullable FleetWorker dueForTrial(List<FleetWorker> workers, Deliberation by) {
        long now = by.nowNanos();
        boolean tooSoon = decisions - trialDecision < DECISIONS_PER_TRIAL
                && now - trialNanos < LONGEST_WITHOUT_TRIAL.toNanos();
        int healthy = by.candidates().healthy();
        if (tooSoon || healthy == 0 || healthy == workers.size()) {
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

    // ---- what becomes of it

    void firstToken(Booking booking, boolean isTimed) {
        books.firstToken(booking, isTimed, nanoTime.getAsLong());
    }

    void close(Booking booking) {
        long now = nanoTime.getAsLong();
        boolean isInStep = booking.worker.indexAge(now).isInStep();
        boolean isKnown = booking.isIn(index, now);                // asked before: the monitor is everybody's
        books.close(booking, isInStep, isKnown, now);
    }

    /** Requests of this router that are placed and not closed, over all workers. */
    public int inFlight() {
        return books.inFlight();
    }
}
