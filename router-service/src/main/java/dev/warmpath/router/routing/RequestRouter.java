package dev.warmpath.router.routing;

import dev.warmpath.protocol.block.BlockHashChain;
import dev.warmpath.protocol.fleet.Heartbeat;
import dev.warmpath.router.fleet.Fleet;
import dev.warmpath.router.fleet.FleetWorker;
import dev.warmpath.router.fleet.ServedModel;
import dev.warmpath.router.prefix.PrefixIndex;
import dev.warmpath.router.prefix.PrefixMatch;
import dev.warmpath.router.routing.RouteDecision.NoWorker;
import dev.warmpath.router.routing.RouteDecision.NoWorkerReason;
import dev.warmpath.router.routing.RouteDecision.Routed;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Places requests: asks the index and its own books about every ready worker, lets the policy choose, and books the
 * request at the winner before anybody else is placed. So two equal prompts that arrive together go to one worker: the
 * second finds the first one's blocks counted as held, long before any event says so.
 *
 * <p>The heartbeat knows what the books do not, the work that other routers gave. Since it is up to a second old, only
 * what exceeds the most this router had there of late is taken for theirs; so a request that has ended does not count
 * for another second.
 *
 * <p>Safe for use by several threads: one lock, held for a few microseconds a decision.
 */
public final class RequestRouter {

    private final Fleet fleet;
    private final PrefixIndex index;
    private final RoutingPolicy policy;
    private final LongSupplier nanoTime;
    private final Map<FleetWorker, WorkerLedger> ledgers = new HashMap<>();
    private long decisions;

    /** @param nanoTime a monotonic clock, as {@link System#nanoTime} */
    public RequestRouter(Fleet fleet, PrefixIndex index, RoutingPolicy policy, LongSupplier nanoTime) {
        this.fleet = fleet;
        this.index = index;
        this.policy = policy;
        this.nanoTime = nanoTime;
    }

    /** What {@link #route} would decide now. Changes nothing. */
    public synchronized RouteDecision explain(ServedModel model, BlockHashChain chain, int promptTokens) {
        return decide(model, chain, promptTokens, Set.of()).decision();
    }

    /**
     * Chooses a worker and books the request there.
     *
     * @param chain             of the prompt; read only during the call
     * @param promptTokens      length of the prompt
     * @param excludedWorkerIds those that failed this request already
     */
    public synchronized RouteResult route(
            ServedModel model, BlockHashChain chain, int promptTokens, Set<String> excludedWorkerIds) {
        Choice choice = decide(model, chain, promptTokens, excludedWorkerIds);
        return switch (choice.decision()) {
            case NoWorker none -> new RouteResult.Unplaced(none);
            case Routed routed -> {
                FleetWorker worker = choice.worker();
                decisions++;
                WorkerLedger.Entry entry = ledger(worker).book(chain, promptTokens, routed.cachedTokens(), decisions);
                yield new RouteResult.Placed(routed, worker, new InFlightRequest(this, worker, entry));
            }
        };
    }

    synchronized void firstToken(FleetWorker worker, WorkerLedger.Entry entry) {
        WorkerLedger ledger = ledgers.get(worker);                 // absent once the worker is gone and forgotten
        if (ledger != null) {
            ledger.firstToken(entry);
        }
    }

    synchronized void close(FleetWorker worker, WorkerLedger.Entry entry) {
        WorkerLedger ledger = ledgers.get(worker);
        if (ledger != null) {
            ledger.close(entry, nanoTime.getAsLong());
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

    private record Choice(RouteDecision decision, List<FleetWorker> workers) {
        FleetWorker worker() {
            String id = ((Routed) decision).workerId();
            return workers.stream().filter(worker -> worker.id().equals(id)).findFirst().orElseThrow();
        }
    }

    private Choice decide(ServedModel model, BlockHashChain chain, int promptTokens, Set<String> excluded) {
        List<FleetWorker> ready = fleet.workers(model);
        List<FleetWorker> workers = ready.stream().filter(worker -> !excluded.contains(worker.id())).toList();
        if (workers.isEmpty()) {
            return new Choice(new NoWorker(
                    ready.isEmpty() ? NoWorkerReason.NONE_READY : NoWorkerReason.ALL_EXCLUDED), workers);
        }
        int maxBlocks = model.hashSettings().reusableBlocks(promptTokens);
        PrefixMatch match = index.match(chain, maxBlocks);
        List<Candidate> candidates = new ArrayList<>(workers.size());
        for (FleetWorker worker : workers) {
            candidates.add(candidate(worker, match.blocks(worker.keys()), chain, maxBlocks));
        }
        return new Choice(policy.choose(promptTokens, model.hashSettings().blockSize(), candidates), workers);
    }

    private Candidate candidate(FleetWorker worker, int indexedBlocks, BlockHashChain chain, int maxBlocks) {
        WorkerLedger ledger = ledger(worker);
        ledger.settle(nanoTime.getAsLong(), key -> index.holds(worker.keys(), key));
        WorkerLedger.Load own = ledger.booked();
        WorkerLedger.Load others = ledger.loadOfOthers(reported(worker));
        return new Candidate(
                worker.id(),
                Math.max(indexedBlocks, ledger.aboutToHold(chain, maxBlocks)),
                own.pendingTokens() + others.pendingTokens(),
                own.requests() + others.requests(),
                worker.maxSequences(),
                own.blocks() + others.blocks(),
                ledger.sharedBlocks(chain, maxBlocks),
                worker.blockCount(),
                ledger.lastChosen());
    }

    private static WorkerLedger.@Nullable Report reported(FleetWorker worker) {
        Heartbeat heartbeat = worker.heartbeat();
        return heartbeat == null ? null : new WorkerLedger.Report(heartbeat, new WorkerLedger.Load(
                heartbeat.pendingPromptTokens(),
                heartbeat.running() + heartbeat.waiting(),
                worker.blockCount() - heartbeat.freeBlocks()));
    }

    private WorkerLedger ledger(FleetWorker worker) {
        WorkerLedger known = ledgers.get(worker);
        if (known != null) {
            return known;
        }
        ledgers.keySet().removeIf(FleetWorker::isGone);
        var ledger = new WorkerLedger(worker.blockSize());
        ledgers.put(worker, ledger);
        return ledger;
    }
}
