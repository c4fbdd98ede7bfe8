package dev.warmpath.benchmarks.fleet;

import dev.warmpath.protocol.event.BlockChange;
import dev.warmpath.protocol.event.Medium;
import dev.warmpath.redislink.RedisLink;
import dev.warmpath.redislink.RedisProperties;
import dev.warmpath.router.fleet.EventSource;
import dev.warmpath.router.fleet.Fleet;
import dev.warmpath.router.fleet.FleetWorker;
import dev.warmpath.worker.routerlink.KvEventPublisher;
import dev.warmpath.worker.routerlink.RedisAnnouncer;
import java.io.IOException;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.locks.LockSupport;
import org.springframework.context.ConfigurableApplicationContext;
import tools.jackson.databind.json.JsonMapper;

/**
 * How old the index is: the time from a worker's publishing a batch to its being in a router's index, through the
 * worker's announcer and a real Redis on loopback; all in this process, so that one clock measures.
 *
 * <p>20,000 blocks per second in batches of 32 (16 stored, 16 removed once the worker is full), evenly spaced, random
 * keys. The time is taken by a thread that looks every 20 µs or so.
 * <pre>
 * mvn -q -B -pl benchmarks -am package -DskipTests dependency:copy-dependencies -DincludeScope=runtime
 * java --enable-native-access=ALL-UNNAMED -cp 'benchmarks/target/benchmarks.jar:benchmarks/target/dependency/*' \
 *     dev.warmpath.benchmarks.fleet.EventLagBenchmark [blocks per second] [seconds]
 * </pre>
 */
public final class EventLagBenchmark {

    private static final String WORKER = "w";
    private static final long EPOCH = 1;
    private static final int BLOCKS = 100_000;
    private static final int BATCH_BLOCKS = 32;
    private static final Duration WARM_UP = Duration.ofSeconds(10);
    private static final long LOOK_EVERY_NANOS = 20_000;

    private final SplittableRandom random = new SplittableRandom(42);
    private final long[] ring = new long[BLOCKS];
    private long stored;

    private EventLagBenchmark() {}

    public static void main(String[] args) throws IOException, InterruptedException {
        int blocksPerSecond = args.length > 0 ? Integer.parseInt(args[0]) : 20_000;
        int seconds = args.length > 1 ? Integer.parseInt(args[1]) : 30;
        new EventLagBenchmark().run(blocksPerSecond, Duration.ofSeconds(seconds));
    }

    private void run(int blocksPerSecond, Duration measured) throws IOException, InterruptedException {
        var publisher = new KvEventPublisher(WORKER, EPOCH);
        try (var world = new RouterWithRedis()) {
            RedisProperties properties = RedisProperties.of(world.redisUri());
            try (RedisLink link = RedisLink.open(properties);
                    var announcer = new RedisAnnouncer(link, properties, publisher,
                            world.registration(WORKER, EPOCH, BLOCKS + BATCH_BLOCKS), RouterWithRedis.TOKEN,
                            JsonMapper.builder().build())) {
                announcer.start();
                while (announcer.status().checkpoints() == 0) {
                    RouterWithRedis.pause();
                }
                try (ConfigurableApplicationContext router = world.startRouter(_ -> { })) {
                    FleetWorker worker = router.getBean(Fleet.class).membersOf(RouterWithRedis.revision()).getFirst();
                    while (!worker.isIndexed()) {
                        RouterWithRedis.pause();
                    }
                    measure(publisher, worker, blocksPerSecond, WARM_UP);
                    long[] lags = measure(publisher, worker, blocksPerSecond, measured);
                    print(lags, blocksPerSecond, worker, announcer);
                }
            }
        }
    }

    /** @return from published to indexed, for each batch, in nanoseconds */
    private long[] measure(KvEventPublisher publisher, FleetWorker worker, int blocksPerSecond, Duration duration)
            throws InterruptedException {
        int count = (int) (duration.toSeconds() * blocksPerSecond / BATCH_BLOCKS);
        long before = publisher.state().lastSequence();
        var publishedNanos = new long[count];
        var lags = new long[count];
        Thread looking = Thread.ofPlatform().start(() -> {
            int seen = 0;
            while (seen < count) {
                long sequence = worker.events().position().sequence();
                long now = System.nanoTime();
                for (; seen < sequence - before; seen++) {
                    lags[seen] = now - publishedNanos[seen];
                }
                LockSupport.parkNanos(LOOK_EVERY_NANOS);
            }
        });
        long interval = 1_000_000_000L * BATCH_BLOCKS / blocksPerSecond;
        long start = System.nanoTime();
        for (int i = 0; i < count; i++) {
            List<BlockChange> changes = nextChanges();
            while (System.nanoTime() - start < i * interval) {
                LockSupport.parkNanos(LOOK_EVERY_NANOS);
            }
            publishedNanos[i] = System.nanoTime();
            publisher.publish(changes);        // its lock and the volatile position carry the time to the one who looks
        }
        looking.join();
        return lags;
    }

    private List<BlockChange> nextChanges() {
        boolean full = stored >= BLOCKS;
        int each = full ? BATCH_BLOCKS / 2 : BATCH_BLOCKS;
        var added = new long[each];
        var removed = new long[each];
        for (int i = 0; i < each; i++) {
            int place = (int) (stored++ % BLOCKS);
            removed[i] = ring[place];
            ring[place] = random.nextLong();
            added[i] = ring[place];
        }
        BlockChange store = new BlockChange.Stored(Medium.DEVICE, added);
        return full ? List.of(new BlockChange.Removed(Medium.DEVICE, removed), store) : List.of(store);
    }

    private static void print(long[] lags, int blocksPerSecond, FleetWorker worker, RedisAnnouncer announcer) {
        Arrays.sort(lags);
        System.out.printf("%n%d batches of %d blocks at %,d blocks/s%n", lags.length, BATCH_BLOCKS, blocksPerSecond);
        System.out.printf("from published to indexed, ms: p50 %.2f  p99 %.2f  p99.9 %.2f  most %.2f%n",
                lags[lags.length / 2] / 1e6, lags[(int) (lags.length * 0.99)] / 1e6,
                lags[(int) (lags.length * 0.999)] / 1e6, lags[lags.length - 1] / 1e6);
        System.out.printf("followed by %s; announcer restarts %d, checkpoints %d%n",
                worker.eventSource() == EventSource.LOG ? "the log" : "THE WORKER'S STREAM: no valid run",
                announcer.status().restarts(), announcer.status().checkpoints());
    }
}
