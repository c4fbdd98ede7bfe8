package dev.warmpath.worker.scheduler;

import static dev.warmpath.worker.scheduler.Requests.request;
import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.protocol.generate.SamplingParameters;
import dev.warmpath.protocol.generate.StopConditions;
import dev.warmpath.worker.kvcache.BlockCopies;
import dev.warmpath.worker.kvcache.CacheGroup;
import dev.warmpath.worker.kvcache.FreeOrder;
import dev.warmpath.worker.kvcache.KvCacheManager;
import dev.warmpath.worker.kvcache.KvCacheSettings;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;

/**
 * Settings, requests and mishaps drawn from one seed, on a pool far too small for them, computed by a
 * {@link FakeDevice} and announced to a {@link Listener}. One operation after the other, in any order, and after each
 * the books are audited and the announced set is held against what is really there.
 */
final class RandomScheduling {

    private static final int VOCABULARY = 50;
    private static final int REQUESTS = 30;
    private static final int MOST_OPERATIONS = 100_000;

    private final Random random;
    private final boolean mishaps;
    /** One in so many operations submits: with many, the engine falls idle now and then. */
    private final int submitChance;
    private final int blockSize;
    private final KvCacheSettings cacheSettings;
    private final KvCacheManager cache;
    private final SchedulerSettings settings;
    private final Scheduler scheduler;
    private final FakeDevice device;
    private final Listener listener;
    private final ArrayDeque<Flying> flying = new ArrayDeque<>();
    private final List<Sequence> accepted = new ArrayList<>();
    /** Leading full blocks that a step which succeeded has left with a running sequence. */
    private final Map<Sequence, Integer> settledBlocks = new IdentityHashMap<>();
    private int asked;
    private long nowNanos;
    private long operations;
    private long resets;
    private long failures;
    private long unusableRows;
    private long copiesOnWrite;

    /** @param fullBlocks by entry, as of when the batch was scheduled */
    private record Flying(ScheduledBatch batch, int[][] drawn, int[] fullBlocks) {}

    /** What happened; to be sure that it all did. */
    record Seen(long operations, long recomputed, long swapped, long hitTokens, long resets, long failures,
            long unusableRows, long copiesOnWrite, long expired, long cancelled, long announced) {

        static final Seen NOTHING = new Seen(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);

        Seen plus(Seen o) {
            return new Seen(operations + o.operations, recomputed + o.recomputed, swapped + o.swapped,
                    hitTokens + o.hitTokens, resets + o.resets, failures + o.failures, unusableRows + o.unusableRows,
                    copiesOnWrite + o.copiesOnWrite, expired + o.expired, cancelled + o.cancelled, announced + o.announced);
        }
    }

    RandomScheduling(long seed) {
        random = new Random(seed);
        mishaps = random.nextBoolean();
        submitChance = 2 + random.nextInt(random.nextInt(4) == 0 ? 60 : 4);
        blockSize = 1 + random.nextInt(4);
        int contextLength = 8 + random.nextInt(24);
        settings = schedulerSettings(contextLength);
        cacheSettings = cacheSettings(contextLength);
        cache = new KvCacheManager(cacheSettings);
        scheduler = new Scheduler(settings, new RequestLimits(
                VOCABULARY, contextLength, cacheSettings, settings.mostTokensInFlight()), cache);
        device = new FakeDevice(cacheSettings, this::draw);
        listener = new Listener(cache, cacheSettings, device);
    }

    private SchedulerSettings schedulerSettings(int contextLength) {
        boolean chunked = random.nextInt(4) > 0;
        int maxSequences = 1 + random.nextInt(6);
        int maxBatchedTokens = chunked ? maxSequences + random.nextInt(20) : contextLength + random.nextInt(20);
        boolean strict = random.nextInt(4) == 0;
        return SchedulerSettings
                .of(Math.max(maxBatchedTokens, maxSequences), maxSequences, REQUESTS / 2)
                .withChunkedPrefill(chunked)
                .withLongPrefillThreshold(chunked && random.nextBoolean() ? 1 + random.nextInt(6) : 0)
                .withPolicy(random.nextBoolean() ? SchedulingPolicy.FCFS : SchedulingPolicy.PRIORITY)
                .withSteps(random.nextBoolean() ? 1 : 2 + random.nextInt(4))
                .withAsyncScheduling(random.nextBoolean())
                .withReserveWholeSequence(random.nextBoolean())
                .withOvertakeLimitNanos(strict ? 0 : 1 + random.nextInt(100))
                .withCacheAwareWindow(strict || random.nextBoolean() ? 0 : 1 + random.nextInt(12));
    }

