package dev.warmpath.worker.compute;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.within;

import dev.warmpath.process.SharedModels;
import dev.warmpath.worker.model.weights.GgufFile;
import dev.warmpath.worker.model.weights.WeightTensor;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.Locale;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

class WeightFormatTest {

    @ParameterizedTest
    @CsvSource({"F32, 1, 4", "F16, 1, 2", "BF16, 1, 2", "Q8_0, 32, 34", "Q4_0, 32, 18", "Q4_1, 32, 20", "Q5_0, 32, 22",
        "Q5_1, 32, 24", "Q4_K, 256, 144", "Q5_K, 256, 176", "Q6_K, 256, 210"})
    void a_block_has_so_many_elements_and_bytes(WeightFormat format, int elements, int bytes) {
        assertThat(format.blockElements()).isEqualTo(elements);
        assertThat(format.blockBytes()).isEqualTo(bytes);
        assertThat(format.bytes(elements)).isEqualTo(bytes);
        assertThat(format.bytes(elements + 1)).isEqualTo(2 * bytes);
        assertThat(format.bytes(Long.MAX_VALUE)).isPositive();
    }

    /** d = 2, m = 0.5; nibbles that count up, fifth bits of the odd elements. */
    @Test
    void a_block_of_five_bits_is_worth_what_can_be_reckoned_by_hand() {
        var block = ByteBuffer.allocate(24).order(ByteOrder.LITTLE_ENDIAN);
        block.putShort((short) 0x4000).putShort((short) 0x3800).putInt(0xAAAA_AAAA);
        for (int i = 0; i < 16; i++) {
            block.put((byte) (15 - i << 4 | i));
        }
        var values = new float[32];
        WeightFormat.Q5_1.widen(MemorySegment.ofArray(block.array()), 0, 32, values);

        assertThat(values).startsWith(0.5f, 34.5f, 4.5f, 38.5f).endsWith(6.5f, 36.5f, 2.5f, 32.5f);
    }

    /** The largest, 127 · 0.75, says how long a step is; halves of one go away from zero. */
    @Test
    void values_become_the_nearest_of_255_steps() {
        var values = new float[32];
        float[] first = {95.25f, -95.25f, 0, 0.374f, 0.375f, -0.375f, 1.875f, -1.875f, 30};
        System.arraycopy(first, 0, values, 0, first.length);
        var block = MemorySegment.ofArray(new byte[36]);
        WeightFormat.toQ8(values, 32, block, 2);

        assertThat(block.asSlice(2, 11).toArray(ValueLayout.JAVA_BYTE))
                .containsExactly(0, 0x3A, 127, -127, 0, 0, 1, -1, 3, -3, 40);
        WeightFormat.Q8_0.widen(block.asSlice(2), 0, 32, values);
        assertThat(values).startsWith(95.25f, -95.25f, 0, 0, 0.75f, -0.75f, 2.25f, -2.25f, 30);
    }

    @Test
    void values_come_back_within_half_a_step_of_their_block_and_what_its_scale_loses() {
        var random = new SplittableRandom(3);
        var values = new float[32 * 1_000];
        for (int i = 0; i < values.length; i++) {
            values[i] = (float) (random.nextGaussian() * Math.scalb(1.0, i / 32 % 16 - 5));
        }
        var blocks = MemorySegment.ofArray(new byte[34 * 1_000]);
        var back = new float[values.length];
        WeightFormat.toQ8(values, values.length, blocks, 0);
        WeightFormat.Q8_0.widen(blocks, 0, values.length, back);

        for (int i = 0; i < values.length; i++) {
            float largest = 0;
            for (int j = i / 32 * 32; j < i / 32 * 32 + 32; j++) {
                largest = Math.max(largest, Math.abs(values[j]));
            }
            // of binary16, 11 bits: 127 steps are 127 / 2048 of one off at most
            assertThat(back[i]).isCloseTo(values[i], within(largest / 127 * (0.5f + 127 / 2048f)));
        }
    }

