package dev.warmpath.router.fleet;

import dev.warmpath.protocol.fleet.Farewell;
import dev.warmpath.protocol.fleet.Heartbeat;
import dev.warmpath.protocol.fleet.ModelDescription;
import dev.warmpath.protocol.fleet.RefusalReason;
import dev.warmpath.protocol.fleet.Registration;
import dev.warmpath.protocol.process.ProcessEnd;
import dev.warmpath.router.fleet.WorkerView.State;
import dev.warmpath.router.health.HealthComparison;
import dev.warmpath.router.health.HealthState;
import dev.warmpath.router.health.WorkerHealth;
import dev.warmpath.router.models.Revision;
import dev.warmpath.router.models.RevisionShares;
import dev.warmpath.router.models.RevisionWishes;
import dev.warmpath.router.models.Revisions;
import dev.warmpath.router.models.ServedModel;
import dev.warmpath.router.prefix.KvEventApplier;
import dev.warmpath.router.prefix.PrefixIndex;
import dev.warmpath.router.prefix.WorkerKeys;
import dev.warmpath.tokenization.ModelTokenizer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import java.util.random.RandomGenerator;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The workers that are alive, and the models that they serve. Safe for use by several threads; no call blocks.
 * Requests read the last {@link Roster} and take no lock, unless a lease may have ended. Changes take one, publish the
 * next roster before they leave it, and are logged after they have left it.
 *
 * <p>A worker joins by registering and stays while its lease runs, which every heartbeat extends. It takes requests
 * once its first snapshot is in the index and its revision's tokenizer is loaded, and none any more once it drains, by
 * its own word or an operator's; what it has taken goes on. When it goes, its index entries go with it, at once. Of two
 * lives that claim one id the later wins while both leases run (F9).
 */
public final class Fleet {

    private static final Logger log = LoggerFactory.getLogger(Fleet.class);
    /** Of a revision's capacity, while it is only tried out. */
    private static final double TRIAL_SHARE = 0.01;

    private final PrefixIndex index;
    private final RegistrationCheck check;
    private final LongSupplier nanoTime;
    private final LeaseClock leaseClock;
    private final WorkerProbe probe;
    private final long leaseNanos;
    private final int maxWorkers;
    private final ChangeLog changeLog = new ChangeLog();
    private final Map<String, FleetWorker> workers = new LinkedHashMap<>();
    private final Revisions revisions;
    private final RevisionWishes wishes;
    /** Epoch by id of workers that operators drain: another life of the worker is not meant. */
    private final Map<String, Long> drainedLives = new LinkedHashMap<>();
    /** Removed, while the roster may still have them. */
    private final List<FleetWorker> leaving = new ArrayList<>();
    private boolean rosterIsStale;
    private volatile Roster roster = Roster.EMPTY;
    /** No lease ends before, on {@link #leaseClock}: leases are only ever extended, and a new one ends later. */
    private volatile long nextLeaseEndNanos;

    /** @param nanoTime a monotonic clock, as {@link System#nanoTime} */
    public Fleet(PrefixIndex index, RegistrationCheck check, Duration leaseDuration, int maxWorkers,
            LongSupplier nanoTime, WorkerProbe probe) {
        this(index, check, leaseDuration, maxWorkers, nanoTime, probe, new RevisionWishes(Map.of(), Map.of()));
    }

    Fleet(PrefixIndex index, RegistrationCheck check, Duration leaseDuration, int maxWorkers, LongSupplier nanoTime,
            WorkerProbe probe, RevisionWishes wishes) {
        this.index = index;
        this.check = check;
        this.nanoTime = nanoTime;
        this.leaseClock = new LeaseClock(nanoTime);
        this.probe = probe;
        this.leaseNanos = leaseDuration.toNanos();
        this.maxWorkers = maxWorkers;
        this.revisions = new Revisions(wishes);
        this.wishes = wishes;
        this.nextLeaseEndNanos = leaseEnd();
    }

