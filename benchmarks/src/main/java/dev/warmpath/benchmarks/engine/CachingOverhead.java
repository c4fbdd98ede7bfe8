package dev.warmpath.benchmarks.engine;

import dev.warmpath.protocol.generate.GenerateRequest;
import dev.warmpath.protocol.generate.SamplingParameters;
import dev.warmpath.protocol.generate.StopConditions;
import dev.warmpath.worker.kvcache.KvCacheSettings;
import dev.warmpath.worker.scheduler.SchedulerSettings;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.SplittableRandom;
import java.util.random.RandomGenerator;
import java.util.stream.IntStream;

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
            // the same prompts for both
            RandomGenerator ofOn = new SplittableRandom(1);
            RandomGenerator ofOff = new SplittableRandom(1);
            try (var first = engine(model, blocks, onFirst); var second = engine(model, blocks, !onFirst)) {
                TimedEngine on = onFirst ? first : second;
                TimedEngine off = onFirst ? second : first;
                for (int i = -WARM_UP_PAIRS; i < PAIRS_PER_RIG && pair < pairs; i++) {
                    long with;
                    long without;
                    if (i % 2 == 0) {
                        with = round(on, ofOn);
                        without = round(off, ofOff);
                    } else {
                        without = round(off, ofOff);
                        with = round(on, ofOn);
                    }
                    if (i >= 0) {
                        ratios[pair++] = (double) without / with;
                    }
                }
                evictions += on.snapshot().prefixCache().evictions();
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

    private static TimedEngine engine(Path model, int blocks, boolean caching) throws IOException {
        return new TimedEngine(model, KvCacheSettings.of(blocks, BLOCK_SIZE).withPrefixCaching(caching),
                SchedulerSettings.of(BATCHED_TOKENS, REQUESTS, REQUESTS));
    }

    /** No two of them begin alike, in any round. */
    private static long round(TimedEngine engine, RandomGenerator random) throws InterruptedException {
        return engine.round(IntStream.range(0, REQUESTS).mapToObj(i -> GenerateRequest.of("r" + i,
                random.ints(PROMPT, 0, engine.vocabularySize()).toArray(), SamplingParameters.GREEDY,
                StopConditions.pastTheEnd(DRAWN))).toList());
    }
}
