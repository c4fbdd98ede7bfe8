package dev.warmpath.benchmarks.engine;

import dev.warmpath.protocol.block.HashSettings;
import dev.warmpath.protocol.generate.FailureReason;
import dev.warmpath.protocol.generate.FinishReason;
import dev.warmpath.protocol.generate.GenerateEvent.Usage;
import dev.warmpath.protocol.generate.GenerateRequest;
import dev.warmpath.protocol.generate.LogitRules;
import dev.warmpath.protocol.generate.SamplingParameters;
import dev.warmpath.protocol.generate.StopConditions;
import dev.warmpath.worker.compute.cpu.VectorBackend;
import dev.warmpath.worker.engine.Engine;
import dev.warmpath.worker.engine.EngineLoop;
import dev.warmpath.worker.engine.GenerationListener;
import dev.warmpath.worker.engine.RequestIntake;
import dev.warmpath.worker.kvcache.KvCacheManager;
import dev.warmpath.worker.kvcache.KvCacheSettings;
import dev.warmpath.worker.model.ModelRunner;
import dev.warmpath.worker.model.RunnerSettings;
import dev.warmpath.worker.scheduler.RequestLimits;
import dev.warmpath.worker.scheduler.Scheduler;
import dev.warmpath.worker.scheduler.SchedulerSettings;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.SplittableRandom;
import java.util.concurrent.CountDownLatch;

/**
 * What rules for logits cost those who ask for them: a whole engine on a real model, eight greedy answers side by side,
 * rounds with rules against rounds without, neighbours in changing order. The figure is the median of the ratios of
 * neighbours, for engines that draw one step and several steps ahead: whoever looks back is drawn one at a time.
 * <pre>
 *   java --add-modules jdk.incubator.vector --enable-native-access=ALL-UNNAMED -cp … \
 *        dev.warmpath.benchmarks.engine.LogitRulesCost models/warmpath-tiny [pairs of rounds]
 * </pre>
 */
public final class LogitRulesCost {

    private static final int REQUESTS = 8;
    private static final int PROMPT = 512;
    private static final int DRAWN = 128;
    private static final int BLOCK_SIZE = 16;
    private static final int BLOCKS = 4 * REQUESTS * (PROMPT + DRAWN) / BLOCK_SIZE;
    private static final int WARM_UP_PAIRS = 8;

    private LogitRulesCost() {}

    public static void main(String[] args) throws IOException, InterruptedException {
        Path model = Path.of(args[0]);
        int pairs = args.length > 1 ? Integer.parseInt(args[1]) : 60;
        System.out.printf("%d pairs of rounds, %d prompts of %d tokens, %d drawn after each; time with / without%n",
                pairs, REQUESTS, PROMPT, DRAWN);
        System.out.printf("%6s %-12s %8s %15s%n", "steps", "rules", "time", "quartiles");
        LogitRules penalties = LogitRules.NONE.withPenalties(0.5f, 0.5f, 1.1f);
        LogitRules bias = LogitRules.NONE.withBiases(new int[] {1, 2, 3}, -1, 1, 2);
        for (int steps : new int[] {1, 4}) {
            compare(model, steps, "penalties", penalties, pairs);
            compare(model, steps, "three biases", bias, pairs);
        }
    }

    private static void compare(Path model, int steps, String name, LogitRules rules, int pairs)
            throws IOException, InterruptedException {
        double[] ratios = new double[pairs];
        try (var rig = new Rig(model, steps)) {
            for (int i = -WARM_UP_PAIRS; i < pairs; i++) {
                long first = rig.round(i % 2 == 0 ? rules : LogitRules.NONE);
                long second = rig.round(i % 2 == 0 ? LogitRules.NONE : rules);
                if (i >= 0) {
                    ratios[i] = i % 2 == 0 ? (double) first / second : (double) second / first;
                }
            }
        }
        Arrays.sort(ratios);
        System.out.printf("%6d %-12s %8.3f %7.3f–%.3f%n", steps, name, ratios[pairs / 2], ratios[pairs / 4],
                ratios[3 * pairs / 4]);
    }

    /** One engine with its own model and cache. */
    private static final class Rig implements AutoCloseable {

        private final ModelRunner runner;
        private final Engine engine;
        private final int[][] prompts = new int[REQUESTS][];

        Rig(Path model, int steps) throws IOException {
            var scheduling = SchedulerSettings.of(PROMPT, REQUESTS, REQUESTS).withSteps(steps);
            var settings = RunnerSettings.of(BLOCKS, BLOCK_SIZE, PROMPT, REQUESTS)
                    .withMaxStepsInFlight(scheduling.maxStepsInFlight());
            runner = ModelRunner.load(model, new VectorBackend(1), settings);
            var config = runner.config();
            var cacheSettings = KvCacheSettings.of(BLOCKS, BLOCK_SIZE);
            var cache = new KvCacheManager(cacheSettings);
            var limits = new RequestLimits(config.vocabularySize(), config.contextLength(), cacheSettings,
                    scheduling.mostTokensInFlight());
            var loop = new EngineLoop(new Scheduler(scheduling, limits, cache), cache, runner, changes -> { },
                    () -> { }, System::nanoTime);
            var intake = new RequestIntake(0, HashSettings.ofBlockSize(BLOCK_SIZE), limits, new int[0],
                    scheduling.policy());
            engine = new Engine(loop, intake, System::nanoTime, Duration.ofHours(1), Throwable::printStackTrace)
                    .start();
            var random = new SplittableRandom(1);
            Arrays.setAll(prompts, i -> random.ints(PROMPT, 0, config.vocabularySize()).toArray());
        }

        /** The prompts are cached from the second round on. @return nanoseconds that it took */
        long round(LogitRules rules) throws InterruptedException {
            var over = new CountDownLatch(REQUESTS);
            long start = System.nanoTime();
            for (int i = 0; i < REQUESTS; i++) {
                engine.submit(GenerateRequest.of("r" + i, prompts[i].clone(), SamplingParameters.GREEDY.with(rules),
                        StopConditions.pastTheEnd(DRAWN)), new End(over));
            }
            over.await();
            return System.nanoTime() - start;
        }

        @Override
        public void close() {
            engine.close();
            runner.close();
        }
    }

    private record End(CountDownLatch over) implements GenerationListener {

        @Override
        public void onToken(int token, float logprob) {
            // only the end counts
        }

        @Override
        public void onFinished(FinishReason reason, Usage usage) {
            over.countDown();
        }

        @Override
        public void onFailed(FailureReason reason, String message) {
            throw new IllegalStateException(reason + ": " + message);
        }
    }
}
