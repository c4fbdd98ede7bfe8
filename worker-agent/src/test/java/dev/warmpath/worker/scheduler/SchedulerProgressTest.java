package dev.warmpath.worker.scheduler;

import static dev.warmpath.worker.scheduler.Requests.request;
import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.protocol.generate.SamplingParameters;
import dev.warmpath.protocol.generate.StopConditions;
import dev.warmpath.worker.kvcache.CacheGroup;
import dev.warmpath.worker.kvcache.FreeOrder;
import dev.warmpath.worker.kvcache.KvCacheManager;
import dev.warmpath.worker.kvcache.KvCacheSettings;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Random mixes of requests and settings on pools far too small for them, computed by a {@link FakeDevice}. */
class SchedulerProgressTest {

    private static final int VOCABULARY = 50;
    private static final int WORLDS_PER_SEED = 150;
    private static final int REQUESTS_PER_WORLD = 30;
    private static final int MAX_STEPS = 20_000;

    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4})
    void every_request_ends_and_no_block_stays_held(long seed) {
        long recomputed = 0;
        long swapped = 0;
        long hitTokens = 0;
        for (int i = 0; i < WORLDS_PER_SEED; i++) {
            var world = new World(new Random(seed * WORLDS_PER_SEED + i));
            try {
                world.run();
            } catch (AssertionError | RuntimeException e) {
                throw new AssertionError("seed " + seed + ", world " + i + ": " + world.settings + ", "
                        + world.cacheSettings, e);
            }
            recomputed += world.scheduler.recomputePreemptions();
            swapped += world.scheduler.swapPreemptions();
            hitTokens += world.cache.stats().hitTokens();
        }
        assertThat(recomputed).as("pools were tight").isGreaterThan(WORLDS_PER_SEED);
        assertThat(swapped).as("swap space was used").isGreaterThan(WORLDS_PER_SEED / 2);
        assertThat(hitTokens).as("prefixes were shared").isGreaterThan(WORLDS_PER_SEED);
    }

    private static final class World {
        private final Random random;
        private final boolean mishaps;
        private final int blockSize;
        private final KvCacheSettings cacheSettings;
        private final KvCacheManager cache;
        private final SchedulerSettings settings;
        private final Scheduler scheduler;
        private final FakeDevice device;
        private final ArrayDeque<Flying> flying = new ArrayDeque<>();
        private final List<Sequence> accepted = new ArrayList<>();
        private int refused;

        private record Flying(ScheduledBatch batch, int[][] drawn) {}

        World(Random random) {
            this.random = random;
            this.mishaps = random.nextBoolean();
            this.blockSize = 1 + random.nextInt(4);
            int contextLength = 8 + random.nextInt(24);
            this.settings = schedulerSettings(contextLength);
            this.cacheSettings = cacheSettings(contextLength);
            cache = new KvCacheManager(cacheSettings);
            scheduler = new Scheduler(settings, new RequestLimits(
                    VOCABULARY, contextLength, cacheSettings, settings.mostTokensInFlight()), cache);
            device = new FakeDevice(cacheSettings, this::draw);
        }

        private SchedulerSettings schedulerSettings(int contextLength) {
            boolean chunked = random.nextInt(4) > 0;
            int maxSequences = 1 + random.nextInt(6);
            int maxBatchedTokens = chunked ? maxSequences + random.nextInt(20) : contextLength + random.nextInt(20);
            boolean strict = random.nextInt(4) == 0;
            return SchedulerSettings
                    .of(Math.max(maxBatchedTokens, maxSequences), maxSequences, REQUESTS_PER_WORLD / 2)
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

        void run() {
            for (int step = 0; accepted.size() + refused < REQUESTS_PER_WORLD || !scheduler.isIdle(); step++) {
                assertThat(step).as("steps").isLessThan(MAX_STEPS);
                if (accepted.size() + refused < REQUESTS_PER_WORLD && random.nextInt(3) == 0) {
                    submit(step);
                }
                if (mishaps && random.nextInt(20) == 0 && !accepted.isEmpty()) {
                    scheduler.cancel(accepted.get(random.nextInt(accepted.size())));
                }
                turn(step);
                scheduler.checkIntegrity();
                if (random.nextInt(4) == 0) {
                    cache.drainChanges();
                    scheduler.checkIntegrity();
                }
            }
            assertThat(accepted).allMatch(Sequence::isOver);
            if (!mishaps) {
                assertThat(accepted).extracting(Sequence::state).hasOnlyElementsOfType(SequenceState.Finished.class);
            }
            assertThat(cache.freeBlocks()).isEqualTo(cache.usableBlocks());
            assertThat(cache.freeHostBlocks()).isEqualTo(cache.hostBlocks());
            assertThat(cache.resetPrefixCache()).isTrue();
        }

        private void submit(int step) {
            int[] prompt = random.ints(1 + random.nextInt(20), 3, 5).toArray();
            long deadline = mishaps && random.nextInt(6) == 0 ? step + random.nextInt(60) : Sequence.NO_DEADLINE;
            int maxTokens = 1 + random.nextInt(25);
            var stop = StopConditions.maxTokens(maxTokens).withMinTokens(random.nextInt(Math.min(4, maxTokens) + 1));
            Sequence leader = request("r" + step, blockSize, prompt, stop, random.nextInt(3), deadline);
            List<Sequence> group = new ArrayList<>(List.of(leader));
            for (int followers = random.nextInt(4) == 0 ? 1 + random.nextInt(3) : 0; followers > 0; followers--) {
                group.add(leader.follower(SamplingParameters.GREEDY));
            }
            for (Sequence sequence : group) {
                switch (scheduler.submit(sequence, step)) {
                    case Submission.Accepted() -> accepted.add(sequence);
                    case Submission.Refused(var reason, var message) -> refused++;
                }
            }
        }

        private void turn(int step) {
            ScheduledBatch batch = scheduler.schedule(step);
            assertThat(batch.totalTokens()).isLessThanOrEqualTo(settings.maxBatchedTokens());
            assertThat(scheduler.runningCount()).isLessThanOrEqualTo(settings.maxSequences());
            device.copy(cache.copies());
            if (!batch.isEmpty()) {
                flying.addLast(new Flying(batch, device.run(batch)));
            }
            if (!flying.isEmpty() && (batch.isEmpty() || !scheduler.mayWorkAhead())) {
                settle(flying.getFirst());
            }
        }

        private void settle(Flying oldest) {
            for (int[] drawn : oldest.drawn) {
                if (mishaps && random.nextInt(25) == 0) {
                    device.fail(flying.stream().map(Flying::batch).toList());
                    flying.clear();
                    scheduler.fail("by chance");
                    return;
                }
                scheduler.settle(oldest.batch, drawn);
                if (mishaps && random.nextInt(20) == 0) {
                    scheduler.cancel(accepted.get(random.nextInt(accepted.size())));
                }
            }
            device.settled();
            flying.removeFirst();
        }

        /** Sometimes the end of the sequence; otherwise a function of all tokens, as with a greedy model. */
        private int draw(List<Integer> tokens) {
            return random.nextInt(30) == 0 ? Requests.EOS : 3 + Math.floorMod(tokens.hashCode(), 2);
        }
    }
}
