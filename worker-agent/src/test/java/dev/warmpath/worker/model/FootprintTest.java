package dev.warmpath.worker.model;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.warmpath.worker.compute.AttentionSpec;
import dev.warmpath.worker.compute.CacheType;
import dev.warmpath.worker.compute.ComputeBackend;
import dev.warmpath.worker.compute.MemoryPlace;
import dev.warmpath.worker.compute.cpu.ScalarBackend;
import dev.warmpath.worker.compute.cpu.VectorBackend;
import dev.warmpath.worker.compute.cuda.CudaBackends;
import dev.warmpath.worker.compute.cuda.OnEmulatedDevice;
import dev.warmpath.worker.model.source.ModelSource;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Collections;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The model that ships, and one that is not what its configuration says, for steps of 512 tokens of 64 sequences. */
class FootprintTest {

    private static final StepSettings STEPS = new StepSettings(16, 16, 512, 64, 1);

    @TempDir
    Path folder;

    @Test
    void weights_are_counted_as_the_backend_keeps_them_and_as_the_file_has_them() throws IOException {
        try (var backend = new ScalarBackend()) {
            Footprint footprint = footprint(Quantization.NONE, backend);

            // 2,755,008 elements of two bytes
            assertThat(footprint.fileBytes()).isEqualTo(5_510_016);
            // the same in four: 11,020,032; activations of 512 tokens 5,373,952; rows of 64 sequences that are sampled
            // 671,744; adjustments of logits 4,194,304; angles 262,144; the rest indexes and scores
            assertThat(footprint.bytes(MemoryPlace.HEAP, 2_048)).isBetween(21_522_176L, 21_800_000L);
            assertThat(footprint.bytes(MemoryPlace.NATIVE, 2_048)).isZero();
            assertThat(footprint.bytes(MemoryPlace.DEVICE, 2_048)).isZero();
        }
    }

    @Test
    void a_context_takes_a_row_of_the_rotary_table_for_each_token_and_room_in_the_block_tables() throws IOException {
        try (var backend = new ScalarBackend()) {
            Footprint footprint = footprint(Quantization.NONE, backend);

            // 32 angles, cosine or sine, and 4 bytes a block of 16 for each of 64 sequences
            long perToken = 32 * 4 + 64 * 4 / 16;
            assertThat(footprint.bytes(MemoryPlace.HEAP, 131_072) - footprint.bytes(MemoryPlace.HEAP, 2_048))
                    .isEqualTo((131_072 - 2_048) * perToken);
        }
    }

    @Test
    void weights_that_are_quantized_are_counted_as_they_are_uploaded() throws IOException {
        try (var backend = new VectorBackend(1)) {
            // 393,216 elements of the embedding stay in 16 bits, 2,359,296 of linear layers take 9
            assertThat(footprint(Quantization.INT8, backend).bytes(MemoryPlace.NATIVE, 2_048))
                    .isEqualTo(393_216 * 2 + 2_359_296 * 9 / 8);
            assertThat(footprint(Quantization.INT8, backend).fileBytes()).isEqualTo(5_510_016);
        }
    }

    @Test
    @OnEmulatedDevice
    void a_card_takes_8_and_a_half_bits_of_an_element_that_is_quantized_in_place_of_16() throws IOException {
        try (var backend = CudaBackends.emulated(CacheType.BF16)) {
            assertThat(footprint(Quantization.NONE, backend).bytes(MemoryPlace.DEVICE, 2_048)
                    - footprint(Quantization.INT8, backend).bytes(MemoryPlace.DEVICE, 2_048))
                    .as("less, but for 32 MiB to widen blocks in").isEqualTo(2_359_296 / 2 * 15 / 8 - (32 << 20));
        }
    }

    /** Of the two contexts that are measured, one is shorter than the window and one longer. */
    @Test
    void each_group_of_the_cache_takes_block_tables_whether_the_context_reaches_past_its_window_or_not()
            throws IOException {
        AttentionSpec whole = AttentionSpec.plain(10);
        RandomLlama model = RandomLlama.create(1, List.of(whole, new AttentionSpec(whole.scale(), 1_500,
                AttentionSpec.NO_CAP, false)));
        model.write(folder);
        try (var backend = new ScalarBackend()) {
            Footprint footprint = Footprint.of(ModelSource.of(folder), model.config(), Quantization.NONE, backend,
                    STEPS);

            // 10 angles, cosine or sine, and in each of two groups 4 bytes a block of 16 for each of 64 sequences
            long perToken = 10 * 4 + 2 * 64 * 4 / 16;
            assertThat(footprint.bytes(MemoryPlace.HEAP, 65_536) - footprint.bytes(MemoryPlace.HEAP, 1_024))
                    .isEqualTo((65_536 - 1_024) * perToken);
        }
    }

    @Test
    void a_tensor_that_the_configuration_promises_and_no_file_has_is_found_without_a_load() throws IOException {
        RandomLlama.create(1).write(folder);
        ModelConfig threeLayers = RandomLlama.create(1, Collections.nCopies(3, AttentionSpec.plain(10))).config();
        try (var backend = new ScalarBackend()) {
            assertThatThrownBy(() ->
                    Footprint.of(ModelSource.of(folder), threeLayers, Quantization.NONE, backend, STEPS))
                    .isInstanceOf(UnsupportedModelException.class)
                    .hasMessageContaining("tensor model.layers.2.").hasMessageContaining("is missing");
        }
    }

    private static Footprint footprint(Quantization quantization, ComputeBackend backend) throws IOException {
        return Footprint.of(ModelSource.of(Golden.MODEL), config(), quantization, backend, STEPS);
    }

    private static ModelConfig config() throws IOException {
        return ModelConfig.read(Golden.MODEL.resolve("config.json"));
    }
}
