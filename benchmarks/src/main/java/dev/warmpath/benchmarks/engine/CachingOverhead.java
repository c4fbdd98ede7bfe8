package dev.warmpath.benchmarks.engine;

import dev.warmpath.protocol.block.HashSettings;
import dev.warmpath.protocol.generate.FailureReason;
import dev.warmpath.protocol.generate.FinishReason;
import dev.warmpath.protocol.generate.GenerateEvent.Usage;
import dev.warmpath.protocol.generate.GenerateRequest;
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
import java.util.Arrays;
import java.util.SplittableRandom;
import java.util.concurrent.CountDownLatch;
import java.util.random.RandomGenerator;

/**
 * What prefix caching costs where it cannot help: whole engines on a real model, random prompts of which no two begin
 * alike, caching on against off. Rounds alternate between the two engines, in changing order, so that whatever else
 * the machine does hits both; the figure is the median of the ratios of neighbours. The pool is small enough that every
 * round evicts.
 * <pre>
 *   java --add-modules jdk.incubator.vector --enable-native-access=ALL-UNNAMED -cp … \
 *        dev.warmpath.benchmarks.engine.CachingOverhead models/warmpath-tiny [pairs of rounds]
 * </pre>
 */
public final class CachingOverhead {

    private static final int REQUESTS = 8;
    private static final int PROMPT = 512;
    private static final int DRAWN = 64;
    private static final int BLOCK_SIZE = 16;
    private static final int BLOCKS = 1_024;
    private static final int BATCHED_TOKENS = 512;
    private static final int WARM_UP_PAIRS = 4;

    private CachingOverhead() {}

    public static void main(String[] args) throws IOException, InterruptedException {
        Path model = Path.of(args[0]);
        int pairs = args.length > 1 ? Integer.parseInt(args[1]) : 40;
        try (var on = new Rig(model, true); var off = new Rig(model, false)) {
            for (int pair = 0; pair < WARM_UP_PAIRS; pair++) {
                on.round();
                off.round();
            }
            double[] speedOn = new double[pairs];
            double[] speedOff = new double[pairs];
            double[] ratios = new double[pairs];
            for (int pair = 0; pair < pairs; pair++) {
                boolean onFirst = pair % 2 == 0;
                double first = (onFirst ? on : off).round();
                double second = (onFirst ? off : on).round();
                speedOn[pair] = onFirst ? first : second;
                speedOff[pair] = onFirst ? second : first;
                ratios[pair] = speedOn[pair] / speedOff[pair];
            }
            System.out.printf("%d rounds each of %d prompts of %d tokens, %d drawn after each; tokens/s, medians%n",
                    pairs, REQUESTS, PROMPT, DRAWN);
            System.out.printf("caching on  %8.0f   (%d hits, %d evictions)%n", median(speedOn),
                    on.engine.snapshot().hitTokens(), on.engine.snapshot().evictions());
            System.out.printf("caching off %8.0f%n", median(speedOff));
            System.out.printf("on / off    %8.4f   quartiles %.4f to %.4f%n", median(ratios), quantile(ratios, 0.25),
                    quantile(ratios, 0.75));
        }
    }

    private static double median(double[] values) {
        return quantile(values, 0.5);
    }

    private static double quantile(double[] values, double share) {
        double[] sorted = values.clone();
        Arrays.sort(sorted);
        return sorted[(int) Math.round(share * (sorted.length - 1))];
    }

    /** One engine with its own model and cache. */
    private static final class Rig implements AutoCloseable {

        private final ModelRunner runner;
        private final Engine engine;
        private final RandomGenerator random = new SplittableRandom(1);

        Rig(Path model, boolean caching) throws IOException {
            runner = ModelRunner.load(model, new VectorBackend(1),
                    RunnerSettings.of(BLOCKS, BLOCK_SIZE, BATCHED_TOKENS, REQUESTS));
            var config = runner.config();
            var settings = KvCacheSettings.of(BLOCKS, BLOCK_SIZE).withPrefixCaching(caching);
            var cache = new KvCacheManager(settings);
            var scheduling = SchedulerSettings.of(BATCHED_TOKENS, REQUESTS, REQUESTS);
            var limits = new RequestLimits(
                    config.vocabularySize(), config.contextLength(), settings, scheduling.mostTokensInFlight());
            var scheduler = new Scheduler(scheduling, limits, cache);
            var loop = new EngineLoop(
                    scheduler, cache, runner, REQUESTS, REQUESTS, changes -> { }, System::nanoTime);
            var intake = new RequestIntake(0, HashSettings.ofBlockSize(BLOCK_SIZE), limits, new int[0],
                    scheduling.policy());
            engine = new Engine(loop, intake, System::nanoTime, Throwable::printStackTrace).start();
        }

        /** @return tokens computed per second */
        double round() throws InterruptedException {
            var over = new CountDownLatch(REQUESTS);
            long start = System.nanoTime();
            for (int i = 0; i < REQUESTS; i++) {
                int[] prompt = random.ints(PROMPT, 0, runner.config().vocabularySize()).toArray();
                engine.submit(GenerateRequest.of("r" + i, prompt, SamplingParameters.GREEDY,
                        new StopConditions(DRAWN, new int[0], true)), new End(over));
            }
            over.await();
            return REQUESTS * (PROMPT + DRAWN - 1) * 1e9 / (System.nanoTime() - start);
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
