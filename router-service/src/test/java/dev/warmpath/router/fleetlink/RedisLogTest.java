package dev.warmpath.router.fleetlink;

import static dev.warmpath.redislink.TestRedis.await;
import static dev.warmpath.redislink.TestRedis.sleep;
import static java.util.stream.Collectors.joining;
import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.protocol.event.EventFrames;
import dev.warmpath.protocol.event.KvEventBatch;
import dev.warmpath.protocol.fleet.FleetToken;
import dev.warmpath.protocol.redis.RedisLayout;
import dev.warmpath.redislink.LyingRedis;
import dev.warmpath.redislink.RedisLink;
import dev.warmpath.redislink.RedisProperties;
import dev.warmpath.redislink.TestRedis;
import dev.warmpath.router.fleet.EventSource;
import dev.warmpath.router.fleet.Fleet;
import dev.warmpath.router.fleet.RegistrationOutcome;
import dev.warmpath.router.fleet.TestWorkers;
import dev.warmpath.router.fleet.WorkerView;
import dev.warmpath.router.fleetlink.log.EventLog;
import dev.warmpath.router.fleetlink.stream.WorkerHttp;
import dev.warmpath.router.metrics.RouterMetrics;
import dev.warmpath.router.prefix.PrefixIndex;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.LongSupplier;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import tools.jackson.databind.json.JsonMapper;

/** The router's side of a real Redis, and one that lies, with workers whose every write and HTTP answer the test decides. */
@ExtendWith(OutputCaptureExtension.class)
class RedisLogTest {

    private static final FleetToken TOKEN = FleetToken.of("hush");

    private final TestRedis redis = TestRedis.absent(TestRouter.USER);
    private final FakeWorker fake = new FakeWorker("w", 7);
    private final LogWriter writer = new LogWriter(redis, fake, TOKEN);

    RedisLogTest() throws IOException {}

    @AfterEach
    void close() {
        redis.close();
        fake.close();
    }

    @Test
    void a_starting_router_has_the_workers_set_from_checkpoint_and_log_without_asking_the_worker() {
        redis.start();
        fake.next(1, 2, 3);
        writer.introduce();
        writer.announce(4, 5);
        writer.checkpoint();
        writer.announce(6);
        writer.announce(7, 8);
        try (var router = new TestRouter(redis, TOKEN)) {
            await("in the index", () -> router.equals(fake));
            await("served", () -> router.fleet.model("tiny") != null);

            assertThat(router.count("warmpath.index.reloads", "source", "checkpoint")).isOne();
            assertThat(router.count("warmpath.index.changes")).isEqualTo(8);
            assertThat(router.isFollowedBy(EventSource.LOG, "w")).isTrue();
            assertThat(fake.streams).hasValue(0);
        }
    }

    @Test
    void sixty_four_streams_carry_their_workers_as_eight_do() throws IOException {
        redis.start();
        List<FakeWorker> workers = new ArrayList<>();
        try (var router = new TestRouter(redis, TOKEN, 64)) {
            for (int i = 0; i < 10; i++) {
                var one = new FakeWorker("worker-" + i, 7);
                one.eventStreams = 64;
                workers.add(one);
                var log = new LogWriter(redis, one, TOKEN).introduce();
                router.register(one);
                log.announce(i, i + 1);
            }
            await("all in the index", () -> workers.stream().allMatch(router::equals));

            assertThat(redis.commands().keys("warmpath:events:*")).hasSize(10);
            assertThat(workers).allMatch(one -> router.isFollowedBy(EventSource.LOG, one.registration().workerId()));
        } finally {
            workers.forEach(FakeWorker::close);
        }
    }

