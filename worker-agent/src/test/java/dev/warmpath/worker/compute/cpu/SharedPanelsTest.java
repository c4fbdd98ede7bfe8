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

    @TempDir
    private Path folder;

    @Test
    void what_one_has_packed_the_other_takes_over_without_reading_a_value() throws IOException {
        try (var first = sharing("a"); var second = new VectorBackend(1)) {
            float[] expected = products(first, load(first, 1));
            first.publishWeights();

            share(second, "a");
            Tensor weight = load(second, /* of other values, if they were read */ 2);

            assertThat(products(second, weight)).containsExactly(expected);
        }
    }

    /** Of 200 rows of float16 the 70th holds an infinity, so that its panel is float32, wherever it is. */
    @Test
    void what_values_have_decided_is_decided_for_all() throws IOException {
        try (var first = sharing("a"); var second = new VectorBackend(1)) {
            Tensor weight = first.allocateWeight(ROWS, COLUMNS);
            MemorySegment values = values(WeightFormat.F16, ROWS, 3);
            values.set(ValueLayout.JAVA_SHORT_UNALIGNED, 70L * COLUMNS * Short.BYTES, Float.floatToFloat16(1f / 0));
            first.upload(weight, 0, ROWS, WeightFormat.F16, values);
            first.publishWeights();

            share(second, "a");
            Tensor shared = second.allocateWeight(ROWS, COLUMNS);
            assertThat(second.adopt(shared)).isTrue();

            float[] products = products(second, shared);
            assertThat(products).containsExactly(products(first, weight)).contains(Float.POSITIVE_INFINITY);
        }
    }

    @Test
    void who_comes_while_another_packs_waits_for_it() throws Exception {
        try (var first = sharing("a"); var second = new VectorBackend(1)) {
            load(first, 1);
            CompletableFuture<Void> waits = CompletableFuture.runAsync(() -> share(second, "a"));
            assertThatThrownBy(() -> waits.get(200, TimeUnit.MILLISECONDS)).isInstanceOf(TimeoutException.class);

            first.publishWeights();
            waits.get(1, TimeUnit.MINUTES);
            assertThat(second.adopt(second.allocateWeight(ROWS, COLUMNS))).isTrue();
        }
    }

    @Test
    void who_ends_while_he_packs_leaves_nothing_and_the_next_one_packs() throws IOException {
        try (var first = sharing("a")) {
            load(first, 1);
            assertThat(names()).anyMatch(name -> name.endsWith(".part"));
        }
        assertThat(names()).containsExactly("panels.lock");

        try (var next = sharing("a")) {
            assertThat(next.adopt(next.allocateWeight(64, COLUMNS))).isFalse();
        }
    }

    /** A process of its own: the system has what it had locked, and nobody else cleans up. */
    @Test
    void who_is_killed_while_he_packs_keeps_nobody_waiting() throws Exception {
        Process killed = packer("exec \"$@\"");
        try (var output = killed.inputReader()) {
            assertThat(output.lines().filter("packing"::equals).findFirst()).isPresent();
            CompletableFuture<VectorBackend> waits = CompletableFuture.supplyAsync(() -> sharing("a"));
            assertThatThrownBy(() -> waits.get(200, TimeUnit.MILLISECONDS)).isInstanceOf(TimeoutException.class);

            killed.destroyForcibly();
            try (var next = waits.get(1, TimeUnit.MINUTES)) {
                load(next, 1);
                next.publishWeights();
                assertThat(names()).hasSize(2).noneMatch(name -> name.endsWith(".part"));
            }
        } finally {
            killed.destroyForcibly();
        }
    }

    private Process packer(String script) throws IOException {
        return new ProcessBuilder("bash", "-c", script, "bash", Path.of(System.getProperty("java.home"), "bin", "java")
                .toString(), "-XX:-UsePerfData", "--add-modules", "jdk.incubator.vector",
                "--enable-native-access=ALL-UNNAMED", "-cp", System.getProperty("java.class.path"),
                Packer.class.getName(), folder.toString(), named("a")).redirectErrorStream(true).start();
    }

    /** Packs two weights, tells what they are, and publishes nothing. */
    static final class Packer {

        public static void main(String[] arguments) throws Exception {
            var backend = new VectorBackend(1);
            backend.shareWeights(Path.of(arguments[0]), arguments[1]);
            Tensor first = load(backend, 1);
            Tensor second = load(backend, 2);
            System.out.println(Arrays.toString(products(backend, first)));
            System.out.println(Arrays.toString(products(backend, second)));
            System.out.println("packing");
            Thread.sleep(TimeUnit.HOURS.toMillis(1));
        }
    }

    @Test
    void whoever_packs_deletes_what_nobody_uses_and_nothing_that_is_not_named_so() throws IOException {
        Files.writeString(folder.resolve(named("d") + "-512.panels.123.part"), "half of it");
        List<String> strangers = List.of("holiday.mp4.part", "model.panels", named("e") + ".part");
        for (String stranger : strangers) {
            Files.writeString(folder.resolve(stranger), "somebody's");
        }
        Files.createDirectory(folder.resolve(named("f") + "-512.panels"));
        try (var old = sharing("a")) {
            load(old, 1);
            old.publishWeights();
        }
        try (var used = sharing("b")) {
            load(used, 1);
            used.publishWeights();
            try (var more = sharing("c")) {
                load(more, 1);
                more.publishWeights();
            }
            assertThat(names()).containsAll(strangers)
                    .filteredOn(name -> name.startsWith(named("b")) || name.startsWith(named("c"))).hasSize(2);
            assertThat(names()).as("a file, a folder, a lock, and three strangers").hasSize(7)
                    .noneMatch(name -> name.startsWith(named("a")) || name.startsWith(named("d")));
        }
    }

    @Test
    void a_file_that_is_not_whole_is_made_anew() throws IOException {
        Path file = packed();
        byte[] whole = Files.readAllBytes(file);
        for (int length : new int[] {0, 7, whole.length / 2, whole.length - 1}) {
            Files.write(file, Arrays.copyOf(whole, length));
            try (var next = sharing("a")) {
                assertThat(next.adopt(next.allocateWeight(64, COLUMNS))).isFalse();
            }
        }
        for (int flipped = whole.length - 40; flipped < whole.length; flipped++) {
            byte[] broken = whole.clone();
            broken[flipped] ^= 4;
            Files.write(file, broken);
            try (var next = sharing("a")) {
                assertThat(next.adopt(next.allocateWeight(64, COLUMNS))).as("byte %d", flipped).isFalse();
            }
        }
    }

    @Test
    void a_file_of_other_weights_is_refused_and_the_next_start_makes_it_anew() throws IOException {
        packed();
        try (var next = sharing("a")) {
            Tensor other = next.allocateWeight(ROWS + 1, COLUMNS);
            assertThatThrownBy(() -> next.adopt(other)).isInstanceOf(ComputeException.class)
                    .hasMessageContaining("did not hold the weights of this model, and is deleted: start again");
        }
        try (var next = sharing("a")) {
            assertThat(next.adopt(next.allocateWeight(ROWS + 1, COLUMNS))).isFalse();
        }
    }

    /** Of two weights of 150 KB the system lets a process write one, as on a full disk. */
    @Test
    void a_file_that_cannot_be_written_keeps_nobody_waiting_and_weights_are_right() throws Exception {
        Process limited = packer("ulimit -f 200; exec \"$@\"");
        try (var said = limited.inputReader(); var expected = new VectorBackend(1)) {
            List<String> lines = said.lines().takeWhile(line -> !line.equals("packing")).toList();

            assertThat(lines).anyMatch(line -> line.contains("weights are not shared with other processes"))
                    .endsWith(Arrays.toString(products(expected, load(expected, 1))),
                            Arrays.toString(products(expected, load(expected, 2))));
            assertThat(names()).as("while it lives").containsExactly("panels.lock");
            try (var next = CompletableFuture.supplyAsync(() -> sharing("a")).get(1, TimeUnit.MINUTES)) {
                assertThat(next.adopt(next.allocateWeight(64, COLUMNS))).isFalse();
            }
        } finally {
            limited.destroyForcibly();
        }
    }

    @Test
    void panels_are_aligned_and_cannot_be_written() throws IOException {
        packed();
        try (var next = sharing("a")) {
            var weight = (PanelWeight) next.allocateWeight(ROWS, COLUMNS);
            assertThat(weight.adopt()).isTrue();
            assertThat(weight.panels).allSatisfy(panel -> {
                assertThat(panel.address() % 64).isZero();
                assertThat(panel.isReadOnly()).isTrue();
            });
            int mixed = ROWS / 2 / PanelFormat.WIDTH;
            assertThat(weight.formats).startsWith(BlockPanels.Q8_0).endsWith(PlainPanels.BF16);
            assertThat(weight.formats[mixed]).isEqualTo(PlainPanels.F32);
        }
    }

    private Path packed() throws IOException {
        try (var first = sharing("a")) {
            load(first, 1);
            first.publishWeights();
        }
        return folder.resolve(names().stream().filter(name -> name.endsWith(".panels")).findFirst().orElseThrow());
    }

    private static String named(String digit) {
        return digit.repeat(64);
    }

    private VectorBackend sharing(String name) {
        var backend = new VectorBackend(1);
        share(backend, name);
        return backend;
    }

    private void share(VectorBackend backend, String name) {
        try {
            assertThat(backend.shareWeights(folder, named(name))).isTrue();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** 100 rows of Q8_0 and 100 of bfloat16: a panel between them is float32. */
    private static Tensor load(VectorBackend backend, int seed) {
        Tensor weight = backend.allocateWeight(ROWS, COLUMNS);
        if (backend.adopt(weight)) {
            return weight;
        }
        for (WeightFormat format : List.of(WeightFormat.Q8_0, WeightFormat.BF16)) {
            int first = format == WeightFormat.Q8_0 ? 0 : ROWS / 2;
            backend.upload(weight, first, ROWS / 2, format, values(format, ROWS / 2, seed));
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
