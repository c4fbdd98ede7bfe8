package dev.warmpath.worker.routerlink;

import static dev.warmpath.redislink.TestRedis.await;
import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.UnsynchronizedAppenderBase;
import dev.warmpath.protocol.block.HashSettings;
import dev.warmpath.protocol.event.BlockChange;
import dev.warmpath.protocol.event.BlockChange.Removed;
import dev.warmpath.protocol.event.BlockChange.Stored;
import dev.warmpath.protocol.event.KeySet;
import dev.warmpath.protocol.event.KvEventBatch;
import dev.warmpath.protocol.event.KvEventCodec;
import dev.warmpath.protocol.event.Medium;
import dev.warmpath.protocol.fleet.FleetToken;
import dev.warmpath.protocol.fleet.ModelDescription;
import dev.warmpath.protocol.fleet.Protocol;
import dev.warmpath.protocol.fleet.Registration;
import dev.warmpath.protocol.fleet.RevisionParts;
import dev.warmpath.protocol.redis.Checkpoint;
import dev.warmpath.protocol.redis.RedisLayout;
import dev.warmpath.redislink.RedisLink;
import dev.warmpath.redislink.RedisProperties;
import dev.warmpath.redislink.TestRedis;
import io.lettuce.core.Range;
import io.lettuce.core.StreamMessage;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.slf4j.LoggerFactory;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import tools.jackson.databind.json.JsonMapper;

/** What lies in a real Redis is read as a router reads it: checkpoint, then the entries behind it. */
@ExtendWith(OutputCaptureExtension.class)
class RedisAnnouncerTest {

    private static final int BLOCKS = 100_000;
    /** The longest that a command may take. */
    private static final Duration PATIENT = Duration.ofSeconds(30);
    private static final RevisionParts PARTS =
            new RevisionParts("", "", "", "", "", HashSettings.SHA256_CBOR, "0", 16, 2_048);
    private static final FleetToken TOKEN = FleetToken.of("hush");

    private final JsonMapper json = JsonMapper.builder().build();
    private final List<Worker> workers = new ArrayList<>();
    private TestRedis redis = TestRedis.absent();

    @AfterEach
    void stop() {
        workers.forEach(Worker::stop);
        redis.close();
    }

    /** A worker as far as Redis is concerned. */
    private final class Worker {
        final KvEventPublisher publisher;
        final RedisLink link;
        final RedisAnnouncer announcer;

        Worker(String id, long epoch, RedisProperties properties) {
            publisher = new KvEventPublisher(id, epoch);
            link = RedisLink.open(properties);
            announcer = new RedisAnnouncer(link, properties, publisher, registration(id, epoch), TOKEN, json);
            workers.add(this);
        }

        Worker start() {
            announcer.start();
            return this;
        }

        Worker startAndWait() {
            start();
            await("a first checkpoint", this::isInRedis);
            return this;
        }

        void store(long... keys) {
            publisher.publish(List.of(new Stored(Medium.DEVICE, keys)));
        }

        /** Everything but saying goodbye. */
        void crash() {
            link.close();
            announcer.close();
        }

        void stop() {
            announcer.close();
            link.close();
        }

        boolean isInRedis() {
            KvEventPublisher.State state = publisher.state();
            Copy copy = readCopy(publisher.workerId());
            return copy != null && copy.epoch == publisher.epoch() && copy.sequence == state.lastSequence()
                    && copy.keys.size() == state.setSize() && copy.keys.digest() == state.setDigest();
        }
    }

    private record Copy(long epoch, long sequence, KeySet keys) {}

