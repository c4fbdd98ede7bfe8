package dev.warmpath.planner.simulation;

import dev.warmpath.protocol.block.BlockHashChain;
import dev.warmpath.protocol.block.ExtraKeys;
import dev.warmpath.protocol.block.HashSettings;
import dev.warmpath.protocol.event.BlockChange;
import dev.warmpath.protocol.event.KvEventBatch;
import dev.warmpath.protocol.fleet.Heartbeat;
import dev.warmpath.protocol.fleet.RouterId;
import dev.warmpath.protocol.generate.SamplingParameters;
import dev.warmpath.protocol.generate.StopConditions;
import dev.warmpath.worker.engine.StepCosts;
import dev.warmpath.worker.kvcache.KvCacheManager;
import dev.warmpath.worker.kvcache.KvCacheSettings;
import dev.warmpath.worker.kvcache.TokenSequence;
import dev.warmpath.worker.scheduler.AliveLoad;
import dev.warmpath.worker.scheduler.Logprobs;
import dev.warmpath.worker.scheduler.RequestLimits;
import dev.warmpath.worker.scheduler.ScheduledBatch;
import dev.warmpath.worker.scheduler.Scheduler;
import dev.warmpath.worker.scheduler.SchedulerSettings;
import dev.warmpath.worker.scheduler.Sequence;
import dev.warmpath.worker.scheduler.Submission;
import dev.warmpath.workload.Prompt;
import dev.warmpath.workload.Turn;
import java.util.Arrays;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;

/**
 * A worker's real scheduler and block manager; only the device is a {@link ServiceModel}. It computes as long as it has
 * something to compute, and tells what its cache holds after every step, as the worker's engine does.
 */
final class SimulatedWorker {

    static final long EPOCH = 1;
    private static final int[] NO_END = {};

    /** What happens to a request here, at the end of the step in which it does. */
    interface Progress {
        /** @param cachedTokens of its prompt, which were not computed */
        void firstToken(int cachedTokens);

        void ended();
    }

    private static final class Running {
        private final Turn turn;
        private final Progress progress;
        private boolean hasToken;

        private Running(Turn turn, Progress progress) {
            this.turn = turn;
            this.progress = progress;
        }
    }

    private final String id;
    private final Timeline timeline;
    private final ServiceModel service;
    private final HashSettings hashing;
    private final KvCacheManager cache;
    private final Scheduler scheduler;
    private final Consumer<KvEventBatch> news;
    private final StepCosts costs = new StepCosts();
    private final Map<Sequence, Running> requests = new IdentityHashMap<>();
    private int[] drawn = new int[64];
    private boolean isComputing;
    private long sequence;
    private boolean hasNews;
    private long requestCount;
    private long computedTokens;
    private long busyMicros;

    /** @param news takes every batch of events, at once */
    SimulatedWorker(String id, Timeline timeline, SimulatedFleet.Settings settings, HashSettings hashing,
            Consumer<KvEventBatch> news) {
        this.id = id;
        this.timeline = timeline;
        this.service = settings.service();
        this.hashing = hashing;
        this.news = news;
        var blocks = KvCacheSettings.of(settings.blockCount(), hashing.blockSize()).withVerifyTokens(false)
                .withPrefixCaching(settings.prefixCaching());
        cache = new KvCacheManager(blocks);
        // nobody is refused: what a router has placed waits here
        var steps = SchedulerSettings.of(settings.maxBatchedTokens(), settings.maxSequences(), 1_000_000);
        scheduler = new Scheduler(steps,
                new RequestLimits(Prompt.VOCABULARY, Integer.MAX_VALUE, blocks, steps.mostTokensInFlight()), cache);
    }

    String id() {
        return id;
    }

    long computedTokens() {
        return computedTokens;
    }

    long busyMicros() {
        return busyMicros;
    }

    /** Of those whose blocks others got. */
    long preemptions() {
        return scheduler.recomputePreemptions() + scheduler.swapPreemptions();
    }

    /**
     * @param tokens of the turn's prompt; handed over
     * @param chain  its blocks' hashes; handed over
     * @param router whose request it is
     * @return false if it could never be held here
     */
    boolean submit(Turn turn, int[] tokens, BlockHashChain chain, RouterId router, Progress progress) {
        var request = new Sequence(Long.toString(requestCount++),
                new TokenSequence(hashing, ExtraKeys.NONE, chain, tokens), SamplingParameters.GREEDY,
                StopConditions.pastTheEnd(turn.answerTokens()), NO_END, Logprobs.NONE, 0, Sequence.NO_DEADLINE, router);
        if (scheduler.submit(request, timeline.nanos()) instanceof Submission.Refused) {
            return false;
        }
        requests.put(request, new Running(turn, progress));
        hasNews = true;
        if (!isComputing) {
            step();
        }
        return true;
    }

    private void step() {
        ScheduledBatch batch = scheduler.schedule(timeline.nanos());
        isComputing = !batch.isEmpty();
        if (isComputing) {
            long micros = Math.max(1, Math.round(service.micros(batch)));
            busyMicros += micros;
            costs.add(/* steps */ 1, batch.prefillTokens(0), batch.decodeTokens(0), batch.decodeContextTokens(0),
                    micros * 1_000);
            timeline.after(micros, () -> settle(batch));
        }
    }

    private void settle(ScheduledBatch batch) {
        int rows = batch.rowCount(0);
        if (rows > drawn.length) {
            drawn = new int[rows * 2];
        }
        Arrays.fill(drawn, 0, rows, Prompt.ANSWER_TOKEN);
        for (int entry = 0; entry < batch.size(); entry++) {
            Sequence request = batch.sequence(entry);
            if (batch.samples(entry) && requests.get(request) instanceof Running running) {
                drawn[batch.sampleIndex(entry, 0)] = running.turn.answerToken(request.tokens().tokenCount());
            }
        }
        computedTokens += batch.totalTokens();
        scheduler.settle(batch, drawn);
        publish();
        for (int entry = 0; entry < batch.size(); entry++) {
            if (batch.tookToken(entry)) {
                tell(batch.sequence(entry));
            }
        }
        step();
    }

    private void tell(Sequence request) {
        Running running = requests.get(request);
        if (!running.hasToken) {
            running.hasToken = true;
            hasNews = true;
            running.progress.firstToken(request.tokens().cachedTokens());
        }
        if (request.isOver()) {
            requests.remove(request);
            running.progress.ended();
        }
    }

    private void publish() {
        List<BlockChange> changes = cache.drainChanges();
        if (!changes.isEmpty()) {
            sequence++;
            news.accept(new KvEventBatch(id, EPOCH, sequence, false, changes, cache.announcedCount(),
                    cache.announcedDigest()));
        }
    }

    KvEventBatch emptySnapshot() {
        return new KvEventBatch(id, EPOCH, 0, true, List.of(), 0, 0);
    }

    /** Whether a request has come, or its first token, since the last heartbeat. */
    boolean hasNews() {
        return hasNews;
    }

    Heartbeat heartbeat() {
        hasNews = false;
        AliveLoad load = scheduler.load();
        return new Heartbeat(id, EPOCH, scheduler.runningCount(), scheduler.waitingCount(), cache.freeBlocks(),
                load.pendingPromptTokens(), sequence, cache.announcedCount(), cache.announcedDigest(), false, 0, false,
                load.pendingRequests(), load.routers(), scheduler.contextTokens(), costs.cost(),
                /* held */ false);
    }
}
