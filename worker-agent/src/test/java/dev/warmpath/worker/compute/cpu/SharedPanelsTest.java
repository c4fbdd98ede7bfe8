package dev.warmpath.worker.compute.cpu;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.warmpath.worker.compute.ComputeException;
import dev.warmpath.worker.compute.DataType;
import dev.warmpath.worker.compute.Tensor;
import dev.warmpath.worker.compute.WeightFormat;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;

/** Weights of 200 × 256, the rows of one format behind those of another. */
@EnabledOnOs(OS.LINUX)
class SharedPanelsTest {

    private static final int ROWS = 200;
    private static final int COLUMNS = 256;
    private static final long CAPACITY = 1 << 20;

    @TempDir
    private Path folder;

    @Test
    void what_one_has_packed_the_other_takes_over_without_reading_a_value() throws IOException {
        try (var first = sharing("model"); var second = new VectorBackend(1)) {
            float[] expected = products(first, load(first, 1));
            first.endUploads();

            second.shareWeights(folder, "model", 1 << 22);
            Tensor weight = load(second, /* of other values, if they were read */ 2);

            assertThat(products(second, weight)).containsExactly(expected);
            assertThat(second.adopt(second.allocateWeight(0, COLUMNS), 0, 0, WeightFormat.F32)).isTrue();
        }
    }

    /** Of 200 rows of float16 the 70th holds an infinity, so that its panel is float32, wherever it is. */
    @Test
    void what_values_have_decided_is_decided_for_all() throws IOException {
        try (var first = sharing("model"); var second = new VectorBackend(1)) {
            Tensor weight = first.allocateWeight(ROWS, COLUMNS);
            MemorySegment values = values(WeightFormat.F16, ROWS, 3);
            values.set(ValueLayout.JAVA_SHORT_UNALIGNED, 70L * COLUMNS * Short.BYTES, Float.floatToFloat16(1f / 0));
            first.upload(weight, 0, ROWS, WeightFormat.F16, values);
            first.endUploads();

            second.shareWeights(folder, "model", 1 << 22);
            Tensor shared = second.allocateWeight(ROWS, COLUMNS);
            assertThat(second.adopt(shared, 0, ROWS, WeightFormat.F16)).isTrue();

            assertThat(products(second, shared)).containsExactly(products(first, weight)).contains(Float.POSITIVE_INFINITY);
        }
    }

    @Test
    void who_comes_while_another_packs_waits_for_it() throws Exception {
        try (var first = sharing("model"); var second = new VectorBackend(1)) {
            load(first, 1);
            CompletableFuture<Void> waits = CompletableFuture.runAsync(() -> share(second, "model"));
            assertThatThrownBy(() -> waits.get(200, TimeUnit.MILLISECONDS))
                    .isInstanceOf(TimeoutException.class);

            first.endUploads();
            waits.get(1, TimeUnit.MINUTES);
            assertThat(second.adopt(second.allocateWeight(64, COLUMNS), 0, 64, WeightFormat.Q8_0)).isTrue();
        }
    }

    @Test
    void who_ends_while_he_packs_leaves_nothing_and_the_next_one_packs() throws IOException {
        try (var first = sharing("model")) {
            load(first, 1);
            assertThat(names()).anyMatch(name -> name.endsWith(".panels.part"));
        }
        assertThat(names()).containsExactly("lock");

        try (var next = sharing("model")) {
            assertThat(next.adopt(next.allocateWeight(64, COLUMNS), 0, 64, WeightFormat.F32)).isFalse();
        }
    }

    /** What a process that is killed leaves, and files that are no longer used. */
    @Test
    void whoever_packs_deletes_what_nobody_uses() throws IOException {
        Files.writeString(folder.resolve("killed.panels.part"), "half of it");
        Files.createSymbolicLink(folder.resolve("led-astray.panels"), folder.resolve("elsewhere"));
        try (var old = sharing("old")) {
            load(old, 1);
            old.endUploads();
        }
        try (var used = sharing("used")) {
            load(used, 1);
            used.endUploads();
            assertThat(names()).hasSize(2).anyMatch(name -> name.startsWith("used-"));
            try (var more = sharing("more")) {
                load(more, 1);
                more.endUploads();
            }
            assertThat(names()).hasSize(3).anyMatch(name -> name.startsWith("used-"))
                    .anyMatch(name -> name.startsWith("more-"));
        }
    }

    @Test
    void a_file_that_is_not_whole_is_made_anew() throws IOException {
        try (var first = sharing("model")) {
            load(first, 1);
            first.endUploads();
        }
        Path file = folder.resolve(names().stream().filter(name -> name.endsWith(".panels")).findFirst().orElseThrow());
        byte[] whole = Files.readAllBytes(file);
        for (int length : new int[] {0, 7, whole.length / 2, whole.length - 1}) {
            Files.write(file, Arrays.copyOf(whole, length));
            try (var next = sharing("model")) {
                assertThat(next.adopt(next.allocateWeight(64, COLUMNS), 0, 64, WeightFormat.F32)).isFalse();
            }
            Files.deleteIfExists(file);
        }
    }