    /** With the bounds and the first wishes of the settings. */
    public static Fleet of(FleetProperties properties, PrefixIndex index, RegistrationCheck check,
            LongSupplier nanoTime, WorkerProbe probe) {
        return new Fleet(index, check, properties.leaseDuration(), properties.maxWorkers(), nanoTime, probe,
                new RevisionWishes(properties.revisionWeights(), properties.pinnedRevisions()));
    }

    // ---- what requests need

    /** Of the revisions that take new requests for that model the one with the largest share, or null. */
    public @Nullable ServedModel model(String name) {
        return weights(name, Set.of()).entrySet().stream()
                .max(Map.Entry.<ServedModel, Double>comparingByValue()
                        .thenComparing(each -> each.getKey().revision()))
                .map(Map.Entry::getKey).orElse(null);
    }

    /**
     * The revision that takes this conversation: {@link RevisionShares}, by the capacity of ready and healthy workers,
     * unless an operator pins, weights or drains one.
     *
     * @param beginning of the conversation; equal ones go together
     * @param excluded  revisions that have failed this request already
     * @return null if nobody can serve it
     */
    public @Nullable ServedModel model(String name, long beginning, Set<String> excluded) {
        return RevisionShares.choose(weights(name, excluded), beginning);
    }

    /** What counts of each revision that may be asked, above 0. */
    private Map<ServedModel, Double> weights(String name, Set<String> excluded) {
        Map<ServedModel, Double> healthy = new LinkedHashMap<>();
        Map<ServedModel, Double> ready = new LinkedHashMap<>();
        long nowNanos = nanoTime.getAsLong();
        Roster now = roster();
        for (ServedModel model : now.models()) {
            String revision = model.revision();
            if (model.name().equals(name) && !excluded.contains(revision) && wishes.allows(name, revision)) {
                double weight = wishes.weight(revision);
                ready.put(model, weight * capacity(now.ready(revision), nowNanos, /* healthyOnly */ false));
                healthy.put(model, weight * capacity(now.ready(revision), nowNanos, /* healthyOnly */ true));
            }
        }
        healthy.values().removeIf(weight -> weight <= 0);
        return healthy.isEmpty() ? ready : healthy;
    }

    /** Sequences. A worker whose trial is due counts a little, or nobody would ever find out that it has recovered. */
    private static double capacity(List<FleetWorker> workers, long now, boolean healthyOnly) {
        double sequences = 0;
        for (FleetWorker worker : workers) {
            sequences += worker.maxSequences() * (!healthyOnly ? 1 : switch (worker.health().state(now)) {
                case HEALTHY -> 1;
                case ON_TRIAL -> TRIAL_SHARE;
                case EJECTED, UNREACHABLE -> 0;
            });
        }
        return sequences;
    }

    /** Every revision with a ready worker. */
    public List<ServedModel> models() {
        return roster().models();
    }

    /** Whether workers have brought a model of this name, if none serves it at present; a few such are remembered. */
    public boolean knows(String model) {
        return roster().known().contains(model);
    }

    /** The ready workers of this revision. */
    public List<FleetWorker> workers(ServedModel model) {
        return roster().ready(model.revision());
    }

    /** Its other workers, and why they get nothing. One whose lease has ended is gone, and not among them. */
    public List<UnreadyWorker> unready(ServedModel model) {
        return roster().unready(model.revision());
    }

    /** How many requests the ready workers compute at the same time. */
    public long sequences() {
        return roster().sequences();
    }

    /**
     * Says that a connection to this worker was refused or broke. If a new one is refused as well, the worker is
     * removed without waiting for its lease. Returns at once; the question is asked in a thread of its own, one for a
     * worker however many connections break at a time, and once more if some broke meanwhile.
     */
    public void connectionLost(FleetWorker worker, Throwable cause) {
        if (worker.isGone()) {
            return;
        }
        if (!worker.askForProbe()) {
            return;
        }
        Thread.ofVirtual().name("fleet-probe-" + worker.id()).start(() -> {
            do {
                probe(worker, cause);
            } while (worker.probeIsAskedForAgain());
        });
    }

