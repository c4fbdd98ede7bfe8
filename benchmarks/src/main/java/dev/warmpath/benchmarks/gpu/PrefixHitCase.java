package dev.warmpath.benchmarks.gpu;

import dev.warmpath.protocol.block.HashSettings;
import dev.warmpath.protocol.generate.FailureReason;
import dev.warmpath.protocol.generate.FinishReason;
import dev.warmpath.protocol.generate.GenerateEvent.Usage;
import dev.warmpath.protocol.generate.GenerateRequest;
import dev.warmpath.protocol.generate.SamplingParameters;
import dev.warmpath.protocol.generate.StopConditions;
import dev.warmpath.worker.compute.CacheType;
import dev.warmpath.worker.engine.Engine;
import dev.warmpath.worker.engine.EngineLoop;
import dev.warmpath.worker.engine.GenerationListener;
import dev.warmpath.worker.engine.RequestIntake;
import dev.warmpath.worker.engine.WarmUp;
import dev.warmpath.worker.kvcache.KvCacheManager;
import dev.warmpath.worker.kvcache.KvCacheSettings;
import dev.warmpath.worker.model.ModelRunner;
import dev.warmpath.worker.model.RunnerSettings;
import dev.warmpath.worker.scheduler.RequestLimits;
import dev.warmpath.worker.scheduler.Scheduler;
import dev.warmpath.worker.scheduler.SchedulerSettings;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;
import java.util.random.RandomGenerator;

/**
 * Time to the first token through a whole engine in this process, of prompts that nobody has seen and of prompts whose
 * beginning is cached, in turn. The gain is uncached over cached; beside it stands the arithmetic bound, the ratio of
 * the least times that the card's yardsticks allow either.
 */
final class PrefixHitCase implements GpuCase {

    private static final int SEQUENCES = 4;
    private static final int PROMPTS_IN_POOL = 16;
    private static final long TIMEOUT_SECONDS = 60;

    private final Sizes sizes;
    private final List<Goal> goals = new ArrayList<>();

    PrefixHitCase(Sizes sizes) {
        this.sizes = sizes;
        for (Sizes.Prompt prompt : sizes.prompts()) {
            goals.add(Goal.times(prompt.name(), prompt.leastGain(), "the uncached speed"));
        }
    }

    @Override
    public List<Goal> goals() {
        return goals;
    }

    @Override
    public void measure(GpuBench bench, Consumer<Row> rows) throws IOException, InterruptedException {
        try (var rig = new Rig(bench)) {
            rig.warmUp(sizes.engineWarmUp());
            for (int i = 0; i < goals.size(); i++) {
                rows.accept(measure(bench, rig, sizes.prompts().get(i), goals.get(i)));
            }
        }
    }

    private Row measure(GpuBench bench, Rig rig, Sizes.Prompt prompt, Goal goal) throws InterruptedException {
        int[] shared = rig.randomTokens(prompt.tokens());
        rig.firstToken(shared, 0);
        long[] uncached = new long[sizes.repetitions()];
        long[] cached = new long[sizes.repetitions()];
        for (int i = -sizes.warmUps(); i < sizes.repetitions(); i++) {
            long without = rig.firstToken(rig.randomTokens(prompt.tokens()), 0);
            int[] hitting = rig.randomTokens(prompt.tokens());
            System.arraycopy(shared, 0, hitting, 0, prompt.cached());
            long with = rig.firstToken(hitting, prompt.cached());
            if (i >= 0) {
                uncached[i] = without;
                cached[i] = with;
            }
        }
        return row(bench, prompt, goal, Times.of(uncached), Times.of(cached));
    }

    private Row row(GpuBench bench, Sizes.Prompt prompt, Goal goal, Times uncached, Times cached) {
        LlamaShape model = sizes.model();
        double bound = model.firstTokenFloorNanos(prompt.tokens(), 0, bench.card())
                / model.firstTokenFloorNanos(prompt.tokens(), prompt.cached(), bench.card());
        return goal.reached(
                "%.2f ms uncached, %.2f ms cached".formatted(uncached.median() / 1e6, cached.median() / 1e6),
                "%.1f × by arithmetic".formatted(bound), (double) uncached.median() / cached.median(),
                Map.of("uncached", uncached, "cached", cached));
    }