    @Test
    void batches_stand_in_the_stream_in_sequence_and_add_to_the_checkpoint() {
        redis.start();
        Worker worker = worker("w", 7);
        worker.store(1, 2, 3);                                     // before anybody reads along
        worker.startAndWait();
        for (int i = 0; i < 500; i++) {
            worker.publisher.publish(List.of(new Stored(Medium.DEVICE, new long[] {100 + i}),
                    new Removed(Medium.DEVICE, new long[] {99 + i})));
        }
        await("everything in Redis", worker::isInRedis);

        assertThat(checkpoint("w").snapshot().sequence()).isOne();
        assertThat(batchesOf("w")).extracting(KvEventBatch::sequence)
                .containsExactlyElementsOf(LongStream.rangeClosed(1, 501).boxed().toList());
        assertThat(batchesOf("w").getFirst()).isEqualTo(checkpoint("w").snapshot().mark());
        await("well", () -> worker.announcer.status().problem() == null);
        assertThat(worker.announcer.status().batches()).isEqualTo(500);
        assertThat(worker.announcer.status().checkpoints()).isOne();
        assertLease("warmpath:lease:w:7", registration("w", 7));
        assertThat(redis.commands().pttl("warmpath:lease:w:7")).isLessThanOrEqualTo(5_000L);
        assertThat(redis.commands().pttl("warmpath:checkpoint:w")).isBetween(1L, 60_000L);
        assertThat(text(redis.commands().hget("warmpath:workers", "w"))).isEqualTo("7");
        assertThat(redis.commands().pttl("warmpath:workers")).isBetween(1L, 600_000L);
    }

    /** Of the log's: the one thing in the announcer's way that a test may break. */
    @Test
    void an_error_in_the_worker_does_not_end_the_announcing() {
        redis.start();
        var failures = new AtomicInteger();
        var appender = new UnsynchronizedAppenderBase<ILoggingEvent>() {
            @Override
            protected void append(ILoggingEvent event) {
                if (event.getMessage().startsWith("announcing to Redis at") && failures.getAndIncrement() == 0) {
                    throw new StackOverflowError("too deep");
                }
            }
        };
        var logger = (Logger) LoggerFactory.getLogger(RedisAnnouncer.class);
        appender.setContext(logger.getLoggerContext());
        appender.start();
        logger.addAppender(appender);
        try {
            Worker worker = worker("w", 7).start();
            await("well after an error", () -> failures.get() >= 2 && worker.announcer.status().problem() == null);
            assertThat(worker.announcer.status().restarts()).isPositive();
            worker.store(1, 2, 3);
            await("everything in Redis", worker::isInRedis);
        } finally {
            logger.detachAppender(appender);
        }
    }

    @Tag("full")
    @Test
    void an_idle_worker_marks_its_place_again_and_again() {
        redis.start();
        Worker worker = worker("w", 7).startAndWait();
        await("a first mark and, five seconds later, the next", () -> entriesOf("w").size() == 2);
        assertThat(batchesOf("w")).containsOnly(new KvEventBatch("w", 7, 0, false, List.of(), 0, 0));
        assertThat(worker.announcer.status().batches()).isZero();
    }

    @Test
    void many_changes_make_a_new_checkpoint_that_begins_behind_them() {
        redis.start();
        Worker worker = worker("w", 7).startAndWait();
        worker.store(LongStream.range(0, BLOCKS / 4).toArray());
        await("a second checkpoint", () -> checkpoint("w").snapshot().sequence() == 1);

        assertThat(checkpoint("w").streamId()).isEqualTo(entriesOf("w").getLast().getId());
        worker.store(-5);
        await("the rest", worker::isInRedis);
        assertThat(worker.announcer.status().checkpoints()).isEqualTo(2);
    }

    @Test
    void a_fleet_may_spread_its_workers_over_more_streams() {
        redis.start();
        var properties = new RedisProperties(redis.uri(), false, null, null, null, PATIENT, PATIENT, 10_000, 64);
        Worker worker = new Worker("worker-2", 7, properties).startAndWait();
        worker.store(1);

        String stream = RedisLayout.stream(RedisLayout.streamOf("worker-2", 64));
        assertThat(stream).isEqualTo("warmpath:events:26");
        await("a batch there", () -> redis.commands().xlen(stream) >= 2);
        assertThat(redis.commands().keys(RedisLayout.stream(0).replace("0", "*"))).containsExactly(stream);
    }

