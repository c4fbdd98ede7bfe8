package dev.warmpath.worker.foreign.event;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.sun.management.ThreadMXBean;
import dev.warmpath.protocol.block.BlockExtraKeys;
import dev.warmpath.worker.foreign.event.EngineEvent.Cleared;
import dev.warmpath.worker.foreign.event.EngineEvent.Removed;
import dev.warmpath.worker.foreign.event.EngineEvent.Stored;
import java.lang.management.ManagementFactory;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class EngineEventDecoderTest {

    private static final String K27_MAPS = "93cb3ff8000000000000938ba474797065ab426c6f636b53746f726564ac626c6f636b5f"
            + "68617368657392cf1e0b2e028ef071cbcfefad121d154ab2d6b1706172656e745f626c6f636b5f68617368c0a9746f6b656e"
            + "5f696473980102030405060708aa626c6f636b5f73697a6504a76c6f72615f6964c0a66d656469756da3475055a96c6f7261"
            + "5f6e616d65c0aa65787472615f6b65797392c0c0a967726f75705f69647800b26b765f63616368655f737065635f6b696e64"
            + "ae66756c6c5f617474656e74696f6e84a474797065ac426c6f636b52656d6f766564ac626c6f636b5f68617368657391cf1e"
            + "0b2e028ef071cba66d656469756da3475055a967726f75705f6964780081a474797065b0416c6c426c6f636b73436c656172"
            + "656400";
    private static final String K27_ARRAYS = "93cb3ff8000000000000939aab426c6f636b53746f72656492cf1e0b2e028ef071cbcfef"
            + "ad121d154ab2d6c098010203040506070804c0a3475055c0c0c094ac426c6f636b52656d6f76656491cf1e0b2e028ef071cb"
            + "a3475055c091b0416c6c426c6f636b73436c656172656400";
    private static final long FIRST = 2164874634404590027L;
    private static final long SECOND = Long.parseUnsignedLong("17270480062156288726");

    @ParameterizedTest
    @ValueSource(strings = {K27_MAPS, K27_ARRAYS})
    @DisplayName("K27: both encodings say the same")
    void a_store_of_two_blocks_a_removal_and_a_clear_are_read_in_order(String hex) {
        EngineBatch batch = EngineEventDecoder.decode(HexFormat.of().parseHex(hex));

        assertThat(batch.timeSeconds()).isEqualTo(1.5);
        assertThat(batch.rank()).isZero();
        assertThat(batch.events()).hasSize(3);
        Stored stored = (Stored) batch.events().getFirst();
        assertThat(stored.handles()).containsExactly(FIRST, SECOND);
        assertThat(stored.parent()).isNull();
        assertThat(stored.tokens()).containsExactly(1, 2, 3, 4, 5, 6, 7, 8);
        assertThat(stored.blockSize()).isEqualTo(4);
        assertThat(stored.place()).isEqualTo(new EngineEvent.Place("GPU", false, 0));
        assertThat(stored.extraKeys()).containsExactly(BlockExtraKeys.NONE, BlockExtraKeys.NONE);
        Removed removed = (Removed) batch.events().get(1);
        assertThat(removed.handles()).containsExactly(FIRST);
        assertThat(removed.place()).isEqualTo(new EngineEvent.Place("GPU", false, 0));
        assertThat(batch.events().get(2)).isEqualTo(new Cleared());
    }

    @Test
    @DisplayName("vLLM 0.20 and 0.32: the last 8 of 32 bytes are the integer form, of 16 as well")
    void a_hash_of_32_or_16_bytes_is_known_by_its_last_eight() {
        Stored arrays = (Stored) Messages.of("vllm-0.20-bytes").getFirst().decode().events().getFirst();
        Stored maps = (Stored) Messages.of("vllm-0.32-lora").getFirst().decode().events().getFirst();
        Stored next = (Stored) Messages.of("vllm-0.32-lora").get(1).decode().events().getFirst();
        Stored halves = (Stored) Messages.of("vllm-0.32-xxhash").get(1).decode().events().getFirst();

        assertThat(hex(arrays.handles())).containsExactly("acc1ce076f2f1610", "841d574d601f2825");
        assertThat(maps.handles()).isEqualTo(arrays.handles());
        assertThat(maps.tokens()).hasSize(64).startsWith(8905, 37403, 4235);
        assertThat(maps.attention()).isEqualTo("full_attention");
        assertThat(next.parent()).isEqualTo(maps.handles()[1]);
        assertThat(hex(halves.parent())).containsExactly("ce7c2745473f3733");
    }

    @Test
    @DisplayName("vLLM 0.32: an adapter stands in every block's keys, a salt in the first one's")
    void the_first_text_is_the_adapter_if_there_is_one_and_the_next_a_salt() {
        List<Messages.Message> messages = Messages.of("vllm-0.32-lora");

        assertThat(stored(messages.get(2)).extraKeys())
                .containsExactly(new BlockExtraKeys(null, List.of(), "tenant-a-salt"), BlockExtraKeys.NONE);
        assertThat(stored(messages.get(3)).extraKeys()).containsExactly(
                new BlockExtraKeys("tuned", List.of(), null), new BlockExtraKeys("tuned", List.of(), null));
        assertThat(stored(messages.get(4)).extraKeys()).containsExactly(
                new BlockExtraKeys("tuned", List.of(), "tenant-a-salt"), new BlockExtraKeys("tuned", List.of(), null));
        assertThat(messages.get(6).decode().events().getFirst()).isEqualTo(new Cleared());
    }

    @Test
    @DisplayName("SGLang 0.5: hashes with a sign, a salt in a field of its own, media by other names")
    void what_sglang_publishes_is_read_by_the_same_rules() {
        List<Messages.Message> messages = Messages.of("sglang-0.5");

        assertThat(stored(messages.getFirst()).handles())
                .containsExactly(5740554423035903369L, -278502217879090434L, -2837292943662424665L);
        assertThat(stored(messages.getFirst()).extraKeys()).hasSize(3).containsOnly(BlockExtraKeys.NONE);
        assertThat(stored(messages.get(1)).parent()).isEqualTo(-2837292943662424665L);
        assertThat(stored(messages.get(2)).place().isDevice()).isFalse();
        assertThat(stored(messages.get(2)).place().medium()).isEqualTo("CPU_PINNED");
        assertThat(stored(messages.get(3)).extraKeys())
                .containsExactly(new BlockExtraKeys("tuned", List.of(), "tenant-a"));
        assertThat(((Removed) messages.get(4).decode().events().getFirst()).handles())
                .containsExactly(8543599818136745634L, -2837292943662424665L);
        assertThat(messages.get(7).decode().events()).hasSize(2).startsWith(new Cleared());
    }

    @Test
    void media_are_pairs_and_what_cannot_be_hashed_ends_the_blocks_that_are_understood() {
        Map<String, Object> event = event("BlockStored", 4, 5, 6, 7);
        event.put("extra_keys", List.of(List.of(List.of("img", 3), "s:x"), List.of(List.of("img", -13)),
                List.of(new byte[32]), List.of()));

        assertThat(((Stored) only(event)).extraKeys()).containsExactly(
                new BlockExtraKeys(null, List.of(new BlockExtraKeys.Media("img", 3)), "s:x"),
                new BlockExtraKeys(null, List.of(new BlockExtraKeys.Media("img", -13)), null));
    }

    @Test
    void a_text_in_a_later_block_without_an_adapter_is_not_understood() {
        Map<String, Object> event = event("BlockStored", 4, 5);
        event.put("extra_keys", Arrays.asList(null, List.of("img")));

        assertThat(((Stored) only(event)).extraKeys()).containsExactly(BlockExtraKeys.NONE);
    }

    @Test
    void an_adapter_that_has_but_a_number_is_not_understood() {
        Map<String, Object> event = event("BlockStored", 4);
        event.put("lora_id", 1);

        assertThat(((Stored) only(event)).extraKeys()).isEmpty();
    }

    @Test
    void fields_and_events_that_are_not_known_are_passed_over_with_all_that_is_in_them() {
        Map<String, Object> event = event("BlockRemoved", 4);
        event.put("ownership", Map.of("a", List.of(1, List.of(2, Map.of("b", new byte[3])))));
        event.put("kv_cache_spec_sliding_window", 7);
        byte[] payload = Packed.bytes(Arrays.asList(2, Arrays.asList(
                Map.of("type", "BlockPinned", "block_hashes", List.of(List.of())), event, List.of("BlockPinned", 1, 2),
                Map.of(), List.of(), 7, null, Map.of(1, 2), Map.of("kind", List.of(3)), List.of(List.of(1))),
                null, "more", List.of()));

        EngineBatch batch = EngineEventDecoder.decode(payload);

        assertThat(batch.timeSeconds()).isNaN();
        assertThat(batch.rank()).isEqualTo(EngineBatch.NO_RANK);
        assertThat(batch.unknownEvents()).isEqualTo(9);
        assertThat(batch.events()).hasSize(1);
        assertThat(((Removed) batch.events().getFirst()).handles()).containsExactly(4);
    }

    @Test
    void an_array_longer_than_any_that_is_known_is_read_as_far_as_it_is() {
        byte[] payload = Packed.bytes(List.of(1.0, List.of(Arrays.asList("BlockStored", List.of(9), 8L, List.of(1, 2),
                2, null, "CPU", null, null, 3, "sliding_window", 128, "REMOTE", "owner", List.of("more")))));

        EngineBatch batch = EngineEventDecoder.decode(payload);

        Stored stored = (Stored) batch.events().getFirst();
        assertThat(stored.parent()).isEqualTo(8);
        assertThat(stored.place()).isEqualTo(new EngineEvent.Place("CPU", true, 3));
        assertThat(stored.attention()).isEqualTo("sliding_window");
        assertThat(batch.rank()).isEqualTo(EngineBatch.NO_RANK);
    }

    @Test
    void integers_and_bytes_may_stand_in_one_list() {
        byte[] bytes = new byte[32];
        bytes[31] = 7;
        Map<String, Object> event = event("BlockRemoved", 1);
        event.put("block_hashes", List.of(5, bytes, -1L, Arrays.copyOfRange(bytes, 16, 32)));

        assertThat(((Removed) only(event)).handles()).containsExactly(5, 7, -1, 7);
    }

    @ParameterizedTest
    @ValueSource(strings = {
            "",                                                                   // nothing
            "c1",                                                                 // a byte that MessagePack never uses
            "92", "93cb3ff8",                                                     // cut short
            "91cb3ff8000000000000",                                               // no events
            "93cb3ff80000000000009000c0",                                         // a byte too many
            "92c0dd7fffffff",                                                     // 2^31 - 1 events in no byte
            "92c0ddffffffff",                                                     // 2^32 - 1 of them
            "92c091dfffffffff",                                                   // an event of 2^32 - 1 fields
            "92c09192dbffffffff",                                                 // a kind of 2^32 - 1 bytes
            "92c09192ac426c6f636b52656d6f766564dd7fffffff",                       // 2^31 - 1 hashes
            "92c09192ac426c6f636b52656d6f76656491c67fffffff",                     // a hash of 2^31 - 1 bytes
            "92c09192ac426c6f636b52656d6f76656491c403010203",                     // a hash of 3 bytes
            "92c09192ac426c6f636b52656d6f76656491a161",                           // a hash that is a text
            "92c09194ab426c6f636b53746f72656491009101"                            // tokens missing
    })
    void what_is_no_batch_is_refused_and_takes_no_memory_for_what_it_claims(String hex) {
        byte[] payload = HexFormat.of().parseHex(hex);

        long before = allocatedBytes();
        assertThatThrownBy(() -> EngineEventDecoder.decode(payload)).isInstanceOf(EngineEventException.class);
        assertThat(allocatedBytes() - before).isLessThan(1 << 20);
    }

    @Test
    void negative_tokens_and_tokens_above_31_bits_are_refused() {
        Map<String, Object> negative = event("BlockStored", 1);
        negative.put("token_ids", List.of(-1));
        Map<String, Object> wide = event("BlockStored", 1);
        wide.put("token_ids", List.of(1L << 31));

        assertThatThrownBy(() -> only(negative)).isInstanceOf(EngineEventException.class).hasMessageContaining("-1");
        assertThatThrownBy(() -> only(wide)).isInstanceOf(EngineEventException.class);
    }

    @Test
    void a_million_lists_in_each_other_are_passed_over_without_a_stack() {
        byte[] payload = new byte[1_000_004];
        Arrays.fill(payload, (byte) 0x91);
        payload[0] = (byte) 0x92;                                           // a batch
        payload[1] = (byte) 0xc0;                                           // of no time
        payload[payload.length - 1] = (byte) 0xc0;

        assertThat(EngineEventDecoder.decode(payload).unknownEvents()).isEqualTo(1);
    }

    @Test
    void a_payload_above_16_MiB_and_a_text_above_4096_bytes_are_refused() {
        Map<String, Object> event = event("BlockStored", 1);
        event.put("lora_name", "x".repeat(4097));

        assertThatThrownBy(() -> only(event)).hasMessageContaining("4097");
        assertThatThrownBy(() -> EngineEventDecoder.decode(new byte[(16 << 20) + 1])).hasMessageContaining("16777217");
    }

    @Test
    @DisplayName("200 mutations of each captured message")
    void a_mutated_message_is_read_or_refused_and_takes_no_more_memory_than_its_size_allows() {
        long seed = new Random().nextLong();
        var random = new Random(seed);
        int refused = 0;
        for (Messages.Message message : Messages.all()) {
            for (int i = 0; i < 200; i++) {
                byte[] payload = mutated(message.payload(), random);
                long before = allocatedBytes();
                try {
                    EngineEventDecoder.decode(payload);
                } catch (EngineEventException e) {
                    refused++;
                }
                assertThat(allocatedBytes() - before).as("seed %d", seed).isLessThan((1 << 17) + 100L * payload.length);
            }
        }
        assertThat(refused).as("seed %d", seed).isGreaterThan(1000);
    }

    private static byte[] mutated(byte[] payload, Random random) {
        byte[] mutated = Arrays.copyOf(
                payload, random.nextInt(4) == 0 ? random.nextInt(payload.length) : payload.length);
        int edits = mutated.length == 0 ? 0 : 1 + random.nextInt(4);
        for (int i = 0; i < edits; i++) {
            // headers of arrays, maps, texts and bytes are the ones that claim
            mutated[random.nextInt(mutated.length)] = (byte) (random.nextBoolean()
                    ? 0xc0 + random.nextInt(0x20) : random.nextInt(256));
        }
        return mutated;
    }

    private static long allocatedBytes() {
        return ((ThreadMXBean) ManagementFactory.getThreadMXBean()).getCurrentThreadAllocatedBytes();
    }

    private static EngineEvent only(Map<String, Object> event) {
        return EngineEventDecoder.decode(Packed.batch(1, event)).events().getFirst();
    }

    private static Map<String, Object> event(String type, Object... hashes) {
        var event = new LinkedHashMap<String, Object>();
        event.put("type", type);
        event.put("block_hashes", List.of(hashes));
        return event;
    }

    private static Stored stored(Messages.Message message) {
        return (Stored) message.decode().events().getFirst();
    }

    private static List<String> hex(long... words) {
        return Arrays.stream(words).mapToObj(HexFormat.of()::toHexDigits).toList();
    }
}