    @Test
    void a_worker_that_counts_other_streams_than_the_router_is_followed_directly_and_says_so() {
        redis.start();
        fake.eventStreams = 64;
        fake.next(1, 2, 3);
        writer.introduce();
        try (var router = new TestRouter(redis, TOKEN)) {
            await("in the index", () -> router.equals(fake));
            KvEventBatch batch = fake.next(4);
            writer.append(batch);
            fake.frames.add(EventFrames.encode(batch));
            await("followed", () -> router.equals(fake));

            assertThat(router.isFollowedBy(EventSource.DIRECT, "w")).isTrue();
            assertThat(router.fleet.snapshot()).singleElement().extracting(WorkerView::problem).asString()
                    .isEqualTo("it writes to one of 64 streams in Redis, this router reads 8: set "
                            + "warmpath.redis.event-streams alike on all routers and workers");
        }
    }

    @Test
    void the_first_decision_of_a_restarted_router_is_informed() {
        redis.start();
        fake.next(1, 2, 3);
        writer.introduce();
        try (var router = new TestRouter(redis, TOKEN)) {
            // ready means that it takes requests: then its set must be there already
            await("ready", () -> router.fleet.model("tiny") != null);
            assertThat(router.equals(fake)).isTrue();
        }
    }

    @Test
    void neither_a_bug_nor_an_error_in_the_router_ends_the_reading_of_the_log() {
        redis.start();
        writer.introduce();
        var failures = new AtomicInteger();
        try (var router = new TestRouter(redis, TOKEN)) {
            await("in the index", () -> router.equals(fake));
            router.linksTime = () -> {
                if (Thread.currentThread().getName().startsWith("redis-log-")) {
                    switch (failures.getAndIncrement()) {
                        case 0 -> throw new IllegalStateException("a bug");
                        case 1 -> throw new StackOverflowError("too deep");
                        default -> { }
                    }
                }
                return System.nanoTime();
            };
            await("failed twice, and begun anew", () -> failures.get() > 2);
            writer.announce(1);
            await("read on", () -> router.equals(fake) && router.isFollowedBy(EventSource.LOG, "w"));
        }
    }

    @Test
    void a_gap_in_the_log_costs_one_snapshot_from_the_worker_and_the_log_goes_on() {
        redis.start();
        writer.introduce();
        try (var router = new TestRouter(redis, TOKEN)) {
            await("in the index", () -> router.equals(fake));
            writer.announce(1);
            fake.next(2);                                          // never written
            writer.announce(3);
            await("healed", () -> router.equals(fake));
            assertThat(fake.streams).hasValue(1);
            writer.announce(4);
            await("followed", () -> router.equals(fake));

            assertThat(fake.streams).hasValue(1);
            assertThat(router.count("warmpath.index.gaps")).isOne();
            assertThat(router.count("warmpath.index.reloads", "source", "worker")).isOne();
            assertThat(router.isFollowedBy(EventSource.LOG, "w")).isTrue();
        }
    }

    @Test
    void duplicates_replays_other_lives_strangers_and_rubbish_change_nothing() {
        redis.start();
        writer.introduce();
        KvEventBatch first = fake.next(1);
        writer.append(first);
        try (var router = new TestRouter(redis, TOKEN)) {
            await("in the index", () -> router.equals(fake));
            writer.append(first);
            writer.append(new KvEventBatch("w", 6, 2, false, List.of(), 0, 0));
            writer.append(new KvEventBatch("stranger", 7, 2, false, List.of(), 0, 0));
            writer.append(new KvEventBatch("w", 7, 99, true, List.of(), 0, 0));
            writer.appendBytes(new byte[] {1, 2, 3});
            redis.commands().xadd(writer.stream(), "other", new byte[0]);
            writer.announce(2);
            await("the one that counts", () -> router.equals(fake));

            assertThat(fake.streams).hasValue(0);
            assertThat(router.count("warmpath.index.rejected.batches")).isEqualTo(2);
            assertThat(router.fleet.snapshot()).hasSize(1);
        }
    }

    @Test
    void drift_in_the_log_or_seen_by_a_heartbeat_makes_the_copy_anew() {
        redis.start();
        writer.introduce();
        try (var router = new TestRouter(redis, TOKEN)) {
            await("in the index", () -> router.equals(fake));
            KvEventBatch batch = fake.next(1);
            writer.append(new KvEventBatch("w", 7, 1, false, batch.changes(), 1, batch.setDigest() + 1));
            await("healed", () -> router.equals(fake));
            assertThat(router.count("warmpath.index.drift")).isOne();
            assertThat(fake.streams).hasValue(1);

            fake.announced.add(4711);                              // without a batch
            router.fleet.heartbeat(fake.heartbeat());
            await("healed again", () -> router.equals(fake));
            assertThat(router.count("warmpath.index.drift")).isEqualTo(2);
            assertThat(fake.streams).hasValue(2);
        }
    }