    @Test
    void what_is_no_number_stays_none_and_nothing_is_worth_nothing() {
        var block = MemorySegment.ofArray(new byte[34]);
        var values = new float[32];
        WeightFormat.toQ8(values, 32, block, 0);
        assertThat(block.toArray(ValueLayout.JAVA_BYTE)).containsOnly(0);
        for (float wrong : new float[] {Float.NaN, Float.NEGATIVE_INFINITY, 1e7f}) {
            values[5] = wrong;
            WeightFormat.toQ8(values, 32, block, 0);
            var back = new float[32];
            WeightFormat.Q8_0.widen(block, 0, 32, back);
            assertThat(back[5]).isNotFinite();
        }
    }

    @Test
    void a_block_is_not_cut() {
        MemorySegment two = MemorySegment.ofArray(new byte[68]);
        var values = new float[64];

        assertThatIllegalArgumentException().isThrownBy(() -> WeightFormat.Q8_0.widen(two, 0, 33, values))
                .withMessage("33 elements of Q8_0 from 0 on, whose blocks have 32");
        assertThatIllegalArgumentException().isThrownBy(() -> WeightFormat.Q8_0.widen(two, 16, 32, values))
                .withMessage("32 elements of Q8_0 from 16 on, whose blocks have 32");
    }

    /** Tensor by tensor, and again a block at a time. */
    @ParameterizedTest
    @EnumSource
    void every_value_of_a_file_is_what_gguf_py_makes_of_it_to_the_bit(WeightFormat format) throws Exception {
        Path folder = SharedModels.find("tiny-gguf");
        String name = "tiny-" + format.name().toLowerCase(Locale.ROOT);
        JsonNode expected = JsonMapper.shared().readTree(folder.resolve(name + ".json"));
        try (var file = GgufFile.open(folder.resolve(name + ".gguf").toRealPath())) {
            assertThat(file.tensors()).hasSize(21).filteredOn(tensor -> tensor.format() == format)
                    .hasSizeGreaterThan(10);
            for (int i = 0; i < 21; i++) {
                WeightTensor tensor = file.tensors().get(i);
                JsonNode facts = expected.path("tensors").path(i);
                assertThat(tensor.name()).isEqualTo(facts.path("name").asString());
                assertThat(tensor.shape()).hasToString(rowsAndColumns(facts));
                assertThat(tensor.format()).hasToString(facts.path("type").asString());
                int elements = tensor.shape().stream().reduce(1, (a, b) -> a * b);
                for (int atOnce : new int[] {elements, tensor.format().blockElements()}) {
                    assertThat(sha256(tensor, elements, atOnce)).as(tensor.name())
                            .isEqualTo(facts.path("sha256_of_float32_le").asString());
                }
            }
        }
    }

    @Test
    void a_model_becomes_the_bytes_that_gguf_py_makes_of_it() throws Exception {
        Path folder = SharedModels.find("tiny-gguf");
        try (var plain = GgufFile.open(folder.resolve("tiny-f32.gguf").toRealPath());
                var blocks = GgufFile.open(folder.resolve("tiny-q8_0.gguf").toRealPath())) {
            int compared = 0;
            for (WeightTensor expected : blocks.tensors()) {
                if (expected.format() == WeightFormat.Q8_0) {
                    WeightTensor tensor = plain.tensors().stream()
                            .filter(each -> each.name().equals(expected.name())).findFirst().orElseThrow();
                    int elements = tensor.shape().stream().reduce(1, (a, b) -> a * b);
                    var values = new float[elements];
                    tensor.format().widen(tensor.values(), 0, elements, values);
                    var made = MemorySegment.ofArray(new byte[(int) expected.values().byteSize()]);
                    WeightFormat.toQ8(values, elements, made, 0);
                    assertThat(made.mismatch(expected.values())).as(tensor.name()).isEqualTo(-1);
                    compared++;
                }
            }
            assertThat(compared).isGreaterThan(10);
        }
    }

    private static String rowsAndColumns(JsonNode facts) {
        return facts.path("rows_columns").valueStream().map(JsonNode::intValue).toList().toString();
    }

    private static String sha256(WeightTensor tensor, int elements, int atOnce)
            throws NoSuchAlgorithmException {
        var bytes = ByteBuffer.allocate(Float.BYTES * elements).order(ByteOrder.LITTLE_ENDIAN);
        var values = new float[atOnce];
        for (int first = 0; first < elements; first += atOnce) {
            tensor.format().widen(tensor.values(), first, atOnce, values);
            for (float value : values) {
                bytes.putFloat(value);
            }
        }
        return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(bytes.array()));
    }
}