    /** A probe that breaks is over as one that finds somebody: else nobody would ever ask this address again. */
    private void probe(FleetWorker worker, Throwable cause) {
        try {
            if (probe.isRefused(worker.baseUrl())) {
                remove(worker, "its address refuses connections (" + cause + ")");
            }
        } catch (RuntimeException | Error e) {
            ProcessEnd.rethrowIfFatal(e);
            log.error("asking for worker {} failed in the router", worker, e);
        }
    }

    /** Says that something has come from this life of a worker just now: it lives. Takes no lock. */
    public void heardFrom(FleetWorker worker) {
        worker.extendLease(leaseEnd());
    }

    /** All workers, ready or not, in order of joining. */
    public List<FleetWorker> everyone() {
        return roster().everyone();
    }

    /** The same, as operators see them. */
    public List<WorkerView> snapshot() {
        List<FleetWorker> everyone = everyone();
        long now = leaseClock.nanos();
        synchronized (this) {
            return everyone.stream().map(worker -> view(worker, now)).toList();
        }
    }

    /** How long the index's copy of some worker has been behind; the longest, 0 if none is. */
    public long longestOutOfStepNanos() {
        long now = nanoTime.getAsLong();
        return everyone().stream().mapToLong(worker -> worker.outOfStepNanos(now)).max().orElse(0);
    }

    /** Batches that the index's copy of some worker lacks; the most. */
    public long mostBehindBatches() {
        return everyone().stream().mapToLong(FleetWorker::behindBatches).max().orElse(0);
    }

    /** Workers that have been in the index and can be relied on so far. */
    public long ofGrade(IndexGrade grade) {
        long now = nanoTime.getAsLong();
        return everyone().stream().filter(each -> each.isIndexed() && each.indexGrade(now) == grade).count();
    }

    /** Workers of that state of health, ready or not. */
    public long ofHealth(HealthState state) {
        long now = nanoTime.getAsLong();
        return everyone().stream().filter(worker -> worker.health().state(now) == state).count();
    }

    /**
     * Holds the workers of each revision against each other, see {@link HealthComparison}. To be called a few times a
     * second.
     *
     * @param slowFactor how many times the median of the others is slow, above 1
     */
    public void compareHealth(double slowFactor) {
        long now = nanoTime.getAsLong();
        Roster roster = roster();
        Map<String, List<WorkerHealth>> open = roster.models().stream()
                .filter(model -> wishes.allows(model.name(), model.revision()))
                .collect(Collectors.groupingBy(ServedModel::name, Collectors.flatMapping(
                        model -> roster.ready(model.revision()).stream().map(FleetWorker::health), Collectors.toList())));
        everyone().stream()
                .collect(Collectors.groupingBy(worker -> worker.model().name(),
                        Collectors.groupingBy(FleetWorker::revision,
                                Collectors.mapping(FleetWorker::health, Collectors.toList()))))
                .forEach((name, revisions) -> HealthComparison.of(
                        revisions.values(), open.getOrDefault(name, List.of()), slowFactor, now));
    }

    /** Workers whose batches come that way. */
    public int followedBy(EventSource source) {
        return (int) everyone().stream().filter(worker -> worker.eventSource() == source).count();
    }

    // ---- what operators ask and want