    @Tag("full")
    @Test
    void streams_stay_short_and_a_checkpoint_is_renewed_before_the_entries_behind_it_are_trimmed() {
        redis.start();
        var properties = new RedisProperties(redis.uri(), false, null, null, null, Duration.ofSeconds(1),
                Duration.ofSeconds(1), /* streamLength */ 200, 8);
        Worker worker = new Worker("w", 7, properties).startAndWait();
        for (int i = 0; i < 1_500; i++) {
            worker.store(i);
            if (i % 5 == 0) {
                TestRedis.sleep(10);
            }
        }
        await("everything", worker::isInRedis);
        // whole nodes of a hundred entries are trimmed
        assertThat(redis.commands().xlen(stream("w"))).isBetween(200L, 300L);
        assertThat(worker.announcer.status().checkpoints()).isGreaterThanOrEqualTo(3);
    }

    @Test
    void started_before_redis_it_writes_when_redis_appears() {
        Worker worker = worker("w", 7).start();
        worker.store(1, 2);
        await("a sentence", () -> worker.announcer.status().problem().contains("Connection refused"));
        redis.start();
        await("everything in Redis", worker::isInRedis);
    }

    @Test
    void redis_restarted_empty_or_flushed_is_filled_again_without_traffic() {
        redis.start();
        Worker worker = worker("w", 7).startAndWait();
        worker.store(1, 2);
        redis.stop();
        worker.store(3);
        redis.start();
        await("everything in the new one", worker::isInRedis);

        worker.store(4);
        await("one more", worker::isInRedis);
        redis.commands().flushall();                               // the connection stays
        await("everything once more", worker::isInRedis);
        assertThat(text(redis.commands().hget("warmpath:workers", "w"))).isEqualTo("7");
    }

    @Tag("full")
    @Test
    void a_full_redis_is_tried_again_and_again_until_there_is_room(CapturedOutput output) {
        redis.start();
        Worker worker = worker("w", 7).startAndWait();
        redis.commands().configSet("maxmemory", "1");
        worker.store(1, 2);
        await("a sentence", () -> String.valueOf(worker.announcer.status().problem()).contains("OOM"));
        assertThat(worker.link.isConnected()).isTrue();
        await("several tries", () -> worker.announcer.status().restarts() >= 3);

        redis.commands().configSet("maxmemory", "0");
        await("everything in Redis", worker::isInRedis);
        await("well", () -> worker.announcer.status().problem() == null);
        assertThat(output).containsOnlyOnce("OOM command not allowed");
    }

    @Test
    void a_server_that_became_a_replica_is_left_and_written_to_when_it_is_primary_again() {
        redis.start();
        Worker worker = worker("w", 7).startAndWait();
        redis.commands().replicaof("127.0.0.1", TestRedis.freePort());
        worker.store(1, 2);
        await("a sentence", () -> String.valueOf(worker.announcer.status().problem()).contains("READONLY"));
        redis.commands().replicaofNoOne();
        await("everything in Redis", worker::isInRedis);
    }

    @Test
    void while_redis_is_frozen_publishing_does_not_wait_and_afterwards_all_is_there() {
        redis.start();
        Worker worker = new Worker("w", 7, RedisProperties.of(redis.uri())).startAndWait();
        redis.freeze();
        for (int i = 0; i < 20_000; i++) {                         // twenty times the queue, and nobody empties it
            worker.store(i);
        }
        assertThat(worker.publisher.state().lastSequence()).isEqualTo(20_000);
        await("given up", () -> worker.announcer.status().restarts() > 0);
        assertThat(worker.publisher.subscriberCount()).isZero();
        redis.thaw();
        await("everything in Redis", worker::isInRedis);
    }

