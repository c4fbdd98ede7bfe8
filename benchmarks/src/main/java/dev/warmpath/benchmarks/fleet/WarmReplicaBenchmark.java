package dev.warmpath.benchmarks.fleet;

import com.sun.management.OperatingSystemMXBean;
import dev.warmpath.protocol.event.BlockChange;
import dev.warmpath.protocol.event.KeySet;
import dev.warmpath.protocol.event.KvEventBatch;
import dev.warmpath.protocol.event.Medium;
import dev.warmpath.protocol.fleet.Registration;
import dev.warmpath.protocol.redis.Checkpoint;
import dev.warmpath.protocol.redis.RedisLayout;
import dev.warmpath.protocol.redis.StreamId;
import dev.warmpath.redislink.RedisLink;
import dev.warmpath.redislink.RedisProperties;
import dev.warmpath.router.prefix.PrefixIndex;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicReference;
import org.springframework.context.ConfigurableApplicationContext;
import tools.jackson.databind.json.JsonMapper;

/**
 * How long a new router is cold: the time from when it begins to connect to Redis to the moment when every key of every
 * worker is in its index. A whole router is started in this process, cold code and all, beside a real Redis on loopback
 * with a lease and a checkpoint for each worker.
 *
 * <p>{@code distinct}: random keys. {@code shared}: half of each worker's keys are drawn from {@link #SHARED_KEYS}
 * common ones with the frequencies of Zipf's law (exponent 1), the others random.
 * <pre>
 * mvn -q -B -pl benchmarks -am package -DskipTests dependency:copy-dependencies -DincludeScope=runtime
 * java -Xmx4g --enable-native-access=ALL-UNNAMED \
 *     -cp 'benchmarks/target/benchmarks.jar:benchmarks/target/dependency/*' \
 *     dev.warmpath.benchmarks.fleet.WarmReplicaBenchmark [distinct|shared] [workers] [keys per worker]
 * </pre>
 */
public final class WarmReplicaBenchmark {

    static final int SHARED_KEYS = 1_000_000;
    private static final long EPOCH = 1;

    private final SplittableRandom random = new SplittableRandom(42);
    private final AtomicReference<RedisLink> link = new AtomicReference<>();
    private final AtomicReference<PrefixIndex> index = new AtomicReference<>();

    private WarmReplicaBenchmark() {}

    public static void main(String[] args) throws IOException, InterruptedException {
        boolean shared = args.length > 0 && args[0].equals("shared");
        int workers = args.length > 1 ? Integer.parseInt(args[1]) : 100;
        int keys = args.length > 2 ? Integer.parseInt(args[2]) : 100_000;
        new WarmReplicaBenchmark().run(shared, workers, keys);
    }

    private void run(boolean shared, int workers, int keysPerWorker) throws IOException, InterruptedException {
        try (var world = new RouterWithRedis()) {
            fill(world, shared, workers, keysPerWorker);
            Thread clock = Thread.ofPlatform().start(() -> watch((long) workers * keysPerWorker));
            try (ConfigurableApplicationContext router = world.startRouter(this::seen)) {
                clock.join();
                System.out.printf("bytes per pair by the index's own count: %.1f%n",
                        (double) router.getBean(PrefixIndex.class).stats().bytes() / workers / keysPerWorker);
            }
        }
    }

    private void seen(Object bean) {
        switch (bean) {
            case RedisLink connecting -> link.set(connecting);
            case PrefixIndex empty -> index.set(empty);
            default -> { }
        }
    }

    private void watch(long pairs) {
        while (link.get() == null) {
            RouterWithRedis.pause();
        }
        long begun = System.nanoTime();
        long cpuBefore = processCpuNanos();
        while (index.get() == null || index.get().stats().entries() < pairs) {
            RouterWithRedis.pause();
        }
        System.out.printf("%,d pairs in the index %.2f s after it began to connect; %.2f s of processor time%n", pairs,
                (System.nanoTime() - begun) / 1e9, (processCpuNanos() - cpuBefore) / 1e9);
    }

    /** What a busy machine does not stretch. Includes the start of the rest of the router, which goes on meanwhile. */
    private static long processCpuNanos() {
        return ((OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean()).getProcessCpuTime();
    }

    private void fill(RouterWithRedis world, boolean shared, int workers, int keysPerWorker) {
        JsonMapper json = JsonMapper.builder().build();
        long[] common = random.longs(SHARED_KEYS).toArray();
        try (RedisLink writing = RedisLink.open(RedisProperties.of(world.redisUri()))) {
            RouterWithRedis.awaitConnected(writing);
            for (int i = 0; i < workers; i++) {
                Registration registration = world.registration("worker-" + i, EPOCH, keysPerWorker);
                KeySet keys = shared ? halfCommon(common, keysPerWorker) : distinct(keysPerWorker);
                var snapshot = new KvEventBatch(registration.workerId(), EPOCH, 1, true,
                        List.of(new BlockChange.Stored(Medium.DEVICE, keys.toArray())), keys.size(), keys.digest());
                writing.commands().hset(RedisLayout.WORKERS, registration.workerId(), bytes(Long.toString(EPOCH)));
                writing.commands().set(RedisLayout.lease(registration.workerId(), EPOCH),
                        bytes(RouterWithRedis.TOKEN.seal(json.writeValueAsString(registration))));
                writing.commands().set(RedisLayout.checkpoint(registration.workerId()),
                        new Checkpoint(StreamId.ZERO.toString(), snapshot).encode());
            }
        }
    }

    private KeySet distinct(int count) {
        var keys = new KeySet();
        while (keys.size() < count) {
            keys.add(random.nextLong());
        }
        return keys;
    }

    /** The n-th most frequent of N is drawn with probability 1 / (n ln N): its rank is N to the power of a draw. */
    private KeySet halfCommon(long[] common, int count) {
        var keys = new KeySet();
        while (keys.size() < count / 2) {
            keys.add(common[(int) Math.pow(common.length, random.nextDouble()) - 1]);
        }
        while (keys.size() < count) {
            keys.add(random.nextLong());
        }
        return keys;
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }
}
