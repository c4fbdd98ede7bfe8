package dev.warmpath.worker.model;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.warmpath.process.GgufWriter;
import dev.warmpath.worker.model.source.ModelSource;
import dev.warmpath.worker.model.weights.WeightFileException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** One good GGUF file, and hundreds that differ from it in one place. */
class MutatedGgufTest {

    @TempDir
    private Path folder;
    private Path file;
    private Refusals refusals;

    /** A number in the header that says how much of something follows, or of what type. */
    private record Field(String what, int at, int bytes) {
    }

    @BeforeEach
    void a_file_that_is_taken() throws IOException {
        file = good().write(folder.resolve("mutant.gguf"));
        refusals = new Refusals(file);
        refusals.requireTaken();
    }

    private static GgufWriter good() {
        return GgufWriter.llama(6).put("llama.vocab_size", 6).put("general.name", "good").put("general.alignment", 32)
                .put("tokenizer.ggml.model", "gpt2").put("tokenizer.ggml.pre", "gpt-2")
                .put("tokenizer.ggml.tokens", List.of("a", "b", "ab", "abb", "<|begin|>", "<|end|>"))
                .put("tokenizer.ggml.token_type", new int[] {1, 1, 1, 1, 3, 3})
                .put("tokenizer.ggml.merges", List.of("a b", "ab b")).put("tokenizer.ggml.bos_token_id", 4)
                .put("tokenizer.ggml.eos_token_id", 5).put("tokenizer.ggml.add_bos_token", true)
                .put("tokenizer.chat_template", "{{ messages }}");
    }