    private KvCacheSettings cacheSettings(int contextLength) {
        var roomy = KvCacheSettings.of(1_000, blockSize).withMaxLength(contextLength).withGroups(groups());
        int mostBlocks = roomy.mostBlocks(contextLength, settings.mostTokensInFlight());
        return KvCacheSettings.of(1 + mostBlocks + random.nextInt(mostBlocks), blockSize)
                .withMaxLength(contextLength)
                .withGroups(roomy.groups())
                .withPrefixCaching(random.nextInt(5) > 0)
                .withVerifyTokens(random.nextBoolean())
                .withFreeOrder(FreeOrder.values()[random.nextInt(2)])
                .withWatermark(random.nextInt(3) * 0.15)
                .withHostBlockCount(random.nextBoolean() ? 0 : random.nextInt(2 * mostBlocks));
    }

    private List<CacheGroup> groups() {
        var full = new CacheGroup.FullAttention();
        var window = new CacheGroup.SlidingWindow(1 + random.nextInt(10));
        return switch (random.nextInt(4)) {
            case 0 -> List.of(full, window);
            case 1 -> List.of(window);
            default -> List.of(full);
        };
    }

    Seen run() {
        while (asked < REQUESTS || !scheduler.isIdle()) {
            assertThat(operations).as("operations").isLessThan(MOST_OPERATIONS);
            operate();
            operations++;
            check();
        }
        assertThat(accepted).allMatch(Sequence::isOver);
        if (!mishaps) {
            assertThat(accepted).extracting(Sequence::state).hasOnlyElementsOfType(SequenceState.Finished.class);
        }
        assertThat(cache.freeBlocks()).isEqualTo(cache.usableBlocks());
        assertThat(cache.freeHostBlocks()).isEqualTo(cache.hostBlocks());
        reset();
        check();
        long recomputed = scheduler.recomputePreemptions();
        long swapped = scheduler.swapPreemptions();
        return new Seen(operations + recomputed + swapped, recomputed, swapped, cache.stats().hitTokens(), resets,
                failures, unusableRows, copiesOnWrite, ended(SequenceState.Failed.class) - failures - unusableRows,
                ended(SequenceState.Cancelled.class), listener.heard());
    }

    private long ended(Class<?> how) {
        return accepted.stream().filter(sequence -> how.isInstance(sequence.state())).count();
    }

    private void operate() {
        if (asked < REQUESTS && random.nextInt(submitChance) == 0) {
            submit();
            return;
        }
        switch (random.nextInt(mishaps ? 20 : 17)) {
            case 0 -> reset();
            case 17, 18 -> cancel();
            case 19 -> nowNanos += random.nextInt(40);
            default -> turn();
        }
    }

    private void submit() {
        int[] prompt = random.ints(1 + random.nextInt(20), 3, 5).toArray();
        long deadline = mishaps && random.nextInt(6) == 0 ? nowNanos + random.nextInt(60) : Sequence.NO_DEADLINE;
        int maxTokens = 1 + random.nextInt(25);
        var stop = StopConditions.maxTokens(maxTokens).withMinTokens(random.nextInt(Math.min(4, maxTokens) + 1));
        Sequence leader = request("r" + asked, blockSize, prompt, stop, random.nextInt(3), deadline);
        List<Sequence> group = new ArrayList<>(List.of(leader));
        for (int followers = random.nextInt(4) == 0 ? 1 + random.nextInt(3) : 0; followers > 0; followers--) {
            group.add(leader.follower(SamplingParameters.GREEDY));
        }
        asked += group.size();
        if (scheduler.runningCount() + scheduler.waitingCount() + group.size() > settings.maxAlive()) {
            return;
        }
        for (Sequence sequence : group) {
            if (scheduler.submit(sequence, nowNanos) instanceof Submission.Accepted) {
                accepted.add(sequence);
                listener.know(sequence.tokens());
            }
        }
    }

    private void cancel() {
        if (!accepted.isEmpty()) {
            Sequence sequence = accepted.get(random.nextInt(accepted.size()));
            boolean alive = !sequence.isOver();
            assertThat(scheduler.cancel(sequence)).isEqualTo(alive);
        }
    }

