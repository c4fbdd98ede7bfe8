package dev.warmpath.router.fleetlink;

import dev.warmpath.protocol.fleet.FleetToken;
import dev.warmpath.protocol.redis.RedisLayout;
import dev.warmpath.redislink.RedisLink;
import dev.warmpath.redislink.RedisProperties;
import dev.warmpath.redislink.TestRedis;
import dev.warmpath.router.fleet.EventSource;
import dev.warmpath.router.fleet.Fleet;
import dev.warmpath.router.fleet.FleetWorker;
import dev.warmpath.router.fleet.RegistrationOutcome;
import dev.warmpath.router.fleet.TestWorkers;
import dev.warmpath.router.fleetlink.log.EventLog;
import dev.warmpath.router.fleetlink.log.RedisHealth;
import dev.warmpath.router.fleetlink.stream.WorkerHttp;
import dev.warmpath.router.metrics.RouterMetrics;
import dev.warmpath.router.prefix.PrefixIndex;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.time.Duration;
import java.util.Arrays;
import java.util.Objects;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.json.JsonMapper;

/** What a router knows and does about its fleet, with Redis and a real clock; leases are long enough for a test. */
public final class TestRouter implements AutoCloseable {

    /** As operators are told to confine a router, a line of redis.conf; {@code index} needs {@code +xrange} as well. */
    public static final String USER =
            "user router on >hush ~warmpath:* +@connection +get +strlen +hgetall +hlen +xread +xrevrange";

    final SimpleMeterRegistry meters = new SimpleMeterRegistry();
    final PrefixIndex index = new PrefixIndex();
    final Fleet fleet = new Fleet(
            index, TestWorkers.CHECK, Duration.ofMinutes(1), 10, System::nanoTime, new ConnectProbe());
    final RedisHealth health;
    /** Asked by the links: a test may let it fail. */
    volatile LongSupplier linksTime = System::nanoTime;
    private volatile boolean timePasses;
    private volatile long lastNanos;
    private final RedisLink link;
    private final WorkerLinks links;

    /** Takes no Redis for lost that is only held up. */
    TestRouter(TestRedis redis, FleetToken token) {
        this(redis, token, RedisLayout.DEFAULT_STREAM_COUNT);
    }

    /** The same, in a fleet with so many event streams. */
    TestRouter(TestRedis redis, FleetToken token, int streams) {
        this(redis, token, streams, Duration.ofSeconds(30), /* timePasses */ false);
    }

    /** Takes a Redis for lost that says nothing for two seconds. */
    static TestRouter hasty(TestRedis redis, FleetToken token) {
        return new TestRouter(
                redis, token, RedisLayout.DEFAULT_STREAM_COUNT, Duration.ofSeconds(1), /* timePasses */ true);
    }

    /** With room for answers of so many bytes. */
    static TestRouter small(TestRedis redis, FleetToken token, long maxAnswerBytes) {
        return new TestRouter(redis, token, RedisLayout.DEFAULT_STREAM_COUNT, Duration.ofSeconds(30),
                /* timePasses */ false, maxAnswerBytes);
    }

    private TestRouter(TestRedis redis, FleetToken token, int streams, Duration timeout, boolean timePasses) {
        this(redis, token, streams, timeout, timePasses, 128 << 20);
    }

    private TestRouter(TestRedis redis, FleetToken token, int streams, Duration timeout, boolean timePasses,
            long maxAnswerBytes) {
        this.timePasses = timePasses;
        var metrics = new RouterMetrics(meters);
        var events = new EventLog(/* awaited */ true, streams, this::logNanos);
        link = RedisLink.forReads(
                new RedisProperties(uri(redis), false, null, null, null, timeout, timeout, 10_000,
                        streams), maxAnswerBytes);
        links = new WorkerLinks(fleet, index, events, new WorkerHttp(token), metrics,
                () -> linksTime.getAsLong());
        links.readLog(link, token, JsonMapper.builder().build());
        health = new RedisHealth(link, events, fleet);
    }

    /** Of a Redis with {@link #USER}. */
    public static String uri(TestRedis redis) {
        return "redis://router:hush@127.0.0.1:" + redis.port();
    }

    /** From now on no silence of Redis counts. */
    void stopTime() {
        logNanos();
        timePasses = false;
    }

    private long logNanos() {
        if (timePasses) {
            lastNanos = System.nanoTime();
        }
        return lastNanos;
    }

    /** As if the worker had come by itself. */
    FleetWorker register(FakeWorker fake) {
        var accepted = (RegistrationOutcome.Accepted) fleet.register(fake.registration());
        if (accepted.isNew()) {
            links.follow(accepted.worker());
        }
        return accepted.worker();
    }

    /** The worker of that id, or null. */
    @Nullable FleetWorker worker(String id) {
        return fleet.membersOf(FakeWorker.REVISION).stream().filter(worker -> worker.id().equals(id)).findFirst()
                .orElse(null);
    }

    /** Whether the index has exactly what the worker announces, batch for batch. */
    boolean equals(FakeWorker fake) {
        FleetWorker worker = worker(fake.registration().workerId());
        return worker != null && worker.epoch() == fake.registration().epoch()
                && worker.events().position().sequence() == fake.sequence()
                && worker.keys().size() == fake.announced.size()
                && worker.keys().digest() == fake.digest()
                && Arrays.stream(fake.announced.toArray()).allMatch(key -> index.holds(worker.keys(), key));
    }

    boolean isFollowedBy(EventSource source, String id) {
        return Objects.requireNonNull(worker(id)).eventSource() == source;
    }

    /** 0 if nothing was counted yet. */
    double count(String meter, String... tags) {
        Counter counter = meters.find(meter).tags(tags).counter();
        return counter == null ? 0 : counter.count();
    }

    @Override
    public void close() {
        links.close();
        link.close();
    }
}