    @Test
    void a_file_of_fewer_weights_is_no_end_of_the_process() throws IOException {
        try (var first = sharing("model")) {
            first.upload(first.allocateWeight(64, COLUMNS), 0, 64, WeightFormat.F32, values(WeightFormat.F32, 64, 1));
            first.endUploads();
        }
        try (var next = sharing("model")) {
            assertThatThrownBy(() -> load(next, 1)).isInstanceOf(ComputeException.class)
                    .hasMessageContaining("does not hold the weights of this model: delete it");
        }
    }

    /** The capacity stands for a full disk. */
    @Test
    void where_there_is_no_room_weights_are_private_and_right() throws IOException {
        var memory = new PanelMemory();
        memory.share(SharedPanels.open(folder.resolve("model.panels"), 1_000));
        MemorySegment shared = memory.allocate(600);
        shared.fill((byte) 1);
        memory.allocate(600).fill((byte) 2);

        assertThat(memory.isFilled()).isFalse();
        assertThat(shared.toArray(ValueLayout.JAVA_BYTE)).containsOnly((byte) 1);
        memory.complete();
        memory.close();
        assertThat(names()).containsExactly("lock");
    }

    @Test
    void pieces_are_aligned_and_lie_at_the_same_places() throws IOException {
        Path file = folder.resolve("model.panels");
        try (var filling = SharedPanels.open(file, CAPACITY)) {
            filling.allocate(3, 64).fill((byte) 3);
            filling.allocate(100_000, 64).fill((byte) 4);
            filling.complete();
        }
        try (var filled = SharedPanels.open(file, CAPACITY)) {
            assertThat(filled.isFilled()).isTrue();
            assertThat(filled.allocate(3, 64).toArray(ValueLayout.JAVA_BYTE)).containsOnly((byte) 3);
            MemorySegment piece = filled.allocate(100_000, 64);
            assertThat(piece.address() % 64).isZero();
            assertThat(piece.toArray(ValueLayout.JAVA_BYTE)).containsOnly((byte) 4);
            assertThat(piece.isReadOnly()).isTrue();
            assertThat(Files.size(file)).isEqualTo(64 + 100_000 + 24);
        }
    }

    private VectorBackend sharing(String name) {
        var backend = new VectorBackend(1);
        share(backend, name);
        return backend;
    }

    private void share(VectorBackend backend, String name) {
        try {
            backend.shareWeights(folder, name, 1 << 22);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** 100 rows of Q8_0 and 100 of bfloat16: a panel between them is float32. */
    private static Tensor load(VectorBackend backend, int seed) {
        Tensor weight = backend.allocateWeight(ROWS, COLUMNS);
        for (WeightFormat format : List.of(WeightFormat.Q8_0, WeightFormat.BF16)) {
            int first = format == WeightFormat.Q8_0 ? 0 : ROWS / 2;
            if (!backend.adopt(weight, first, ROWS / 2, format)) {
                backend.upload(weight, first, ROWS / 2, format, values(format, ROWS / 2, seed));
            }
        }
        return weight;
    }

    private static MemorySegment values(WeightFormat format, int rows, int seed) {
        var random = new Random(seed);
        MemorySegment values = Arena.ofAuto().allocate(format.bytes((long) rows * COLUMNS));
        switch (format) {
            case Q8_0 -> {
                for (int row = 0; row < rows; row++) {
                    float[] plain = new float[COLUMNS];
                    for (int i = 0; i < COLUMNS; i++) {
                        plain[i] = random.nextFloat() - 0.5f;
                    }
                    WeightFormat.toQ8(plain, COLUMNS, values, row * format.bytes(COLUMNS));
                }
            }
            case BF16, F16 -> {
                for (int i = 0; i < rows * COLUMNS; i++) {
                    float value = random.nextFloat() - 0.5f;
                    values.setAtIndex(ValueLayout.JAVA_SHORT, i, format == WeightFormat.F16
                            ? Float.floatToFloat16(value) : (short) (Float.floatToRawIntBits(value) >>> 16));
                }
            }
            default -> {
                for (int i = 0; i < rows * COLUMNS; i++) {
                    values.setAtIndex(ValueLayout.JAVA_FLOAT, i, random.nextFloat() - 0.5f);
                }
            }
        }
        return values;
    }

    /** One row of ones, by each row of the weight. */
    private static float[] products(VectorBackend backend, Tensor weight) {
        Tensor input = backend.allocate(DataType.F32, 1, COLUMNS);
        Tensor output = backend.allocate(DataType.F32, 1, ROWS);
        Arrays.fill(Handles.floats(input, 1), 1);
        backend.matmul(input, weight, output, 1);
        return Handles.floats(output, 1).clone();
    }

    private List<String> names() throws IOException {
        try (Stream<Path> entries = Files.list(folder)) {
            return entries.map(entry -> entry.getFileName().toString()).sorted().toList();
        }
    }
}