    /** All revisions of all models that have a worker. */
    public List<RevisionView> revisionViews() {
        Roster now = roster();
        List<Revision> known;
        synchronized (this) {
            known = List.copyOf(revisions.all());
        }
        List<RevisionView> views = new ArrayList<>();
        for (Revision revision : known) {
            String name = revision.description().name();
            String id = revision.description().revision();
            long members = now.everyone().stream().filter(worker -> worker.revision().equals(id)).count();
            if (members > 0) {
                ServedModel model = now.models().stream().filter(each -> each.revision().equals(id)).findFirst()
                        .orElse(null);
                List<FleetWorker> ready = model == null ? List.of() : now.ready(id);
                Map<ServedModel, Double> weights = weights(name, Set.of());
                double all = weights.values().stream().mapToDouble(Double::doubleValue).sum();
                double own = model == null ? 0 : weights.getOrDefault(model, 0.0);
                views.add(new RevisionView(name, id, (int) members, ready.size(),
                        capacity(ready, nanoTime.getAsLong(), true), wishes.weight(id), wishes.isPinned(name, id),
                        own == 0 ? 0 : own / all));
            }
        }
        return views;
    }

    /**
     * Sends nothing new to this life of a worker, or does so again. A worker that drains by itself goes on draining.
     *
     * @return false if it is not here
     */
    public boolean drainWorker(String id, boolean drain) {
        return change(() -> drain(id, drain));
    }

    private boolean drain(String id, boolean drain) {
        FleetWorker worker = workers.get(id);
        if (worker == null) {
            return false;
        }
        worker.setDrainedByOperator(drain);
        rosterIsStale = true;
        drainedLives.remove(id);
        if (drain) {
            drainedLives.put(id, worker.epoch());
            drainedLives.keySet().stream().limit(Math.max(0, drainedLives.size() - maxWorkers)).toList()
                    .forEach(drainedLives::remove);
        }
        return true;
    }

    /**
     * @param weight how often the revision's capacity counts: 1 is usual, 0 drains it
     * @return false if the revision is not known here, or too many have been spoken of
     */
    public synchronized boolean weighRevision(String revision, double weight) {
        return revisions.weigh(revision, weight);
    }

    /** Gives all new requests of its model to this revision, even if nobody serves it. @return as the weight's */
    public synchronized boolean pinRevision(String revision) {
        return revisions.pin(revision);
    }

    /** @return false if the revision is not known here */
    public synchronized boolean unpinRevision(String revision) {
        return revisions.unpin(revision);
    }

    // ---- what links to workers need

    /**
     * Says that heartbeats are being received now, by the thread that does it, several times a second. Once it has been
     * said, leases run only while it is said.
     */
    public void receiving() {
        leaseClock.turn();
    }

    public RegistrationOutcome register(Registration registration) {
        return change(() -> {
            endLeases();
            return admit(registration);
        });
    }

    private RegistrationOutcome admit(Registration registration) {
        RegistrationOutcome.Refused refusal = refusal(registration);
        if (refusal != null) {
            changeLog.add(() -> log.warn("worker refused: {}", refusal.message()));
            return refusal;
        }
        FleetWorker known = workers.get(registration.workerId());
        if (known != null && known.epoch() == registration.epoch()) {
            known.extendLease(leaseEnd());
            return new RegistrationOutcome.Accepted(known, false);
        }
        if (known != null) {
            leave(known, "epoch " + registration.epoch() + " of it has registered");
        }
        return new RegistrationOutcome.Accepted(join(registration), true);
    }

    public HeartbeatOutcome heartbeat(Heartbeat heartbeat) {
        return change(() -> {
            endLeases();
            return hear(heartbeat);
        });
    }