    /** An engine on the model, with room for the prompts of some rounds. */
    private static final class Rig implements AutoCloseable {

        private final ModelRunner runner;
        private final Engine engine;
        private final RandomGenerator random = new SplittableRandom(6);
        private int requests;

        Rig(GpuBench bench) throws IOException {
            Sizes sizes = bench.sizes();
            int longest = sizes.prompts().stream().mapToInt(Sizes.Prompt::tokens).max().orElseThrow();
            int blocks = 1 + PROMPTS_IN_POOL * Math.ceilDiv(longest + 1, AttentionWorld.BLOCK_TOKENS);
            var cacheSettings = KvCacheSettings.of(blocks, AttentionWorld.BLOCK_TOKENS);
            var cache = new KvCacheManager(cacheSettings);
            var scheduling = SchedulerSettings.of(sizes.maxBatchedTokens(), SEQUENCES, SEQUENCES)
                    .withAsyncScheduling(true);
            runner = ModelRunner.load(bench.modelDirectory(), bench.open(CacheType.BF16),
                    RunnerSettings.of(blocks, AttentionWorld.BLOCK_TOKENS, sizes.maxBatchedTokens(), SEQUENCES)
                            .withMaxStepsInFlight(scheduling.maxStepsInFlight()));
            var config = runner.config();
            var limits = new RequestLimits(config.vocabularySize(), config.contextLength(), cacheSettings,
                    scheduling.mostTokensInFlight());
            var loop = new EngineLoop(new Scheduler(scheduling, limits, cache), cache, runner, changes -> { },
                    () -> { }, System::nanoTime);
            var intake = new RequestIntake(0, HashSettings.ofBlockSize(AttentionWorld.BLOCK_TOKENS), limits,
                    new int[0], scheduling.policy());
            engine = new Engine(loop, intake, System::nanoTime, Duration.ofHours(1), Throwable::printStackTrace).start();
        }

        void warmUp(Duration duration) throws InterruptedException {
            if (duration.isPositive()) {
                new WarmUp(engine, runner).run(duration);
            }
        }

        int[] randomTokens(int count) {
            return random.ints(count, 0, runner.config().vocabularySize()).toArray();
        }

        /**
         * @param cached tokens that must be found in the cache
         * @return nanoseconds from handing the request over until its first token was heard
         * @throws IllegalStateException if the request failed or another part of it was cached
         */
        long firstToken(int[] prompt, int cached) throws InterruptedException {
            var answer = new Answer(System.nanoTime(), new CompletableFuture<>());
            engine.submit(GenerateRequest.of("r" + requests++, prompt, SamplingParameters.GREEDY,
                    StopConditions.pastTheEnd(1)), answer);
            try {
                Answered answered = answer.done.get(TIMEOUT_SECONDS, TimeUnit.SECONDS);
                if (answered.usage().cachedTokens() != cached) {
                    throw new IllegalStateException("%d of %d tokens were cached, not %d".formatted(
                            answered.usage().cachedTokens(), prompt.length, cached));
                }
                return answered.nanos();
            } catch (ExecutionException | TimeoutException e) {
                throw new IllegalStateException("a request failed: " + e.getMessage(), e);
            }
        }

        @Override
        public void close() {
            engine.close();
            runner.close();
        }
    }

    private record Answered(long nanos, Usage usage) {}

    /** Notes when the first token came. */
    private static final class Answer implements GenerationListener {

        private final long start;
        private final CompletableFuture<Answered> done;
        private long nanos;

        Answer(long start, CompletableFuture<Answered> done) {
            this.start = start;
            this.done = done;
        }

        @Override
        public void onToken(int token, float logprob) {
            nanos = System.nanoTime() - start;
        }

        @Override
        public void onFinished(FinishReason reason, Usage usage) {
            done.complete(new Answered(nanos, usage));
        }

        @Override
        public void onFailed(FailureReason reason, String message) {
            done.completeExceptionally(new IllegalStateException(reason + ": " + message));
        }
    }
}
