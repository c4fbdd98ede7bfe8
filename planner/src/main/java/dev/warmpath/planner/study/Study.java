package dev.warmpath.planner.study;

import dev.warmpath.planner.load.Bounds;
import dev.warmpath.planner.load.Load;
import dev.warmpath.planner.load.Survey;
import dev.warmpath.planner.simulation.Policies;
import dev.warmpath.planner.simulation.Report;
import dev.warmpath.planner.simulation.ServiceModel;
import dev.warmpath.planner.simulation.SimulatedFleet;
import dev.warmpath.planner.study.StudyView.BoundsView;
import dev.warmpath.workload.Session;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.DoubleAdder;
import java.util.function.Consumer;

/** Runs cells, as many side by side as there are processors; what comes out of each does not depend on that. */
public final class Study {

    /** Prompts of requests in flight are kept: no more than so many tokens, 400 MB. */
    private static final long MOST_TOKENS_IN_FLIGHT = 100_000_000;
    private static final int MOST_IN_FLIGHT = 100_000;
    /** As a worker may tell of its model. */
    private static final int MOST_CONTEXT = 10_000_000;
    /** A pool keeps one block for itself. */
    private static final int OWN_BLOCKS = 1;
    /** Of all workers of a fleet: some gigabytes. */
    public static final long MOST_BLOCKS = 16_000_000;

    private final Load load;
    private final Survey survey;
    private final Machine machine;

    /**
     * What all fleets have in common.
     *
     * @param service          what a step takes
     * @param maxSequences     that a worker computes at the same time
     * @param maxBatchedTokens of a step
     * @param eventDelayMicros from a step's end to the routers' indexes
     * @param seed             of all that is drawn
     */
    public record Machine(ServiceModel service, int maxSequences, int maxBatchedTokens, long eventDelayMicros,
            long seed) {}

    public Study(Load load, Survey survey, Machine machine) {
        this.load = load;
        this.survey = survey;
        this.machine = machine;
    }

    /** What caches could find at best, for each number of workers and size of cache; nothing where nobody knows. */
    public List<BoundsView> bounds(List<Cell> cells) {
        Survey.Uses uses = survey.uses();
        if (uses == null || survey.fullBlocks() == 0) {
            return List.of();
        }
        Map<Long, Bounds> byCapacity = new HashMap<>();
        Set<BoundsView> views = new LinkedHashSet<>();
        for (Cell cell : cells.stream().filter(each -> each.cache().reuses()).toList()) {
            long capacity = cell.cache().blocks(survey, cell.workers()) * cell.workers();
            views.add(BoundsView.of(cell.workers(), cell.cache(), capacity, byCapacity.computeIfAbsent(capacity,
                    blocks -> Bounds.of(uses, survey.fullBlocks(), blocks))));
        }
        return List.copyOf(views);
    }

    /**
     * Runs all cells.
     *
     * @param done     is given each row as it is ready, by several threads, in any order
     * @param progress is told how much of everything is done, 0 to 1, by several threads
     * @throws IOException if the load cannot be read any more
     */
    public void run(List<Cell> cells, Consumer<Row> done, Consumer<Double> progress)
            throws IOException, InterruptedException {
        var share = new DoubleAdder();
        int threads = Math.min(cells.size(), Runtime.getRuntime().availableProcessors());
        try (ExecutorService pool = Executors.newFixedThreadPool(threads)) {
            List<Future<?>> running = cells.stream().<Future<?>>map(cell -> pool.submit(() -> {
                done.accept(run(cell, part -> {
                    share.add(part / cells.size());
                    progress.accept(share.sum());
                }));
                return null;
            })).toList();
            for (Future<?> each : running) {
                await(each, pool);
            }
        }
    }

    private static void await(Future<?> cell, ExecutorService pool) throws IOException, InterruptedException {
        try {
            cell.get();
        } catch (ExecutionException e) {
            pool.shutdownNow();
            switch (e.getCause()) {
                case IOException unreadable -> throw unreadable;
                case UncheckedIOException unreadable -> throw unreadable.getCause();
                default -> throw new IllegalStateException("a simulation failed", e.getCause());
            }
        }
    }

    /** Of each worker: no more than twice what the load ever uses, with which a cache is as good as endless. */
    public long blocks(Cell cell) {
        return Math.min(cell.cache().blocks(survey, cell.workers()), 2 * survey.allBlocks() + 1);
    }

    /** @param progress is told by how much more of it is done */
    private Row run(Cell cell, Consumer<Double> progress) throws IOException {
        long blocks = blocks(cell);
        var settings = new SimulatedFleet.Settings(cell.workers(), cell.routers(), survey.blockTokens(),
                (int) blocks + OWN_BLOCKS, machine.maxBatchedTokens(), machine.maxSequences(), contextLength(),
                machine.service(), machine.eventDelayMicros(), machine.seed(),
                mostInFlight(cell.workers()), cell.cache().reuses());
        try (Load.Sessions sessions = load.open()) {
            Report report = SimulatedFleet.run(settings, Policies.of(cell.policy()), new Watched(sessions, progress));
            return new Row(cell, blocks, report);
        }
    }

    /** Of the model: nothing of the load is too long for it. */
    private int contextLength() {
        return (int) Math.min(MOST_CONTEXT, (long) survey.longestBlocks() * survey.blockTokens() + 1);
    }

    /** Of requests as long as this load's are on average; never fewer than the fleet has places. */
    private int mostInFlight(int workers) {
        long mean = survey.promptTokens() / Math.max(1, survey.requests()) + 1;
        return (int) Math.max((long) workers * machine.maxSequences(),
                Math.min(MOST_IN_FLIGHT, MOST_TOKENS_IN_FLIGHT / mean));
    }

    /** Tells how much more of them has begun, now and then. */
    private static final class Watched implements Iterator<Session> {

        private static final int EACH = 64;

        private final Load.Sessions sessions;
        private final Consumer<Double> progress;
        private double told;
        private long taken;

        private Watched(Load.Sessions sessions, Consumer<Double> progress) {
            this.sessions = sessions;
            this.progress = progress;
        }

        @Override
        public boolean hasNext() {
            return sessions.hasNext();
        }

        @Override
        public Session next() {
            if (++taken % EACH == 0) {
                double share = sessions.share();
                progress.accept(share - told);
                told = share;
            }
            return sessions.next();
        }
    }
}