    private HeartbeatOutcome hear(Heartbeat heartbeat) {
        FleetWorker worker = workers.get(heartbeat.workerId());
        if (worker == null || worker.epoch() < heartbeat.epoch()) {
            return new HeartbeatOutcome.Refused(RefusalReason.UNKNOWN_WORKER,
                    "worker " + heartbeat.workerId() + " epoch " + heartbeat.epoch() + " is not registered here");
        }
        if (worker.epoch() > heartbeat.epoch()) {
            return new HeartbeatOutcome.Refused(RefusalReason.OLDER_EPOCH,
                    olderEpoch(heartbeat.workerId(), heartbeat.epoch(), worker));
        }
        HeartbeatOutcome.Refused refusal = HeartbeatCheck.refusal(heartbeat, worker.registration());
        if (refusal != null) {
            return refusal;
        }
        if (heartbeat.draining() && !worker.isDraining()) {
            rosterIsStale = true;
            changeLog.add(() -> log.info("worker {} drains: it gets nothing new", worker));
        }
        if (heartbeat.hanging() != worker.isHanging()) {
            rosterIsStale = true;
            changeLog.add(heartbeat.hanging()
                    ? () -> log.warn("worker {} hangs in a step since {} ms: it gets nothing new", worker,
                            heartbeat.stepAgeMillis())
                    : () -> log.info("worker {} does not hang any more: it gets requests again", worker));
        }
        if (heartbeat.held() != worker.isHeld()) {
            changeLog.add(heartbeat.held()
                    ? () -> log.info("worker {} is held, to be stepped by hand: its answers are waited for", worker)
                    : () -> log.info("worker {} is not held any more", worker));
        }
        worker.heard(heartbeat, nanoTime.getAsLong());
        worker.extendLease(leaseEnd());
        return new HeartbeatOutcome.Extended();
    }

    /** That life of the worker, or null if it is not here. */
    public synchronized @Nullable FleetWorker worker(String id, long epoch) {
        FleetWorker worker = workers.get(id);
        return worker != null && worker.epoch() == epoch ? worker : null;
    }

    /** Removes that life of the worker, if it is here. */
    public void farewell(Farewell farewell) {
        FleetWorker worker = worker(farewell.workerId(), farewell.epoch());
        if (worker != null) {
            remove(worker, "it has said farewell");
        }
    }

    /** The worker's first snapshot, or a batch after it, is in the index. */
    public void indexed(FleetWorker worker) {
        change(() -> {
            worker.setEventProblem(null);
            if (!worker.isIndexed()) {
                worker.markIndexed();
                rosterIsStale = true;
                changeLog.add(() -> log.info("worker {} is in the index", worker));
            }
        });
    }

    /**
     * Makes visible that a worker's own event stream does not last; somebody goes on trying.
     *
     * @param trouble null: it lasts, or is not needed
     */
    public void streamEnds(FleetWorker worker, @Nullable String trouble) {
        change(() -> {
            if (trouble != null && worker.streamProblem() == null) {
                changeLog.add(() -> log.warn("worker {} cannot be followed: {}", worker, trouble));
            }
            worker.setStreamProblem(trouble);
        });
    }

    /** Workers whose events do not come, or not for long. */
    public long notFollowed() {
        return everyone().stream().filter(worker -> worker.followingProblem() != null).count();
    }

    /** Makes visible why a worker's events do not come; somebody goes on trying. */
    public void eventsStuck(FleetWorker worker, String problem) {
        change(() -> {
            if (!problem.equals(worker.eventProblem())) {
                worker.setEventProblem(problem);
                changeLog.add(() -> log.warn("worker {} cannot be followed: {}", worker, problem));
            }
        });
    }

    /** True for the one caller who is to load the model of this worker's revision, and then says how it went. */
    public synchronized boolean claimLoading(String revision) {
        return revisions.claimLoading(revision);
    }

    /** Whom to ask for the files of a revision. */
    public synchronized List<FleetWorker> membersOf(String revision) {
        return workers.values().stream().filter(worker -> worker.revision().equals(revision)).toList();
    }

    /** From now on the revision's ready workers take requests, unless the files contradict what the workers said. */
    public void modelLoaded(String revision, ModelTokenizer tokenizer) {
        change(() -> load(revision, tokenizer));
    }

    private void load(String revision, ModelTokenizer tokenizer) {
        Revision known = revisions.get(revision);
        if (known == null) {
            return;
        }
        String contradiction = known.load(tokenizer);
        if (contradiction != null) {
            stick(known, contradiction);
            return;
        }
        rosterIsStale = true;
        changeLog.add(() -> log.info("model {} revision {} is loaded", known.description().name(), revision));
    }

