package dev.warmpath.worker.foreign.event;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.process.SharedFiles;
import dev.warmpath.protocol.block.HashSettings;
import dev.warmpath.protocol.event.KeySet;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** Everything that was captured of real publishers, from the frames as they came. */
class SharedCapturesTest {

    private static final JsonMapper JSON = JsonMapper.shared();
    private static final int EVERY_PORT = -1;
    /** By capture, the seed with which our hashes are the engine's; the others hash otherwise, or at random. */
    private static final Map<String, String> SEEDS = Map.of("vllm-0.32/cbor-int", "vllm-none-hash",
            "vllm-0.32/cbor-bytes", "0", "vllm-0.32/dp2", "0", "vllm-0.32/lora", "0", "vllm-0.20/cbor-bytes", "0");

    private record Captured(int portOffset, byte[][] frames, JsonNode decoded) {

        long sequence() {
            return ByteBuffer.wrap(frames[frames.length - 2]).getLong();
        }

        byte[] payload() {
            return frames[frames.length - 1];
        }
    }

    @TestFactory
    Stream<DynamicTest> every_message_is_read_as_it_was_by_python() {
        return everyFile("events").map(file -> DynamicTest.dynamicTest(nameOf(file), () -> {
            List<Captured> messages = read(file, EVERY_PORT);
            assertThat(messages).isNotEmpty();
            messages.forEach(SharedCapturesTest::compare);
        }));
    }

    @TestFactory
    Stream<DynamicTest> what_is_announced_is_the_set_of_blocks_that_the_engine_holds() {
        return everyFile("events").flatMap(file -> ports(file).stream().map(port ->
                DynamicTest.dynamicTest(nameOf(file) + " " + port, () -> follow(file, port))));
    }

    @TestFactory
    Stream<DynamicTest> a_replay_brings_the_same_as_the_messages_it_stands_for() {
        return everyFile("replay").flatMap(file -> lines(file).stream()
                .filter(row -> row.path("socket").asString().equals("DEALER"))
                .filter(row -> row.path("end_marker_seen").asBoolean())
                .map(row -> DynamicTest.dynamicTest(nameOf(file) + " " + row.path("label").asString(),
                        () -> replay(file, row))));
    }

    @Test
    void an_engine_with_our_seed_has_our_hashes_but_where_it_writes_tags() {
        assertThat(equalHashes("vllm-0.20/cbor-bytes")).isEqualTo(new long[] {8, 8});           // a bare salt
        assertThat(equalHashes("vllm-0.32/cbor-bytes")[1] - equalHashes("vllm-0.32/cbor-bytes")[0]).isEqualTo(2);
        assertThat(equalHashes("vllm-0.32/lora")).isEqualTo(new long[] {6, 13});    // salts, adapters: 2 + 2 + 2 + 1
    }

    private static long[] equalHashes(String capture) {
        Path file = SharedFiles.find("engines").resolve(capture).resolve("events.jsonl");
        EventFollower follower = follower(file, new KeySet(), false);
        read(file, EVERY_PORT).forEach(message -> follower.live(message.sequence(), message.payload()));
        return new long[] {follower.counts().equalHashes(), follower.counts().stored()};
    }

    private static void follow(Path file, int port) {
        var announced = new KeySet();
        EventFollower follower = follower(file, announced, false);
        var held = new HashMap<String, Integer>();
        long last = -1;
        int expectedRestarts = 0;
        for (Captured message : read(file, port)) {
            follower.live(message.sequence(), message.payload());
            if (message.sequence() <= last) {
                expectedRestarts++;
                held.clear();
            }
            last = message.sequence();
            message.decoded().path("batch").path(1).forEach(event -> count(event, held));
            assertThat(announced.size()).as("after %d", last).isEqualTo(held.size());
        }
        EventCounts counts = follower.counts();
        assertThat(counts.restarts()).isEqualTo(expectedRestarts);
        assertThat(counts.broken() + counts.unknown() + counts.gaps() + counts.unproved() + counts.strayRemoved())
                .isZero();
        assertThat(counts.announced()).isEqualTo(held.size());
    }

    /** The books of this test: copies by the hash as Python printed it, of the device alone. */
    private static void count(JsonNode event, Map<String, Integer> held) {
        Map<String, JsonNode> fields = fields(event);
        switch (fields.get("type").asString()) {
            case "BlockStored" -> {
                if (fields.get("medium").asString().equals("GPU")) {
                    fields.get("block_hashes").forEach(hash -> held.merge(hash.toString(), 1, Integer::sum));
                }
            }
            case "BlockRemoved" -> {
                if (fields.get("medium").asString().equals("GPU")) {
                    fields.get("block_hashes").forEach(hash -> held.computeIfPresent(
                            hash.toString(), (_, copies) -> copies == 1 ? null : copies - 1));
                }
            }
            default -> held.clear();
        }
    }

    private static void replay(Path file, JsonNode row) {
        var replayedKeys = new KeySet();
        EventFollower replayed = follower(file, replayedKeys, true);
        replayed.connected();
        var sequences = new ArrayList<Long>();
        for (JsonNode answer : row.path("replies")) {
            Captured message = captured(answer, 0);
            assertThat(replayed.replayed(message.sequence(), message.payload())).isEqualTo(EventFollower.NOTHING);
            if (message.sequence() >= 0) {
                sequences.add(message.sequence());
            }
        }
        assertThat(replayed.isRepairing()).isFalse();
        assertThat(replayed.counts().replayed()).isEqualTo(sequences.size());

        int port = row.path("label").asString().startsWith("rank-1") ? 1 : 0;
        var liveKeys = new KeySet();
        EventFollower live = follower(file, liveKeys, false);
        read(file.resolveSibling("events.jsonl"), port).stream()
                .filter(message -> sequences.contains(message.sequence()))
                .forEach(message -> live.live(message.sequence(), message.payload()));
        assertThat(replayedKeys.size()).isEqualTo(liveKeys.size());
        assertThat(replayedKeys.digest()).isEqualTo(liveKeys.digest());
    }

