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
import java.time.Duration;
import java.util.Arrays;
import java.util.SplittableRandom;
import java.util.concurrent.CountDownLatch;
import java.util.random.RandomGenerator;

/**
 * What prefix caching costs where it cannot help: whole engines on a real model, random prompts of which no two begin
 * alike, caching on against off. Rounds alternate between the two engines, in changing order, so that whatever else
 * the machine does hits both, and every few rounds both engines are made anew, in changing order, since where their
 * arrays happen to lie is worth a percent or two. The figure is the median of the ratios of neighbours.
 *
 * <p>Measured twice. In a pool that one round fills, both engines write to the same blocks again and again, every block
 * is evicted in every round, and what is left is the bookkeeping: hashing, looking up, keying, evicting, announcing. In
 * a pool four times as large, caching keeps the old prompts and so walks through all of it, where without caching the
 * few blocks freed last are taken again: on a processor they are still in its caches, which is a cost of remembering
 * at all.
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
    /** All that one round computes, and the null block. */
    private static final int BLOCKS_OF_A_ROUND = REQUESTS * Math.ceilDiv(PROMPT + DRAWN, BLOCK_SIZE) + 1;
    private static final int BATCHED_TOKENS = 512;
    private static final int WARM_UP_PAIRS = 4;
    private static final int PAIRS_PER_RIG = 10;

    private CachingOverhead() {}

    public static void main(String[] args) throws IOException, InterruptedException {
        Path model = Path.of(args[0]);
        int pairs = args.length > 1 ? Integer.parseInt(args[1]) : 40;
        System.out.printf("%d pairs of rounds of %d prompts of %d tokens, %d drawn after each; caching on / off%n",
                pairs, REQUESTS, PROMPT, DRAWN);
        System.out.printf("%8s %10s %10s %15s%n", "blocks", "evictions", "tokens/s", "quartiles");
        compare(model, BLOCKS_OF_A_ROUND, pairs);
        compare(model, 4 * BLOCKS_OF_A_ROUND, pairs);
    }

    private static void compare(Path model, int blocks, int pairs) throws IOException, InterruptedException {
        double[] ratios = new double[pairs];
        long evictions = 0;
        for (int pair = 0; pair < pairs; ) {
            boolean onFirst = pair / PAIRS_PER_RIG % 2 == 0;
            try (var first = new Rig(model, blocks, onFirst); var second = new Rig(model, blocks, !onFirst)) {
                Rig on = onFirst ? first : second;
                Rig off = onFirst ? second : first;
                for (int i = -WARM_UP_PAIRS; i < PAIRS_PER_RIG && pair < pairs; i++) {
                    long with;
                    long without;
                    if (i % 2 == 0) {
                        with = on.round();
                        without = off.round();
                    } else {
                        without = off.round();
                        with = on.round();
                    }
                    if (i >= 0) {
                        ratios[pair++] = (double) without / with;
                    }
                }
                evictions += on.engine.snapshot().prefixCache().evictions();
            }
        }
        System.out.printf("%8d %10d %10.4f %8.4f–%.4f%n", blocks, evictions,
                quantile(ratios, 0.5), quantile(ratios, 0.25), quantile(ratios, 0.75));
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

        Rig(Path model, int blocks, boolean caching) throws IOException {
            runner = ModelRunner.load(model, new VectorBackend(1),
                    RunnerSettings.of(blocks, BLOCK_SIZE, BATCHED_TOKENS, REQUESTS));
            var config = runner.config();
            var settings = KvCacheSettings.of(blocks, BLOCK_SIZE).withPrefixCaching(caching);
            var cache = new KvCacheManager(settings);
            var scheduling = SchedulerSettings.of(BATCHED_TOKENS, REQUESTS, REQUESTS);
            var limits = new RequestLimits(
                    config.vocabularySize(), config.contextLength(), settings, scheduling.mostTokensInFlight());
            var scheduler = new Scheduler(scheduling, limits, cache);
            var loop = new EngineLoop(scheduler, cache, runner, changes -> { }, () -> { }, System::nanoTime);
            var intake = new RequestIntake(0, HashSettings.ofBlockSize(BLOCK_SIZE), limits, new int[0],
                    scheduling.policy());
            engine = new Engine(loop, intake, System::nanoTime, Duration.ofHours(1), Throwable::printStackTrace).start();
        }

        /** @return nanoseconds that it took */
        long round() throws InterruptedException {
            var over = new CountDownLatch(REQUESTS);
            long start = System.nanoTime();
            for (int i = 0; i < REQUESTS; i++) {
                int[] prompt = random.ints(PROMPT, 0, runner.config().vocabularySize()).toArray();
                engine.submit(GenerateRequest.of("r" + i, prompt, SamplingParameters.GREEDY,
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