    @Test
    void of_two_workers_with_one_id_the_newer_writes_until_it_goes(CapturedOutput output) {
        redis.start();
        Worker older = worker("w", 7).startAndWait();
        older.store(1, 2);
        await("the older one's", older::isInRedis);

        Worker newer = worker("w", 8).startAndWait();
        newer.store(5);
        await("fenced", () -> String.valueOf(older.announcer.status().problem()).contains("newer process of epoch 8"));
        await("the newer one's", newer::isInRedis);
        long written = older.announcer.status().batches();
        older.store(3);
        // one more when the older one must know; it has looked several times by then
        await("a checkpoint over the older one's", () -> newer.announcer.status().checkpoints() == 2);
        assertThat(older.announcer.status().batches()).isEqualTo(written);
        assertThat(newer.isInRedis()).isTrue();
        assertThat(newer.announcer.status().problem()).isNull();
        assertThat(output).containsOnlyOnce("announces nothing to Redis");

        newer.crash();
        redis.commands().del("warmpath:lease:w:8");                // it would live on for five seconds
        await("the older one's again", older::isInRedis);
        assertThat(text(redis.commands().hget("warmpath:workers", "w"))).isEqualTo("7");
    }

    @Tag("full")
    @Test
    void a_worker_that_gets_its_id_back_later_writes_over_what_the_other_one_left() {
        redis.start();
        Worker worker = worker("w", 7).startAndWait();
        worker.store(1);
        await("its own", worker::isInRedis);
        // as after a freeze of this one: an older process has taken the id over
        redis.commands().set("warmpath:checkpoint:w", new Checkpoint("0-0",
                new KvEventBatch("w", 6, 9, true, List.of(), 0, 0)).encode());
        redis.commands().hset("warmpath:workers", "w", bytes("6"));
        await("its own again", worker::isInRedis);
        assertThat(text(redis.commands().hget("warmpath:workers", "w"))).isEqualTo("7");
        assertThat(worker.announcer.status().restarts()).isZero();
    }

    @Test
    void a_fenced_worker_that_closes_leaves_the_newer_ones_keys_alone() {
        redis.start();
        Worker older = worker("w", 7).startAndWait();
        Worker newer = worker("w", 8).startAndWait();
        await("fenced", () -> String.valueOf(older.announcer.status().problem()).contains("newer process"));
        older.stop();
        assertThat(newer.isInRedis()).isTrue();
        assertThat(redis.commands().exists("warmpath:lease:w:7")).isZero();
        assertLease("warmpath:lease:w:8", registration("w", 8));
    }

    @Test
    void a_worker_that_closes_leaves_no_key_behind_but_the_shared_stream() {
        redis.start();
        Worker worker = worker("w", 7).startAndWait();
        worker.store(1);
        await("everything", worker::isInRedis);
        worker.announcer.close();
        assertThat(redis.commands().keys("*")).containsExactly(stream("w"));
        assertThat(redis.commands().pttl(stream("w"))).isBetween(1L, 600_000L);
        worker.announcer.start();
        assertThat(redis.commands().exists("warmpath:workers")).isZero();
    }

    @Test
    void a_crashed_workers_line_in_the_table_is_struck_out_by_another() {
        redis.start();
        redis.commands().hset("warmpath:workers", "dead", bytes("3"));
        redis.commands().hset("warmpath:workers", "not-ours", bytes("?"));
        worker("w", 7).startAndWait();
        await("only the living", () -> redis.commands().hkeys("warmpath:workers").equals(List.of("w")));
    }

    /** a and e live. Each looks after those behind it, so that nobody is asked for twice. */
    @Test
    void workers_share_out_whom_they_strike_out() {
        redis.start();
        for (String id : List.of("a", "b", "c", "d", "e", "f")) {
            redis.commands().hset("warmpath:workers", id, bytes("1"));
        }
        redis.commands().set("warmpath:lease:a:1", bytes("sealed"));
        redis.commands().set("warmpath:lease:e:1", bytes("sealed"));
        try (RedisLink link = RedisLink.open(RedisProperties.of(redis.uri()))) {
            await("connected", link::isConnected);
            new WorkerLease(link, "a", 1, "sealed", () -> 0).strikeOutTheDead();
            assertThat(redis.commands().hkeys("warmpath:workers")).containsExactlyInAnyOrder("a", "e", "f");
            new WorkerLease(link, "e", 1, "sealed", () -> 0).strikeOutTheDead();
            assertThat(redis.commands().hkeys("warmpath:workers")).containsExactlyInAnyOrder("a", "e");
        }
    }

