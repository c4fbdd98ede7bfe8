package dev.warmpath.router.live;

import com.fasterxml.jackson.annotation.JsonInclude;
import dev.warmpath.router.fleet.Fleet;
import dev.warmpath.router.fleet.FleetWorker;
import dev.warmpath.router.fleet.IndexAge;
import dev.warmpath.router.fleet.WorkerView;
import dev.warmpath.router.prefix.PrefixIndex;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.PropertyNamingStrategies.SnakeCaseStrategy;
import tools.jackson.databind.annotation.JsonNaming;

/**
 * The fleet at one moment, as {@code /live/fleet} tells it.
 *
 * @param at      ISO 8601, UTC
 * @param second  the same in whole seconds since 1970
 * @param models  that are served
 * @param router  what this router's requests came to
 * @param index   what is in the prefix index
 * @param workers in the order of their joining
 */
@JsonNaming(SnakeCaseStrategy.class)
record FleetPicture(String at, long second, List<String> models, Totals.View router, IndexRow index,
        List<WorkerRow> workers) {

    /** As {@link PrefixIndex.Stats}. */
    @JsonNaming(SnakeCaseStrategy.class)
    record IndexRow(int workers, long entries, long keys, long bytes) {}

    /**
     * A worker, as {@link WorkerView} has it, and besides:
     *
     * @param grade         how far to rely on the index's copy of its blocks
     * @param behindBatches that the copy lacks
     * @param usage         share of its blocks that requests hold, 0 to 1; null before its first heartbeat
     * @param pool          false if it has said that it keeps no pool to look at
     * @param held          whether it is held between two steps
     */
    @JsonInclude(JsonInclude.Include.ALWAYS)
    @JsonNaming(SnakeCaseStrategy.class)
    record WorkerRow(String id, long epoch, String state, @Nullable String problem, String health,
            @Nullable String healthProblem, String grade, long behindBatches, String url, String model, String revision,
            @Nullable Integer running, @Nullable Integer waiting, @Nullable Integer freeBlocks, int blocks,
            @Nullable Double usage, int indexEntries, double credit, double failureShare, long leaseAgeMs, boolean pool,
            boolean held) {}

    static FleetPicture of(Fleet fleet, List<String> models, PrefixIndex.Stats stats, Totals.View router,
            Pools pools, Instant at,
            long nowNanos) {
        Map<String, FleetWorker> byId = new HashMap<>();
        fleet.everyone().forEach(worker -> byId.put(worker.id(), worker));
        List<WorkerRow> rows = new ArrayList<>();
        for (WorkerView view : fleet.snapshot()) {
            FleetWorker worker = byId.get(view.id());
            if (worker != null) {                                  // else it has come in between
                rows.add(row(view, worker, pools, nowNanos));
            }
        }
        return new FleetPicture(at.toString(), at.getEpochSecond(), models, router,
                new IndexRow(stats.workers(), stats.entries(), stats.keys(), stats.bytes()), rows);
    }

    private static WorkerRow row(WorkerView view, FleetWorker worker, Pools pools, long nowNanos) {
        IndexAge age = worker.indexAge(nowNanos);
        Integer free = view.freeBlocks();
        Boolean seenHeld = pools.held(worker);                     // sooner than the next heartbeat tells
        return new WorkerRow(view.id(), view.epoch(), Texts.lower(view.state()), view.problem(), view.health().text(),
                view.healthProblem(), worker.gradeOf(age).text(), age.batches(), view.url(), view.model(),
                view.revision(), view.running(), view.waiting(), free, view.blockCount(),
                free == null ? null : (double) (view.blockCount() - free) / view.blockCount(), view.indexEntries(),
                view.credit(), view.failureShare(), view.leaseAgeMillis(), !pools.hasNone(worker),
                seenHeld == null ? view.held() : seenHeld);
    }


    /** Share of all blocks that requests hold; {@link Double#NaN} if nobody has told. */
    double usage() {
        long blocks = 0;
        long free = 0;
        for (WorkerRow each : workers) {
            if (each.freeBlocks() != null) {
                blocks += each.blocks();
                free += each.freeBlocks();
            }
        }
        return blocks == 0 ? Double.NaN : (double) (blocks - free) / blocks;
    }

    int running() {
        return workers.stream().mapToInt(each -> each.running() == null ? 0 : each.running()).sum();
    }

    int waiting() {
        return workers.stream().mapToInt(each -> each.waiting() == null ? 0 : each.waiting()).sum();
    }
}