    /** Makes visible why a revision is not served; somebody goes on trying. */
    public void modelStuck(String revision, String problem) {
        change(() -> stick(revisions.get(revision), problem));
    }

    private void stick(@Nullable Revision known, String problem) {
        if (known != null && !problem.equals(known.problem())) {
            known.stuck(problem);
            ModelDescription model = known.description();
            changeLog.add(() -> log.warn("model {} revision {} is not served: {}", model.name(), model.revision(),
                    problem));
        }
    }

    /** Nobody tries any more; the next worker of the revision begins anew. */
    public synchronized void loadingFailed(String revision) {
        revisions.giveUpLoading(revision);
    }

    /** Ends the loading if the revision's workers have left; decided at once, so that no newcomer relies on it. */
    public synchronized boolean endLoadingIfAbandoned(String revision) {
        boolean abandoned = membersOf(revision).isEmpty();
        if (abandoned) {
            loadingFailed(revision);
        }
        return abandoned;
    }

    /** Removes a worker and its index entries now. */
    public void remove(FleetWorker worker, String why) {
        change(() -> leave(worker, why));
    }

    /** Removes every worker whose lease has ended. Every other call does so first; this one is for quiet times. */
    public void expireLeases() {
        if (leaseClock.nanos() - nextLeaseEndNanos >= 0) {
            change(this::endLeases);
        }
    }

    // ---- details

    /** Who is there now, without a lock unless a lease may have ended since somebody looked. */
    private Roster roster() {
        expireLeases();
        return roster;
    }

    /** All that changes what a roster says, or is logged, goes through here. Not to be nested. */
    private <T> T change(Supplier<T> step) {
        try {
            synchronized (this) {
                try {
                    return step.get();
                } finally {
                    publish();                                     // what a step has done before it broke is done
                }
            }
        } finally {
            changeLog.write();
        }
    }

    private void change(Runnable step) {
        change(() -> {
            step.run();
            return true;
        });
    }

    /** However much one step has changed, it costs one roster. */
    private void publish() {
        if (rosterIsStale) {
            revisions.forgetIdle(workers.values().stream().map(FleetWorker::revision).collect(Collectors.toSet()));
            roster = Roster.of(workers.values(), revisions.all());
            rosterIsStale = false;
            leaving.forEach(FleetWorker::markGone);                // whoever sees it gone finds no trace of it
            leaving.clear();
        }
    }

    private void leave(FleetWorker worker, String why) {
        if (workers.remove(worker.id(), worker)) {
            index.remove(worker.keys());
            leaving.add(worker);
            rosterIsStale = true;
            changeLog.add(() -> log.info("worker {} is removed: {}", worker, why));
        }
    }

    /** Looks at every lease, once for each time that one may have ended. */
    private void endLeases() {
        long now = leaseClock.nanos();
        if (now - nextLeaseEndNanos < 0) {
            return;
        }
        long next = now + leaseNanos;
        for (FleetWorker worker : roster.everyone()) {
            long end = worker.leaseEndNanos();
            if (now - end >= 0) {
                leave(worker, "its lease of " + TimeUnit.NANOSECONDS.toMillis(leaseNanos) + " ms has ended");
            } else if (end - next < 0) {
                next = end;
            }
        }
        nextLeaseEndNanos = next;
    }

    private FleetWorker join(Registration registration) {
        WorkerKeys keys = index.add(Math.toIntExact(registration.mostKeys()), registration.prefixClosed());
        var events = new KvEventApplier(registration.workerId(), registration.epoch(), keys);
        var health = new WorkerHealth(registration.workerId(), nanoTime.getAsLong(), RandomGenerator.getDefault());
        var worker = new FleetWorker(registration, keys, events, health, leaseEnd());
        workers.put(worker.id(), worker);
        worker.setDrainedByOperator(Objects.equals(drainedLives.get(worker.id()), worker.epoch()));
        revisions.add(registration.model());
        rosterIsStale = true;
        changeLog.add(() -> log.info("worker {} joins with model {} revision {}", worker, worker.model().name(),
                worker.revision()));
        return worker;
    }