    /** Two milliseconds for each: a hundred in a fifth of a second. */
    @Test
    void however_many_have_died_a_worker_goes_on_with_its_own_work_between_them() {
        redis.start();
        redis.commands().hset("warmpath:workers", "a", bytes("1"));
        for (int i = 0; i < 150; i++) {
            redis.commands().hset("warmpath:workers", "dead-" + i, bytes("1"));
        }
        try (RedisLink link = RedisLink.open(RedisProperties.of(redis.uri()))) {
            await("connected", link::isConnected);
            var millis = new AtomicLong();
            var lease = new WorkerLease(link, "a", 1, "sealed", () -> millis.getAndAdd(2) * 1_000_000);
            assertThat(lease.strikeOutTheDead()).isTrue();
            assertThat(redis.commands().hlen("warmpath:workers")).isEqualTo(51);
            assertThat(lease.strikeOutTheDead()).isFalse();
            assertThat(redis.commands().hkeys("warmpath:workers")).containsExactly("a");
        }
        for (int i = 0; i < 150; i++) {
            redis.commands().hset("warmpath:workers", "dead-" + i, bytes("1"));
        }
        Worker b = worker("b", 7).startAndWait();
        await("only the living", () -> redis.commands().hlen("warmpath:workers") == 1);
        assertThat(b.announcer.status().restarts()).isZero();
    }

    @Test
    void a_table_that_no_fleet_can_have_is_left_to_the_operator(CapturedOutput log) {
        redis.start();
        for (int i = 0; i < 66; i++) {
            int first = 1_000 * i;
            redis.commands().hset("warmpath:workers", IntStream.range(first, first + 1_000).boxed()
                    .collect(Collectors.toMap(number -> "dead-" + number, _ -> bytes("1"))));
        }
        Worker w = worker("w", 7).startAndWait();
        await("told", () -> log.getOut().contains("warmpath:workers in Redis has 66001 lines, and none of the dead is "
                + "struck out as long as there are more than 65536"));
        assertThat(w.announcer.status().restarts()).isZero();
        redis.commands().del("warmpath:workers");
        await("listed again", () -> redis.commands().hkeys("warmpath:workers").equals(List.of("w")));
    }

    @Test
    void any_id_that_a_worker_may_have_will_do_and_the_documented_permissions_suffice() {
        redis = TestRedis.absent("user w on >hush ~warmpath:* +@connection +set +del +exists +pexpire +hget +hset "
                + "+hdel +hgetall +hlen +xadd +xlen +xrange +xrevrange");
        redis.start();
        var properties = new RedisProperties(redis.uri(), false, "w", "hush", null, PATIENT, PATIENT, 100, 8);
        String id = "{a}:b*?[c]:\"8'\\%$~";
        Worker worker = new Worker(id, 7, properties).startAndWait();
        worker.store(LongStream.range(0, BLOCKS).toArray());
        for (int i = 0; i < 300; i++) {
            worker.store(-i);
        }
        await("everything", worker::isInRedis);
        await("a whole turn", () -> worker.announcer.status().problem() == null);
        assertThat(worker.announcer.status().restarts()).isZero();
        worker.announcer.close();
        assertThat(redis.commands().keys("*")).containsExactly(stream(id));
    }