    /** Walks a good header, by the format's description and not by the reader that is tested. */
    private static List<Field> fields(byte[] bytes) {
        var in = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN).position(4);
        List<Field> fields = new ArrayList<>(List.of(new Field("version", 4, 4), new Field("tensors", 8, 8),
                new Field("keys", 16, 8)));
        in.position(8);
        long tensors = in.getLong();
        long keys = in.getLong();
        for (long i = 0; i < keys; i++) {
            String key = string(in, "key " + i, fields);
            fields.add(new Field("type of " + key, in.position(), 4));
            skipValue(in, in.getInt(), key, fields);
        }
        for (long i = 0; i < tensors; i++) {
            String name = string(in, "tensor " + i, fields);
            fields.add(new Field("dimensions of " + name, in.position(), 4));
            int dimensions = in.getInt();
            for (int d = 0; d < dimensions; d++) {
                fields.add(new Field("dimension " + d + " of " + name, in.position(), 8));
                in.getLong();
            }
            fields.add(new Field("type of tensor " + name, in.position(), 4));
            in.getInt();
            fields.add(new Field("offset of " + name, in.position(), 8));
            in.getLong();
        }
        return fields;
    }

    private static String string(ByteBuffer in, String what, List<Field> fields) {
        fields.add(new Field("length of " + what, in.position(), 8));
        var text = new byte[(int) in.getLong()];
        in.get(text);
        return new String(text, StandardCharsets.UTF_8);
    }

    private static void skipValue(ByteBuffer in, int type, String key, List<Field> fields) {
        switch (type) {
            case GgufWriter.STRING -> string(in, "the text of " + key, fields);
            case GgufWriter.ARRAY -> {
                fields.add(new Field("type of elements of " + key, in.position(), 4));
                int elements = in.getInt();
                fields.add(new Field("number of elements of " + key, in.position(), 8));
                long count = in.getLong();
                for (long i = 0; i < count; i++) {
                    skipValue(in, elements, key + "[" + i + "]", fields);
                }
            }
            case GgufWriter.BOOL -> in.get();
            default -> in.getInt();
        }
    }

    private static byte[] with(byte[] good, Field field, long value) {
        byte[] bytes = good.clone();
        var place = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
        if (field.bytes == 4) {
            place.putInt(field.at, (int) value);
        } else {
            place.putLong(field.at, value);
        }
        return bytes;
    }

    private static long value(byte[] bytes, Field field) {
        var place = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
        return field.bytes == 4 ? place.getInt(field.at) : place.getLong(field.at);
    }

    @Test
    void every_count_length_type_and_offset_of_the_header_is_refused_when_it_is_another() throws IOException {
        byte[] good = good().bytes();
        for (Field field : fields(good)) {
            // one number is as good as another: 4 of uint32 and 5 of int32
            long[] others = field.what.startsWith("type of ") ? new long[] {-1, 9, 13, 1 << 16, Integer.MIN_VALUE}
                    : new long[] {value(good, field) + 1, -1, 40, Integer.MAX_VALUE, 1L << 40, Long.MIN_VALUE};
            for (long other : others) {
                byte[] mutant = with(good, field, other);
                if (!Arrays.equals(mutant, good)) {
                    refusals.requireRefused(field.what + " is " + other, file, mutant);
                }
            }
        }
        assertThat(refusals.count).isGreaterThan(600);
    }

    @Test
    void a_file_that_ends_anywhere_is_refused() throws IOException {
        byte[] good = good().bytes();
        int step = good.length / 211;
        for (int length = 0; length < good.length; length += step) {
            refusals.requireRefused("cut to " + length, file, Arrays.copyOf(good, length));
        }
        refusals.requireRefused("one byte too short", file, Arrays.copyOf(good, good.length - 1));
        assertThat(refusals.requireRefused("one byte too long", file, Arrays.copyOf(good, good.length + 1)))
                .endsWith("1 bytes belong to no tensor");
        assertThat(refusals.count).isGreaterThan(211);
    }

    /** Of flips of one bit each, those in texts may be taken. */
    @Test
    void whatever_bit_flips_nothing_but_a_refusal_comes_of_it() throws IOException {
        byte[] good = good().bytes();
        int header = fields(good).getLast().at + 8;
        var random = new SplittableRandom(19);
        int refused = 0;
        for (int i = 0; i < 600; i++) {
            byte[] bytes = good.clone();
            bytes[random.nextInt(header)] ^= (byte) (1 << random.nextInt(8));
            refused += refusals.survive(file, bytes) ? 1 : 0;
        }
        assertThat(refused).isBetween(300, 599);
    }

    @ParameterizedTest
    @ValueSource(strings = {"general.architecture", "llama.context_length", "llama.embedding_length",
        "llama.block_count", "llama.feed_forward_length", "llama.attention.head_count",
        "llama.attention.layer_norm_rms_epsilon", "tokenizer.ggml.model", "tokenizer.ggml.tokens"})
    void a_key_that_is_missing_is_refused_by_its_name(String key) throws IOException {
        assertThat(refusals.requireRefused(key, file, good().without(key).bytes()))
                .contains("key " + key + " at byte ");
    }

    @ParameterizedTest
    @ValueSource(strings = {"token_embd.weight", "output_norm.weight", "blk.0.attn_norm.weight", "blk.0.attn_q.weight",
        "blk.0.attn_k.weight", "blk.0.attn_v.weight", "blk.0.attn_output.weight", "blk.0.ffn_norm.weight",
        "blk.0.ffn_gate.weight", "blk.0.ffn_up.weight", "blk.0.ffn_down.weight"})
    void a_tensor_that_is_missing_or_turned_round_is_refused(String name) throws IOException {
        refusals.requireRefused("without " + name, file, good().withoutTensor(name).bytes());
        refusals.requireRefused("turned " + name, file, good().ones(name, 2, 4, 1).bytes());
        refusals.requireRefused("doubled " + name, file, good().ones(name.replace("blk.0", "blk.1") + "s", 4).bytes());
    }

    /** Each with what the message says of it. */
    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {
        "general.architecture   | mamba   | key general.architecture at byte | is mamba, takes [llama",
        "tokenizer.ggml.model   | rwkv    | key tokenizer.ggml.model at byte | is rwkv, takes gpt2 and llama",
        "tokenizer.ggml.pre     | unheard | key tokenizer.ggml.pre at byte   | is unheard, takes [a.x-4.0, bailingmoe",
        "llama.expert_kind      | any     | key llama.expert_kind at byte    | is nothing that this worker understands",
        "llama.block_count      | two     | key llama.block_count at byte    | is no whole number",
        "general.alignment      | 32      | key general.alignment at byte    | is no power of two",
        "tokenizer.ggml.tokens  | a       | key tokenizer.ggml.tokens at byte | is no array of STRING",
        "tokenizer.ggml.add_bos_token | 1 | key tokenizer.ggml.add_bos_token at byte | is neither true nor false"})
    void a_text_that_should_be_something_else_is_refused_by_its_key(String key, String text, String where, String why)
            throws IOException {
        assertThat(refusals.requireRefused(key, file, good().put(key, text).bytes())).contains(where, why);
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {
        "general.alignment             | 0          | is no power of two up to 1048576",
        "general.alignment             | 24         | is no power of two up to 1048576",
        "general.alignment             | 2097152    | is no power of two up to 1048576",
        "llama.block_count             | 2          | model.layers.1.input_layernorm.weight is missing",
        "llama.block_count             | 2147483647 | is 2147483647, of a file of 11 tensors",
        "llama.embedding_length        | 2147483644 | model.embed_tokens.weight is of shape [6, 8]",
        "llama.feed_forward_length     | 2147483647 | mlp.gate_proj.weight is of shape [16, 8]",
        "llama.block_count             | -1         | is no whole number from 0 to 2147483647",
        "llama.embedding_length        | 0          | hidden_size is 0, takes a whole number from 1 on",
        "llama.attention.head_count    | 3          | ",
        "llama.attention.key_length    | 6          | attention.value_length",
        "llama.expert_count            | 8          | is 8: mixtures of experts are not served",
        "llama.attention.sliding_window | 16        | llama.attention.sliding_window",
        "llama.rope.dimension_count    | 2          | key llama.rope.dimension_count at byte",
        "tokenizer.ggml.eos_token_id   | 6          | is 6, of 6 tokens",
        "split.count                   | 2          | is 2: the first of so many"})
    void a_number_that_does_not_fit_is_refused(String key, int number, String why) throws IOException {
        assertThat(refusals.requireRefused(key, file, good().put(key, number).bytes()))
                .contains(why == null ? "" : why);
    }

    @Test
    void a_vocabulary_that_contradicts_itself_is_refused() throws IOException {
        assertThat(refusals.requireRefused("twice", file,
                good().put("tokenizer.ggml.tokens", List.of("a", "b", "ab", "a", "<|begin|>", "<|end|>")).bytes()))
                .contains("has the same text for tokens 0 and 3");
        assertThat(refusals.requireRefused("too many", file,
                good().put("tokenizer.ggml.tokens", List.of("a", "b", "ab", "abb", "<|begin|>", "<|end|>", "c"))
                        .without("tokenizer.ggml.token_type").bytes())).contains("has 7 tokens, but the embedding 6");
        assertThat(refusals.requireRefused("kinds", file,
                good().put("tokenizer.ggml.token_type", new int[] {1, 1}).bytes()))
                .contains("has 2 kinds for 6 tokens");
        for (String merge : List.of("a c", "b a", "ab", "a b b", " ab", "ab ", "")) {
            assertThat(refusals.requireRefused(merge, file,
                    good().put("tokenizer.ggml.merges", List.of("a b", merge)).bytes()))
                    .contains("key tokenizer.ggml.merges at byte", "has merge 1, '" + merge + "'");
        }
        assertThat(refusals.requireRefused("scores", file, good().put("tokenizer.ggml.model", "llama").bytes()))
                .contains("key tokenizer.ggml.scores at byte 0: has 0 scores for 6 tokens");
        assertThat(refusals.requireRefused("begin", file, good().without("tokenizer.ggml.bos_token_id").bytes()))
                .contains("key tokenizer.ggml.add_bos_token", "is true, but the file does not say which token that is");
    }

    /** Each of its cuts would be a merge: some billions, of a file of two megabytes. */
    @Test
    void a_vocabulary_that_is_made_to_explode_is_refused() throws IOException {
        List<String> pieces = IntStream.rangeClosed(1, 2_000).mapToObj("a"::repeat).toList();
        GgufWriter exploding = GgufWriter.llama(pieces.size()).put("tokenizer.ggml.model", "llama")
                .put("tokenizer.ggml.tokens", pieces).put("tokenizer.ggml.scores", new float[pieces.size()]);
        Files.write(file, exploding.bytes());

        assertThatThrownBy(() -> ModelSource.of(file).file(ModelSource.TOKENIZER))
                .isInstanceOf(WeightFileException.class)
                .hasMessageContaining("has token 512, of 513 characters, behind 128781 merges, takes 512 and 1048576");
        List<String> nothing = Collections.nCopies((1 << 20) + 1, "");
        Files.write(file, GgufWriter.llama(3).put("tokenizer.ggml.model", "gpt2")
                .put("tokenizer.ggml.tokens", nothing).bytes());
        assertThatThrownBy(() -> ModelSource.of(file).file(ModelSource.TOKENIZER))
                .isInstanceOf(WeightFileException.class)
                .hasMessageContaining("has 1048577 tokens, takes 1048576");
    }

    @Test
    void a_format_that_nobody_computes_here_is_refused_by_its_name() throws IOException {
        assertThat(refusals.requireRefused("Q2_K", file,
                good().tensor("blk.0.ffn_down.weight", 10, new byte[84], 1, 256).bytes())).contains(
                "tensor blk.0.ffn_down.weight at byte", "is stored as Q2_K, takes [F32, F16, BF16, Q8_0, Q4_0, Q4_1, ");
        assertThat(refusals.requireRefused("Q8_0", file,
                good().tensor("blk.0.ffn_down.weight", 8, new byte[34], 2, 16).bytes()))
                .contains("rows of 16 elements end within a block of Q8_0");
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {"1 | version 1, takes 2 and 3", "4 | version 4, takes 2 and 3",
        "50331648 | version 50331648, takes 2 and 3, little-endian"})
    void a_version_that_is_not_known_and_the_other_order_of_bytes_are_refused(int version, String why)
            throws IOException {
        assertThat(refusals.requireRefused(why, file, good().version(version).bytes())).endsWith(why);
    }

    @Test
    void version_two_is_taken() throws IOException {
        good().version(2).write(file);
        refusals.requireTaken();
    }
}