    @Test
    void without_redis_the_worker_is_followed_directly_and_by_the_log_again_once_it_writes_there() {
        redis.start();
        fake.next(1);
        writer.introduce();
        try (var router = TestRouter.hasty(redis, TOKEN)) {
            await("in the index", () -> router.equals(fake));
            redis.kill();
            await("followed directly", () -> router.isFollowedBy(EventSource.DIRECT, "w"));
            await("its stream", () -> fake.streams.get() == 1);
            assertThat(router.health.health().getDetails())
                    .containsKey("degraded").containsEntry("followedDirectly", 1);
            fake.frames.add(fake.store(2));
            await("a batch came directly", () -> router.equals(fake));

            redis.start();                                         // with nothing in it
            await("read again", () -> !router.health.health().getDetails().containsKey("degraded"));
            router.stopTime();
            sleep(300);                                            // longer than a turn
            assertThat(router.isFollowedBy(EventSource.DIRECT, "w")).as("until it says something in the log").isTrue();
            writer.introduce();
            writer.append(fake.snapshot().mark());                 // it has nothing else to say
            await("followed by the log", () -> router.isFollowedBy(EventSource.LOG, "w"));
            writer.announce(3);
            await("a batch came by the log", () -> router.equals(fake));
            assertThat(fake.streams).hasValue(1);
            assertThat(router.count("warmpath.index.gaps")).isZero();
            assertThat(router.count("warmpath.index.reloads", "source", "stream")).isOne();
        }
    }

    @Test
    void a_frozen_redis_is_taken_for_lost_and_comes_back() {
        redis.start();
        writer.introduce();
        try (var router = TestRouter.hasty(redis, TOKEN)) {
            await("in the index", () -> router.equals(fake));
            redis.freeze();
            await("followed directly", () -> fake.streams.get() == 1);
            redis.thaw();
            KvEventBatch both = fake.next(1);
            writer.append(both);
            fake.frames.add(EventFrames.encode(both));
            await("followed by the log", () -> router.isFollowedBy(EventSource.LOG, "w") && router.equals(fake));
            assertThat(router.count("warmpath.index.gaps")).isZero();
        }
    }

    @Test
    void a_router_that_finds_no_redis_serves_directly_and_says_so_until_redis_appears() {
        try (var router = TestRouter.hasty(redis, TOKEN)) {
            fake.next(1);
            router.register(fake);
            await("served", () -> router.fleet.model("tiny") != null);
            assertThat(router.equals(fake)).isTrue();
            assertThat(router.isFollowedBy(EventSource.DIRECT, "w")).isTrue();
            assertThat(router.health.health().getStatus().getCode()).isEqualTo("UP");
            assertThat(String.valueOf(router.health.health().getDetails().get("degraded"))).contains("refused");

            redis.start();
            await("healed", () -> !router.health.health().getDetails().containsKey("degraded"));
            writer.introduce();
            KvEventBatch both = fake.next(2);
            writer.append(both);
            fake.frames.add(EventFrames.encode(both));
            await("followed by the log", () -> router.isFollowedBy(EventSource.LOG, "w") && router.equals(fake));
        }
    }