    private void reset() {
        boolean possible = cache.freeBlocks() == cache.usableBlocks();
        assertThat(cache.resetPrefixCache()).isEqualTo(possible);
        if (possible) {
            resets++;
            listener.hear(cache.drainChanges());
            listener.requireNothing();
        }
    }

    private void turn() {
        nowNanos++;
        ScheduledBatch batch = scheduler.schedule(nowNanos);
        assertThat(batch.totalTokens()).isLessThanOrEqualTo(settings.maxBatchedTokens());
        assertThat(scheduler.runningCount()).isLessThanOrEqualTo(settings.maxSequences());
        countCopies(cache.copies());
        device.copy(cache.copies());
        if (!batch.isEmpty()) {
            flying.addLast(new Flying(batch, device.run(batch), fullBlocks(batch)));
        }
        if (!flying.isEmpty() && (batch.isEmpty() || !scheduler.mayWorkAhead())) {
            settle(flying.getFirst());
        }
    }

    private void countCopies(BlockCopies copies) {
        for (int i = 0; i < copies.size(); i++) {
            copiesOnWrite += copies.direction(i) == BlockCopies.Direction.WITHIN_DEVICE ? 1 : 0;
        }
    }

    private int[] fullBlocks(ScheduledBatch batch) {
        int[] fullBlocks = new int[batch.size()];
        for (int entry = 0; entry < batch.size(); entry++) {
            var tokens = batch.sequence(entry).tokens();
            fullBlocks[entry] = Math.min(tokens.computedTokens(), tokens.tokenCount()) / blockSize;
        }
        return fullBlocks;
    }

    private void settle(Flying oldest) {
        for (int[] drawn : oldest.drawn) {
            if (mishaps && random.nextInt(25) == 0) {
                device.fail(flying.stream().map(Flying::batch).toList());
                flying.clear();
                failures += scheduler.fail("by chance").size();
                return;
            }
            spoilByChance(drawn);
            scheduler.settle(oldest.batch, drawn);
            countUnusable(oldest.batch);
            if (mishaps && random.nextInt(20) == 0) {
                cancel();
            }
        }
        device.settled();
        flying.removeFirst();
        for (int entry = 0; entry < oldest.fullBlocks.length; entry++) {
            settledBlocks.put(oldest.batch.sequence(entry), oldest.fullBlocks[entry]);
        }
        if (!flying.isEmpty() && !scheduler.withholdsNews()) {
            listener.hear(cache.drainChanges(oldest.batch.eventCount()));
        }
    }

    /** Whatever the device says, the books stay right. */
    private void spoilByChance(int[] drawn) {
        if (mishaps && drawn.length > 0 && random.nextInt(25) == 0) {
            drawn[random.nextInt(drawn.length)] = ScheduledBatch.UNUSABLE;
            settledBlocks.clear();
            flying.forEach(each -> Arrays.fill(each.fullBlocks, 0)); // given before these were taken back
        }
    }

    private void countUnusable(ScheduledBatch batch) {
        for (int entry = 0; entry < batch.size(); entry++) {
            if (batch.failed(entry)) {
                assertThat(batch.sequence(entry).state()).isInstanceOf(SequenceState.Failed.class);
                unusableRows++;
            }
        }
    }

    /** With nothing in flight, all that changed is so; until then the news of steps in flight wait. */
    private void check() {
        scheduler.checkIntegrity();
        accepted.forEach(sequence -> listener.learn(sequence.tokens()));
        if (flying.isEmpty()) {
            listener.hear(cache.drainChanges());
            scheduler.checkIntegrity();
            listener.requirePresent();
        }
        listener.requireClosed();
        settledBlocks.keySet().removeIf(sequence -> sequence.state() != SequenceState.Alive.RUNNING);
        settledBlocks.forEach((sequence, blocks) -> listener.requireAnnounced(sequence.tokens(), blocks));
    }

    /** Sometimes the end of the sequence; otherwise a function of all tokens, as with a greedy model. */
    private int draw(List<Integer> tokens) {
        return random.nextInt(30) == 0 ? Requests.EOS : 3 + Math.floorMod(tokens.hashCode(), 2);
    }

    @Override
    public String toString() {
        return "operation " + operations + " of " + settings + ", " + cacheSettings;
    }
}