    /** Whatever happens to Redis while the worker goes on, in the end everything is there. */
    @Tag("full")
    @Test
    void random_changes_and_breaks_end_with_the_workers_set() {
        redis.start();
        Worker worker = worker("w", 7).startAndWait();
        var random = new Random(11);
        for (int round = 0; round < 6; round++) {
            for (int i = 0; i < 200; i++) {
                long key = random.nextInt(1_000);
                BlockChange change = random.nextInt(100) == 0 ? new BlockChange.Cleared() : random.nextBoolean()
                        ? new Stored(Medium.DEVICE, new long[] {key}) : new Removed(Medium.DEVICE, new long[] {key});
                worker.publisher.publish(List.of(change));
            }
            switch (random.nextInt(4)) {
                case 0 -> redis.commands().flushall();
                case 1 -> redis.commands().clientPause(300);
                case 2 -> {
                    redis.kill();
                    redis.start();
                }
                default -> TestRedis.sleep(random.nextInt(300));
            }
        }
        await("everything in Redis", worker::isInRedis);
    }

    /** One that gives nothing up because the machine is held up. */
    private Worker worker(String id, long epoch) {
        return new Worker(id, epoch, new RedisProperties(redis.uri(), false, null, null, null, PATIENT, PATIENT, 10_000,
                8));
    }

    /** A worker that was held up takes a lease that has run out meanwhile anew. */
    private void assertLease(String key, Registration registration) {
        await("a lease", () -> redis.commands().get(key) instanceof byte[] sealed
                && json.readValue(TOKEN.open(text(sealed)), Registration.class).equals(registration));
    }

    private static Registration registration(String id, long epoch) {
        return new Registration(Protocol.VERSION, id, epoch, URI.create("http://127.0.0.1:8000"),
                new ModelDescription("tiny", PARTS.revision(), PARTS, 1, 512), BLOCKS, 8, true);
    }

    /** As a router does it; null while there is no whole copy. */
    private @Nullable Copy readCopy(String id) {
        byte[] stored = redis.commands().get(RedisLayout.checkpoint(id));
        if (stored == null) {
            return null;
        }
        Checkpoint checkpoint = Checkpoint.decode(stored);
        var keys = new KeySet();
        checkpoint.snapshot().changes().forEach(keys::apply);
        assertThat(keys.digest()).isEqualTo(checkpoint.snapshot().setDigest());
        long epoch = checkpoint.snapshot().epoch();
        long sequence = checkpoint.snapshot().sequence();
        var later = redis.commands().xrange(stream(id),
                Range.from(Range.Boundary.excluding(checkpoint.streamId()), Range.Boundary.unbounded()));
        for (StreamMessage<String, byte[]> entry : later) {
            KvEventBatch batch = KvEventCodec.decode(entry.getBody().get(RedisLayout.BATCH_FIELD));
            if (!batch.workerId().equals(id) || batch.epoch() != epoch || batch.sequence() <= sequence) {
                continue;
            }
            if (batch.sequence() != sequence + 1) {
                return null;                                       // trimmed meanwhile, or an old checkpoint
            }
            batch.changes().forEach(keys::apply);
            assertThat(keys.digest()).isEqualTo(batch.setDigest());
            sequence = batch.sequence();
        }
        return new Copy(epoch, sequence, keys);
    }

    private Checkpoint checkpoint(String id) {
        return Checkpoint.decode(redis.commands().get(RedisLayout.checkpoint(id)));
    }

    private List<StreamMessage<String, byte[]>> entriesOf(String id) {
        return redis.commands().xrange(stream(id), Range.unbounded());
    }

    private List<KvEventBatch> batchesOf(String id) {
        return entriesOf(id).stream().map(entry -> KvEventCodec.decode(entry.getBody().get("b"))).toList();
    }

    private static String stream(String id) {
        return RedisLayout.stream(RedisLayout.streamOf(id, 8));
    }

    private static String text(byte[] value) {
        return new String(value, StandardCharsets.UTF_8);
    }

    private static byte[] bytes(String value) {
        return value.getBytes(StandardCharsets.UTF_8);
    }
}