    @Test
    void a_worker_that_only_redis_has_lost_is_followed_directly_while_the_others_use_the_log() throws IOException {
        redis.start();
        writer.introduce();
        try (var router = new TestRouter(redis, TOKEN); var other = new FakeWorker("other", 3)) {
            var otherWriter = new LogWriter(redis, other, TOKEN).introduce();
            await("in the index", () -> router.equals(fake));
            router.register(other);
            await("both", () -> router.equals(other));
            int otherStreams = other.streams.get();

            fake.next(1);                                          // published, not in Redis
            await("followed directly", () -> {
                router.fleet.heartbeat(fake.heartbeat());
                return router.isFollowedBy(EventSource.DIRECT, "w") && router.equals(fake);
            });
            otherWriter.announce(5);
            await("by the log", () -> router.equals(other));
            assertThat(router.isFollowedBy(EventSource.LOG, "other")).isTrue();
            assertThat(other.streams).hasValue(otherStreams);

            writer.announce(2);                                    // it reaches Redis again
            fake.frames.add(EventFrames.keepAlive());
            await("by the log again", () -> router.isFollowedBy(EventSource.LOG, "w") && router.equals(fake));
            assertThat(fake.streams).hasValue(1);

            fake.next(3);                                          // and loses it right afterwards
            await("directly again", () -> {
                router.fleet.heartbeat(fake.heartbeat());
                return router.equals(fake);
            });
            assertThat(fake.streams).hasValue(2);
        }
    }

    @Test
    @Tag("full")
    void a_stream_whose_ids_go_backwards_is_read_on_from_its_end() {
        redis.start();
        writer.introduce();
        try (var router = new TestRouter(redis, TOKEN)) {
            await("in the index", () -> router.equals(fake));
            writer.append(fake.next(1), "9999999999999-0");        // its clock was an age ahead
            await("read", () -> router.equals(fake));
            redis.commands().del(writer.stream());
            sleep(2_500);
            writer.announce(2);
            await("read on", () -> router.equals(fake));
            assertThat(fake.streams).hasValue(0);
        }
    }

    @Test
    void a_lease_without_the_fleets_seal_or_about_somebody_else_brings_nobody_in() throws IOException {
        redis.start();
        try (var good = new FakeWorker("good", 1)) {
            new LogWriter(redis, fake, FleetToken.of("guessed")).introduce();
            new LogWriter(redis, good, TOKEN).introduce();
            byte[] lease = redis.commands().get(RedisLayout.lease("good", 1));
            for (String copied : List.of("thief", "unreadable", "gone")) {
                redis.commands().hset(RedisLayout.WORKERS, copied, LogWriter.bytes("1"));
            }
            redis.commands().set(RedisLayout.lease("thief", 1), lease);
            redis.commands().set(RedisLayout.lease("unreadable", 1), LogWriter.bytes(TOKEN.seal("{")));
            redis.commands().hset(RedisLayout.WORKERS, "odd", LogWriter.bytes("no epoch"));
            redis.commands().set(RedisLayout.checkpoint("good"), new byte[] {1, 2, 3});
            try (var router = new TestRouter(redis, TOKEN)) {
                await("in the index", () -> router.equals(good));
                assertThat(router.fleet.snapshot()).extracting(view -> view.id()).containsExactly("good");
                assertThat(good.streams).as("its checkpoint is rubbish").hasValue(1);
                assertThat(router.count("warmpath.index.rejected.batches")).isOne();
            }
        }
    }

    @Test
    void a_restarted_worker_goes_on_under_its_new_epoch() throws IOException {
        redis.start();
        fake.next(1, 2);
        writer.introduce();
        try (var router = new TestRouter(redis, TOKEN); var reborn = new FakeWorker("w", 8)) {
            await("in the index", () -> router.equals(fake));
            router.register(reborn);
            await("empty, at once", () -> router.equals(reborn));
            var rebornWriter = new LogWriter(redis, reborn, TOKEN).introduce();
            writer.announce(3);                                    // still in the pipe of the life before
            rebornWriter.announce(9);
            await("followed", () -> router.equals(reborn));
            assertThat(reborn.streams).hasValue(1);
            assertThat(router.isFollowedBy(EventSource.LOG, "w")).isTrue();
        }
    }

    @Test
    void a_worker_that_dies_while_followed_by_the_log_is_found_out_by_its_missing_heartbeat() {
        redis.start();
        writer.introduce();
        try (var router = new TestRouter(redis, TOKEN)) {
            await("in the index", () -> router.equals(fake));
            fake.close();
            await("gone", () -> router.worker("w") == null);
        }
    }

