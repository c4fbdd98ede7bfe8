package dev.warmpath.benchmarks.engine;

import dev.warmpath.protocol.generate.GenerateRequest;
import dev.warmpath.protocol.generate.SamplingParameters;
import dev.warmpath.protocol.generate.StopConditions;
import dev.warmpath.worker.kvcache.KvCacheSettings;
import dev.warmpath.worker.poolfeed.PoolFeed;
import dev.warmpath.worker.scheduler.SchedulerSettings;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;

/**
 * What it costs an engine that its pool is watched: a whole engine with a pool of 100,000 blocks, all of them cached,
 * rounds with a reader of the pool's feed against rounds without, neighbours in changing order. The figure is the
 * median of the ratios of neighbours, in processor time of the engine's thread, which others here disturb least;
 * rounds without against others without show what noise is left. A block has one token, so that the model's memory is
 * small, and every token that is computed changes a block, sixteen times as many as usual.
 *
 * <p>Beside it what the feed's own thread takes for a sample, comparing and encoding, and the bytes that a reader gets.
 * <pre>
 *   java -Xmx3g --add-modules jdk.incubator.vector --enable-native-access=ALL-UNNAMED \
 *        -cp benchmarks/target/classes:$(cat benchmarks/target/classpath) \
 *        dev.warmpath.benchmarks.engine.PoolFeedCost models/warmpath-tiny [pairs of rounds]
 * </pre>
 */
public final class PoolFeedCost {

    private static final int BLOCKS = 100_001;
    private static final int REQUESTS = 8;
    private static final int PROMPT = 256;
    private static final int DRAWN = 128;
    private static final int WARM_UP_PAIRS = 2;
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

    private PoolFeedCost() {}

    public static void main(String[] args) throws IOException, InterruptedException {
        int pairs = args.length > 1 ? Integer.parseInt(args[1]) : 20;
        try (var engine = new TimedEngine(Path.of(args[0]), KvCacheSettings.of(BLOCKS, /* blockSize */ 1),
                SchedulerSettings.of(512, REQUESTS, REQUESTS))) {
            var random = new SplittableRandom(1);
            while (engine.snapshot().prefixCache().evictions() == 0) {
                round(engine, random, 1_024, 1);
            }
            System.out.printf("%d pairs of rounds, %d prompts of %d tokens, %d drawn after each; processor time of the "
                    + "engine's thread, watched / not%n", pairs, REQUESTS, PROMPT, DRAWN);
            compare(engine, random, pairs, false);
            compare(engine, random, pairs, true);
        }
    }

    private static void compare(TimedEngine engine, SplittableRandom random, int pairs, boolean watches)
            throws InterruptedException {
        double[] ratios = new double[pairs];
        var reader = new Counting();
        for (int i = -WARM_UP_PAIRS; i < pairs; i++) {
            boolean watchedFirst = i % 2 == 0;
            long first = watchedFirst && watches ? watched(engine, random, reader)
                    : round(engine, random, PROMPT, DRAWN);
            long second = !watchedFirst && watches ? watched(engine, random, reader)
                    : round(engine, random, PROMPT, DRAWN);
            if (i >= 0) {
                ratios[i] = watchedFirst ? (double) first / second : (double) second / first;
            }
        }
        Arrays.sort(ratios);
        System.out.printf("%-12s %8.4f (%.4f–%.4f)%n", watches ? "a reader" : "nobody", ratios[pairs / 2],
                ratios[pairs / 4], ratios[3 * pairs / 4]);
        if (watches) {
            reader.report();
        }
    }

    private static long watched(TimedEngine engine, SplittableRandom random, Counting reader)
            throws InterruptedException {
        var feed = new PoolFeed(engine.engine());
        feed.attach(reader);
        long start = System.nanoTime();
        long nanos = round(engine, random, PROMPT, DRAWN);
        reader.watchedNanos += System.nanoTime() - start;
        reader.feedNanos += THREADS.getThreadCpuTime(threadId("pool-feed"));
        feed.detach(reader);
        return nanos;
    }

    /** @return processor time in nanoseconds */
    private static long round(TimedEngine engine, SplittableRandom random, int prompt, int drawn)
            throws InterruptedException {
        long engineThread = threadId("engine");
        List<GenerateRequest> requests = new ArrayList<>();
        for (int i = 0; i < REQUESTS; i++) {
            requests.add(GenerateRequest.of("r" + i, random.ints(prompt, 0, engine.vocabularySize()).toArray(),
                    SamplingParameters.GREEDY, StopConditions.pastTheEnd(drawn)));
        }
        long before = THREADS.getThreadCpuTime(engineThread);
        engine.round(requests);
        return THREADS.getThreadCpuTime(engineThread) - before;
    }

    private static long threadId(String name) {
        return Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().equals(name)).findFirst().orElseThrow().threadId();
    }

    /** Takes everything, and keeps sizes. */
    private static final class Counting implements PoolFeed.Reader {

        /** Behind the frame's length and the version. */
        private static final int FLAGS_AT = 5;

        private final List<Integer> whole = new ArrayList<>();
        private final List<Integer> changes = new ArrayList<>();
        private long watchedNanos;
        private long feedNanos;

        @Override
        public boolean isReady() {
            return true;
        }

        @Override
        public synchronized void take(byte[] frame) {
            ((frame[FLAGS_AT] & 1) != 0 ? whole : changes).add(frame.length);
        }

        @Override
        public void end() {
            throw new IllegalStateException("the engine has stopped");
        }

        synchronized void report() {
            int samples = whole.size() + changes.size();
            System.out.printf("%d samples in %.1f s, %.2f ms of the feed's thread each%n", samples,
                    watchedNanos / 1e9, feedNanos / 1e6 / samples);
            System.out.printf("bytes: whole frames %,.0f, changes %,.0f%n", mean(whole), mean(changes));
        }

        private static double mean(List<Integer> sizes) {
            return sizes.stream().mapToInt(Integer::intValue).average().orElse(0);
        }
    }
}
