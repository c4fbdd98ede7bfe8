package dev.warmpath.router.audit;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.protocol.event.KvEventBatch;
import dev.warmpath.protocol.fleet.FleetToken;
import dev.warmpath.protocol.redis.RedisLayout;
import dev.warmpath.redislink.TestRedis;
import dev.warmpath.router.fleetlink.FakeWorker;
import dev.warmpath.router.fleetlink.LogWriter;
import dev.warmpath.router.fleetlink.TestRouter;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

class IndexCommandTest {

    private static final FleetToken TOKEN = FleetToken.of("hush");

    private final TestRedis redis = TestRedis.started(TestRouter.USER + " +xrange");
    private final FakeWorker fake = new FakeWorker("w", 7);
    private final LogWriter writer = new LogWriter(redis, fake, TOKEN);

    /** What a run printed, and its status. */
    private record Said(int status, String out, String err) {}

    IndexCommandTest() throws IOException {}

    @AfterEach
    void close() {
        redis.close();
        fake.close();
    }

    @Test
    void a_sound_index_is_told_worker_by_worker_and_ends_with_0() throws IOException {
        try (var other = new FakeWorker("x", 3)) {
            fake.next(1, 2, 3);
            writer.introduce();
            writer.announce(4);
            var otherWriter = new LogWriter(redis, other, TOKEN);
            otherWriter.announce(1, 2);
            otherWriter.introduce();
            Said said = run("--redis", TestRouter.uri(redis), "--warmpath.fleet.token=hush");

            assertThat(said.err()).isEmpty();
            assertThat(said.status()).isZero();
            assertThat(said.out().lines().map(line -> line.strip().replaceAll(" +", " "))).contains(
                    "w 7 yes 2 4 sequence 1, 3 keys, " + bytes("w") + " bytes, 1 entries since",
                    "x 3 yes 1 2 sequence 1, 2 keys, " + bytes("x") + " bytes, 0 entries since",
                    "2 workers, 6 pairs of worker and block, 4 different blocks; 1 stream entries read",
                    "all of it holds");
        }
    }

    private int bytes(String id) {
        return redis.commands().get(RedisLayout.checkpoint(id)).length;
    }

    @Test
    void a_worker_that_counts_other_streams_is_told_with_the_setting_that_finds_it() {
        fake.eventStreams = 64;
        fake.next(1, 2, 3);
        writer.introduce();
        writer.announce(4);
        Said eight = run("--redis", TestRouter.uri(redis), "--warmpath.fleet.token=hush");
        Said all = run("--redis", TestRouter.uri(redis), "--warmpath.fleet.token=hush",
                "--warmpath.redis.event-streams=64");

        assertThat(eight.status()).isOne();
        assertThat(eight.out()).contains(
                "it writes to one of 64 streams, 8 are looked at here: --warmpath.redis.event-streams=64");
        assertThat(all.status()).as(all.out()).isZero();
        assertThat(all.out()).contains("1 stream entries read", "all of it holds");
    }

    @Test
    void a_batch_that_is_missing_or_contradicted_is_told_and_ends_with_1() throws IOException {
        try (var other = new FakeWorker("x", 3)) {
            writer.introduce();
            fake.next(1);                                          // never written
            writer.announce(2);
            var otherWriter = new LogWriter(redis, other, TOKEN).introduce();
            KvEventBatch batch = other.next(9);
            otherWriter.append(new KvEventBatch("x", 3, 1, false, batch.changes(), 2, batch.setDigest()));
            otherWriter.appendBytes(new byte[] {1, 2, 3});
            Said said = run("--redis", redis.uri(), "--warmpath.fleet.token=hush");

            assertThat(said.status()).isEqualTo(1);
            assertThat(said.out()).contains("PROBLEM: worker w: batch 1 is not in its stream, batch 2 is",
                    "PROBLEM: worker x: set and digest differ: ", "PROBLEM: 1 entries of " + otherWriter.stream()
                            + " cannot be read", "not all of it holds");
        }
    }

    @Test
    void what_the_stream_has_lost_of_a_dead_worker_is_no_problem() {
        writer.introduce();
        redis.commands().del(RedisLayout.lease("w", 7));
        fake.next(1);                                              // trimmed
        writer.announce(2);
        Said said = run("--redis", redis.uri(), "--warmpath.fleet.token=hush");

        assertThat(said.out()).contains("all of it holds").doesNotContain("PROBLEM");
        assertThat(said.status()).isZero();
    }

    @Test
    void a_lease_with_another_seal_a_missing_checkpoint_and_rubbish_are_problems_and_a_left_over_worker_is_none() {
        writer.introduce();
        redis.commands().hset(RedisLayout.WORKERS, "left", LogWriter.bytes("5"));
        redis.commands().hset(RedisLayout.WORKERS, "new", LogWriter.bytes("6"));
        redis.commands().set(RedisLayout.lease("new", 6), LogWriter.bytes(TOKEN.seal("{}")));
        redis.commands().hset(RedisLayout.WORKERS, "odd", LogWriter.bytes("8"));
        redis.commands().set(RedisLayout.checkpoint("odd"), new byte[] {9});
        Said said = run("--json", "--redis", redis.uri(), "--warmpath.fleet.token=guessed");

        assertThat(said.status()).isEqualTo(1);
        JsonNode workers = JsonMapper.builder().build().readTree(said.out()).get("workers");
        assertThat(workers.valueStream().map(worker -> worker.get("id").asString() + worker.get("problems")))
                .containsExactly("left[]",
                        "new[\"its lease is not sealed with the fleet token given here (WARMPATH_FLEET_TOKEN)\","
                                + "\"it has a lease, but no checkpoint\"]",
                        "odd[\"its checkpoint cannot be read: checkpoint of 1 bytes is cut short\"]",
                        "w[\"its lease is not sealed with the fleet token given here (WARMPATH_FLEET_TOKEN)\"]");
        assertThat(workers.get(0).get("alive").asBoolean()).isFalse();
        assertThat(workers.get(3).get("checkpoint").get("sequence").asInt()).isZero();
    }

    @Test
    void mistakes_are_answered_with_a_sentence_and_2() {
        Stream.of(
                List.of(List.of(), "no Redis is named: give --redis URI, or set WARMPATH_REDIS_URI"),
                List.of(List.of("--all"), "index does not know '--all'; it takes --redis URI, --json and settings as "
                        + "--warmpath.redis.cluster=true"),
                List.of(List.of("--redis", "nonsense"), "warmpath.redis.uri 'nonsense' is not the address of a Redis"),
                List.of(List.of("--redis", "redis://127.0.0.1:1"),
                        "no Redis answers at 127.0.0.1:1 (Connection refused"))
                .forEach(mistake -> {
                    Said said = run(((List<?>) mistake.get(0)).toArray(String[]::new));
                    assertThat(said.status()).isEqualTo(2);
                    assertThat(said.err()).contains((String) mistake.get(1));
                });
    }

    private static Said run(String... arguments) {
        var out = new ByteArrayOutputStream();
        var err = new ByteArrayOutputStream();
        List<String> patient = new ArrayList<>(List.of(arguments));
        patient.addAll(List.of("--warmpath.redis.connect-timeout=30s", "--warmpath.redis.command-timeout=30s"));
        int status = IndexCommand.run(patient, new PrintStream(out, true, StandardCharsets.UTF_8),
                new PrintStream(err, true, StandardCharsets.UTF_8));
        return new Said(status, out.toString(StandardCharsets.UTF_8), err.toString(StandardCharsets.UTF_8));
    }
}