    private static void compare(Captured message) {
        EngineBatch batch = EngineEventDecoder.decode(message.payload());
        JsonNode expected = message.decoded().path("batch");
        assertThat(message.decoded().path("seq").asLong()).isEqualTo(message.sequence());
        assertThat(batch.timeSeconds()).isEqualTo(expected.path(0).asDouble());
        assertThat(batch.rank()).isEqualTo(expected.path(2).asInt());
        assertThat(batch.unknownEvents()).isZero();
        assertThat(batch.events()).hasSize(expected.path(1).size());
        for (int i = 0; i < batch.events().size(); i++) {
            compare(batch.events().get(i), fields(expected.path(1).path(i)));
        }
    }

    private static void compare(EngineEvent event, Map<String, JsonNode> expected) {
        String type = expected.get("type").asString();
        switch (event) {
            case EngineEvent.Stored stored -> {
                assertThat(type).isEqualTo("BlockStored");
                assertThat(stored.handles()).isEqualTo(handles(expected.get("block_hashes")));
                assertThat(stored.parent()).isEqualTo(handleOrNull(expected.get("parent_block_hash")));
                assertThat(stored.tokens()).isEqualTo(JSON.convertValue(expected.get("token_ids"), int[].class));
                assertThat(stored.blockSize()).isEqualTo(expected.get("block_size").asInt());
                assertThat(stored.place().medium()).isEqualTo(expected.get("medium").asString());
                assertThat(stored.extraKeys()).hasSize(stored.handles().length);
            }
            case EngineEvent.Removed removed -> {
                assertThat(type).isEqualTo("BlockRemoved");
                assertThat(removed.handles()).isEqualTo(handles(expected.get("block_hashes")));
                assertThat(removed.place().medium()).isEqualTo(expected.get("medium").asString());
            }
            case EngineEvent.Cleared() -> assertThat(type).isEqualTo("AllBlocksCleared");
        }
    }

    private static Map<String, JsonNode> fields(JsonNode event) {
        var fields = new LinkedHashMap<String, JsonNode>();
        if (event.isObject()) {
            event.properties().forEach(field -> fields.put(field.getKey(), field.getValue()));
            return fields;
        }
        List<String> names = event.path(0).asString().equals("BlockRemoved")
                ? List.of("type", "block_hashes", "medium") : List.of("type", "block_hashes", "parent_block_hash",
                        "token_ids", "block_size", "lora_id", "medium", "lora_name", "extra_keys");
        for (int i = 0; i < Math.min(names.size(), event.size()); i++) {
            fields.put(names.get(i), event.get(i));
        }
        return fields;
    }

    private static long[] handles(JsonNode hashes) {
        return hashes.valueStream().mapToLong(SharedCapturesTest::handle).toArray();
    }

    private static @Nullable Long handleOrNull(JsonNode hash) {
        return hash.isNull() ? null : handle(hash);
    }

    private static long handle(JsonNode hash) {
        BigInteger value = hash.isObject() ? new BigInteger(hash.path("hex").asString(), 16) : hash.bigIntegerValue();
        return value.longValue();
    }

    private static EventFollower follower(Path file, KeySet announced, boolean hasReplay) {
        Path folder = file.getParent();
        String seed = SEEDS.getOrDefault(
                folder.getParent().getFileName() + "/" + folder.getFileName(), HashSettings.DEFAULT_SEED);
        int blockSize = fields(read(folder.resolve("events.jsonl"), EVERY_PORT).getFirst()
                .decoded().path("batch").path(1).path(0)).get("block_size").asInt();
        return new EventFollower(new EngineBlocks(new HashSettings(HashSettings.SHA256_CBOR, seed, blockSize), 1000),
                changes -> changes.forEach(announced::apply), hasReplay);
    }

    private static Set<Integer> ports(Path file) {
        return Set.copyOf(read(file, EVERY_PORT).stream().map(Captured::portOffset).toList());
    }

    private static Stream<Path> everyFile(String beginning) {
        try (Stream<Path> files = Files.walk(SharedFiles.find("engines"))) {
            List<Path> found = files.filter(file -> file.getFileName().toString().startsWith(beginning)
                    && file.toString().endsWith(".jsonl")).sorted().toList();
            assertThat(found).hasSizeGreaterThan(7);
            return found.stream();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static String nameOf(Path file) {
        return SharedFiles.find("engines").relativize(file).toString();
    }

    private static List<Captured> read(Path file, int port) {
        return lines(file).stream().map(row -> captured(row, row.path("port_offset").asInt()))
                .filter(message -> port == EVERY_PORT || message.portOffset() == port).toList();
    }

    private static Captured captured(JsonNode row, int port) {
        byte[][] frames = row.path("frames").valueStream()
                .map(frame -> HexFormat.of().parseHex(frame.asString())).toArray(byte[][]::new);
        return new Captured(port, frames, row.path("decoded"));
    }

    private static List<JsonNode> lines(Path file) {
        try {
            return Files.readAllLines(file).stream().map(JSON::readTree).toList();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