    private RegistrationOutcome.@Nullable Refused refusal(Registration registration) {
        RegistrationOutcome.Refused invalid = check.refusal(registration);
        if (invalid != null) {
            return invalid;
        }
        FleetWorker known = workers.get(registration.workerId());
        if (known != null && known.epoch() > registration.epoch()) {
            return new RegistrationOutcome.Refused(RefusalReason.OLDER_EPOCH,
                    olderEpoch(registration.workerId(), registration.epoch(), known));
        }
        if (known != null && known.epoch() == registration.epoch()) {
            String difference = RegistrationCheck.difference(known.registration(), registration);
            return difference == null ? null : new RegistrationOutcome.Refused(RefusalReason.INVALID,
                    "worker " + known.id() + " epoch " + known.epoch() + " is registered with " + difference);
        }
        if (known == null && workers.size() >= maxWorkers) {
            return new RegistrationOutcome.Refused(RefusalReason.FLEET_FULL,
                    "the fleet has " + workers.size() + " workers, this router takes " + maxWorkers);
        }
        return contradiction(registration, known);
    }

    /** A revision that only the replaced life of the same worker serves may be described anew. */
    private RegistrationOutcome.@Nullable Refused contradiction(
            Registration registration, @Nullable FleetWorker replaced) {
        String revision = registration.model().revision();
        Revision known = revisions.get(revision);
        if (known == null) {
            return null;
        }
        String difference = RegistrationCheck.difference(known.description(), registration.model());
        if (difference == null) {
            return null;
        }
        if (membersOf(revision).stream().allMatch(worker -> worker == replaced)) {
            revisions.remove(revision);
            rosterIsStale = true;
            return null;
        }
        return new RegistrationOutcome.Refused(RefusalReason.REVISION_CONTRADICTION,
                "revision " + revision + " is known with " + difference);
    }

    private static String olderEpoch(String workerId, long epoch, FleetWorker newer) {
        return "worker " + workerId + " is registered and alive with the later epoch " + newer.epoch() + " at "
                + newer.baseUrl() + "; epoch " + epoch + " is fenced off";
    }

    private long leaseEnd() {
        return leaseClock.nanos() + leaseNanos;
    }

    private static @Nullable String problem(FleetWorker worker, @Nullable Revision revision) {
        String problem = worker.followingProblem();
        if (problem == null && revision != null) {
            problem = revision.problem();
        }
        return problem == null ? worker.logProblem() : problem;
    }

    private static State state(FleetWorker worker, @Nullable Revision revision) {
        boolean served = revision != null && revision.model() != null;
        State own = worker.state();
        return own == State.READY && !served ? State.JOINING : own;
    }

    private WorkerView view(FleetWorker worker, long leaseNow) {
        Revision revision = revisions.get(worker.revision());
        Heartbeat heartbeat = worker.heartbeat();
        WorkerHealth health = worker.health();
        long now = nanoTime.getAsLong();
        return new WorkerView(worker.id(), worker.epoch(), worker.baseUrl().toString(), worker.model().name(),
                worker.revision(), state(worker, revision), problem(worker, revision),
                health.state(now), health.problem(), health.failureShare(now), health.credit(),
                heartbeat == null ? null : heartbeat.running(),
                heartbeat == null ? null : heartbeat.waiting(),
                heartbeat == null ? null : heartbeat.freeBlocks(),
                heartbeat == null ? null : heartbeat.stepAgeMillis(), worker.isHeld(),
                heartbeat == null ? null : heartbeat.stepCost(),
                worker.blockCount(), worker.keys().size(), worker.events().position().sequence(),
                TimeUnit.NANOSECONDS.toMillis(leaseNow - (worker.leaseEndNanos() - leaseNanos)));
    }
}