    @Test
    void a_lease_that_cannot_be_read_keeps_no_other_worker_from_being_followed() throws IOException {
        redis.start();
        writer.introduce();
        redis.commands().hset(RedisLayout.WORKERS, "z", LogWriter.bytes("1"));
        redis.commands().lpush(RedisLayout.lease("z", 1), LogWriter.bytes("x"));
        try (var router = new TestRouter(redis, TOKEN); var other = new FakeWorker("other", 3)) {
            await("in the index", () -> router.equals(fake));
            other.next(1);
            router.register(other);
            await("the other one, too", () -> router.equals(other));
        }
    }

    @Test
    void lines_of_nobody_in_the_table_of_workers_hold_up_no_router(CapturedOutput log) throws IOException {
        String table = IntStream.range(0, 10_000).mapToObj(i -> bulk("dead-" + i) + bulk("1")).collect(joining())
                + bulk("a\r\nERROR all is lost") + bulk("1") + bulk("b") + bulk("1\r\nERROR all is lost");
        try (var liar = new LyingRedis((command, out) -> {
            if (command.getFirst().equals("GET")) {
                sleep(20);
            }
            out.write(LogWriter.bytes(switch (command.getFirst()) {
                case "HELLO" -> "-ERR unknown command\r\n";
                case "PING" -> "+PONG\r\n";
                case "HLEN" -> ":10002\r\n";
                case "HGETALL" -> "*20004\r\n" + table;
                case "GET" -> "$-1\r\n";
                default -> "*0\r\n";
            }));
        })) {
            LongSupplier quick = () -> System.nanoTime() * 10;              // a silence of two seconds in 200 ms
            var fleet = new Fleet(new PrefixIndex(), TestWorkers.CHECK, Duration.ofMinutes(1), 10, System::nanoTime,
                    new ConnectProbe());
            try (RedisLink link = RedisLink.forReads(RedisProperties.of(liar.uri()));
                    var links = new WorkerLinks(fleet, new PrefixIndex(), new EventLog(/* awaited */ true, 8, quick),
                            new WorkerHttp(TOKEN), new RouterMetrics(new SimpleMeterRegistry()), System::nanoTime)) {
                links.readLog(link, TOKEN, JsonMapper.builder().build());
                await("the table is read", () -> log.getOut().contains("2 of 10002 lines of warmpath:workers"));
                links.follow(((RegistrationOutcome.Accepted) fleet.register(fake.registration())).worker());
                await("served", () -> fleet.model("tiny") != null);
                assertThat(log).doesNotContain("\nERROR all is lost").doesNotContain("events are read from Redis");
            }
        }
    }

    @Test
    void a_checkpoint_too_long_for_the_heap_leaves_its_worker_to_itself_and_the_others_to_the_log() throws IOException {
        redis.start();
        writer.introduce();
        try (var other = new FakeWorker("zz", 3); var router = TestRouter.small(redis, TOKEN, 1 << 20)) {
            var otherWriter = new LogWriter(redis, other, TOKEN).introduce();
            redis.commands().setrange(RedisLayout.checkpoint("zz"), 600_000, LogWriter.bytes("x"));
            await("followed by the log", () -> router.equals(fake));
            router.register(other);
            other.next(1);
            await("followed directly", () -> router.equals(other));
            otherWriter.announce(2);
            await("and by the log", () -> router.equals(other));
        }
    }

    /** 64 entries of 32 KB are twice what may come at once. */
    @Test
    void entries_too_long_for_one_answer_are_read_a_few_at_a_time() {
        redis.start();
        writer.introduce();
        for (int entry = 0; entry < 64; entry++) {
            writer.appendBytes(new byte[32 << 10]);
        }
        writer.announce(1, 2);
        try (var router = TestRouter.small(redis, TOKEN, 1 << 20)) {
            await("followed by the log", () -> router.equals(fake));
        }
    }

    private static String bulk(String text) {
        return "$" + text.length() + "\r\n" + text + "\r\n";
    }
}
