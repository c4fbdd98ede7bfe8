package dev.warmpath.worker.compute.cuda;

import static java.util.stream.Collectors.toMap;
import static java.util.stream.Collectors.toSet;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What the compiler made of the kernels, from its report and its PTX: as much as a machine without a card can know. */
@WithCompiledKernels
class CompiledKernelsTest {

    private static final Path SOURCES = Path.of("src/main/cuda");
    private static final Path REPORTS = Path.of("target/cuda");

    private static final int REGISTERS_OF_A_MULTIPROCESSOR = 65_536;
    private static final int MOST_REGISTERS_OF_A_THREAD = 255;

    /**
     * How many blocks of how many threads an SM is meant to run at a time: what a kernel's registers must leave room
     * for. Few threads with much under way hide latency as well as many with little: kernels that keep a row in
     * registers are content with half of an SM's 2048 threads.
     */
    private enum Occupancy {
        SCATTER("wp_scatter_writes", 8, 256),
        FEED("wp_feed_tokens", 16, 128),
        EMBED("wp_embed", 8, 128),
        GATHER("wp_gather_rows", 8, 128),
        NORM("wp_(add_)?rms_norm", 4, 256),
        GATE("wp_gate_(silu|gelu_tanh)", 8, 256),
        IN_PLACE("wp_(scale|soft_cap)", 8, 256),
        SKINNY_MATMUL("wp_skinny_matmul_(bf16|f32)_m(1|2|4|8)", 2, 256),
        BLOCK_PRODUCT("wp_block_product_(q[4568]_[01k]|bf16)_m(8|32)", 2, 256),
        WIDEN("wp_widen_(q[4568]_[01k]|bf16)", 8, 128),
        SAMPLE("wp_sample", 1, 512),
        SAMPLE_SLICES("wp_sample_(scan|gather)", 2, 512),
        ADJUST("wp_adjust(_scan|_cut)?", 2, 512),
        ADJUST_SETTLE("wp_adjust_settle", 8, 128),
        SCORE_SLICES("wp_score_scan", 2, 512),
        SCORE("wp_score", 8, 128),
        ROTATE_STORE("wp_rotate_store_(bf16|fp8)", 8, 128),
        COPY_BLOCKS("wp_copy_blocks", 4, 256),
        DECODE_SMALL_HEADS("wp_decode_attention_fp8_d32(_shaped)?", 4, 128),
        DECODE_MEDIUM_HEADS("wp_decode_attention_(bf16_d32|fp8_d64)(_shaped)?", 3, 128),
        DECODE_LARGE_HEADS("wp_decode_attention_(bf16_d64|(bf16|fp8)_d(96|128))(_shaped)?", 2, 128),
        DECODE_LARGEST_HEADS("wp_decode_attention_(bf16|fp8)_d256_shaped", 1, 128),
        REDUCE("wp_reduce_partials_d(32|64|128)", 32, 32),
        REDUCE_MORE("wp_reduce_partials_d(96|256)", 24, 32),
        PREFILL("wp_prefill_attention_(bf16|fp8)_d(32|64|96|128)(_shaped)?", 2, 128),
        PREFILL_LARGEST_HEADS("wp_prefill_attention_(bf16|fp8)_d256_shaped", 1, 128);

        private final Pattern kernels;
        private final int registers;

        Occupancy(String kernels, int blocks, int threads) {
            this.kernels = Pattern.compile(kernels);
            this.registers = Math.min(REGISTERS_OF_A_MULTIPROCESSOR / (blocks * threads), MOST_REGISTERS_OF_A_THREAD);
        }

        static int mostRegisters(String kernel) {
            return Stream.of(values()).filter(occupancy -> occupancy.kernels.matcher(kernel).matches()).findFirst()
                    .orElseThrow(() -> new AssertionError(kernel + " has no ceiling here")).registers;
        }
    }

    /** A kernel as one assembler reported it. */
    private record Assembled(String kernel, String target, int stackBytes, int spilledBytes, int registers) {

        private static final Pattern REPORT = Pattern.compile("""
                Compiling entry function '(\\w+)' for '(sm_\\d+)'
                .*Function properties for \\1
                 +(\\d+) bytes stack frame, (\\d+) bytes spill stores, (\\d+) bytes spill loads
                .*Used (\\d+) registers""");

        static List<Assembled> of(String report) {
            return REPORT.matcher(report).results().map(Assembled::of).toList();
        }

        private static Assembled of(MatchResult match) {
            return new Assembled(match.group(1), match.group(2), Integer.parseInt(match.group(3)),
                    Integer.parseInt(match.group(4)) + Integer.parseInt(match.group(5)),
                    Integer.parseInt(match.group(6)));
        }
    }

    private static byte[] fatbin;
    private static List<Assembled> assembled;

    @BeforeAll
    static void read() throws IOException {
        try (var packaged = CudaDevice.class.getResourceAsStream("kernels.fatbin")) {
            fatbin = packaged.readAllBytes();
        }
        assembled = Assembled.of(Files.readString(REPORTS.resolve("report.txt")));
    }

    @Test
    void the_toolkit_that_compiled_them_is_told_beside_them() throws Exception {
        try (var toolkit = CudaDevice.class.getResourceAsStream("kernels.toolkit")) {
            assertThat(new String(toolkit.readAllBytes(), StandardCharsets.US_ASCII)).matches("1[23]\\.\\d+\n");
        }
        assertThat(KernelModule.imageOfThisBuild(99_000).byteSize()).isEqualTo(fatbin.length);
    }

    /** Names that the sources mention outside comments. */
    private static Set<String> kernelsOfTheSources() throws IOException {
        try (var files = Files.list(SOURCES)) {
            return files.filter(file -> file.toString().matches(".*\\.cuh?"))
                    .flatMap(file -> Pattern.compile("\\bwp_\\w+").matcher(withoutComments(file)).results())
                    .map(MatchResult::group).collect(toSet());
        }
    }

    private static String withoutComments(Path file) {
        try {
            return Files.readString(file).replaceAll("//.*", "");
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** The PTX of each kernel. */
    private static Map<String, String> ptx(int architecture) throws IOException {
        String all = Files.readString(REPORTS.resolve("compute_%d.ptx".formatted(architecture)));
        assertThat(all).contains(".target sm_" + architecture);
        return Pattern.compile("\\.entry (\\w+)\\((.*?)(?=\\.entry|\\z)", Pattern.DOTALL).matcher(all).results()
                .collect(toMap(match -> match.group(1), match -> match.group(2), (a, b) -> a, TreeMap::new));
    }

    private static Map<String, String> ptx(int architecture, String prefix) throws IOException {
        Map<String, String> kernels = ptx(architecture);
        kernels.keySet().removeIf(kernel -> !kernel.startsWith(prefix));
        assertThat(kernels).isNotEmpty();
        return kernels;
    }

    @ParameterizedTest
    @ValueSource(strings = {"sm_80", "sm_90"})
    void every_kernel_of_the_sources_is_assembled_for_each_target(String target) throws IOException {
        assertThat(assembled.stream().filter(kernel -> kernel.target().equals(target)).map(Assembled::kernel))
                .containsExactlyInAnyOrderElementsOf(kernelsOfTheSources());
    }

    @Test
    void no_kernel_spills_registers_or_keeps_a_stack() {
        // queries and accumulators of the largest heads are 192 registers a thread; a few words of addresses make way
        int few = 48;
        assertThat(assembled).isNotEmpty().allSatisfy(kernel ->
                assertThat(kernel.stackBytes() + kernel.spilledBytes()).as("%s", kernel).isLessThanOrEqualTo(
                        kernel.kernel().matches("wp_decode_attention_(bf16|fp8)_d256_shaped") ? few : 0));
    }

    @Test
    void no_kernel_takes_more_registers_than_its_blocks_on_a_multiprocessor_leave() {
        assertThat(assembled).isNotEmpty().allSatisfy(kernel -> assertThat(kernel.registers())
                .as("%s", kernel).isLessThanOrEqualTo(Occupancy.mostRegisters(kernel.kernel())));
    }

    @ParameterizedTest
    @ValueSource(ints = {80, 90})
    void no_kernel_uses_local_memory_or_calls_anything(int architecture) throws IOException {
        assertThat(ptx(architecture)).allSatisfy((kernel, text) ->
                assertThat(text).as(kernel).doesNotContain(".local").doesNotContainPattern("\\bcall\\b"));
    }

    @ParameterizedTest
    @ValueSource(ints = {80, 90})
    void attention_copies_asynchronously_and_multiplies_on_tensor_cores(int architecture) throws IOException {
        for (String attention : List.of("wp_decode_attention_", "wp_prefill_attention_")) {
            Map<String, String> kernels = ptx(architecture, attention);
            assertThat(kernels).hasSize(16).allSatisfy((kernel, text) -> assertThat(text).as(kernel)
                    .contains("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32")
                    .contains("ldmatrix.sync.aligned.m8n8")
                    .contains("cp.async.cg.shared.global").contains("cp.async.wait_group")
                    .contains("ex2.approx.ftz.f32"));
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {80, 90})
    void attention_multiplies_single_numbers_for_the_softmax_only(int architecture)
            throws IOException {
        for (String attention : List.of("wp_decode_attention_", "wp_prefill_attention_")) {
            assertThat(ptx(architecture, attention)).allSatisfy((kernel, text) -> {
                // a matrix product is 2048 multiplications and additions, 64 a lane
                int products = 64 * count("mma\\.sync", text);
                assertThat(count("fma\\.rn\\.f32", text)).as(kernel).isLessThan(products / 8);
            });
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {80, 90})
    void decode_asks_for_its_piece_before_it_waits_for_the_number_of_pieces(int architecture) throws IOException {
        assertThat(ptx(architecture, "wp_decode_attention_")).hasSize(16).allSatisfy((kernel, text) -> {
            String beforeTheFirstJump = text.substring(0, text.indexOf("bra"));
            assertThat(count("ld\\.global\\.nc\\.L1::no_allocate\\.v4", beforeTheFirstJump)).as(kernel).isEqualTo(2);
        });
    }

    /** Beside the 99 KiB that it asks for when it is launched there is no room on sm_86 and sm_89. */
    @Test
    void decode_over_rows_with_scales_keeps_nothing_in_static_shared_memory() throws IOException {
        var kernel = Pattern.compile("entry function 'wp_decode_attention_fp8_d128\\w*' (.*\\n){3}.* Used .*");
        assertThat(kernel.matcher(Files.readString(REPORTS.resolve("report.txt"))).results().map(MatchResult::group))
                .hasSize(4).noneMatch(report -> report.contains("smem"));
    }

    @ParameterizedTest
    @ValueSource(ints = {80, 90})
    void skinny_products_have_8_KiB_of_weights_a_warp_under_way_before_they_multiply(int architecture)
            throws IOException {
        assertThat(ptx(architecture, "wp_skinny_matmul_")).hasSize(8).allSatisfy((kernel, text) -> {
            String beforeTheFirst = text.substring(0, text.indexOf("mma.sync"));
            // 32 lanes of 16 bytes: 16 loads
            assertThat(count("ld\\.global\\.nc\\.L1::no_allocate\\.v4", beforeTheFirst)).as(kernel).isEqualTo(16);
            assertThat(text).as(kernel).doesNotContain("fma.rn.f32");
        });
    }

    @ParameterizedTest
    @ValueSource(strings = {"wp_scatter_writes", "wp_embed", "wp_gather_rows", "wp_rms_norm", "wp_add_rms_norm",
        "wp_gate_silu", "wp_scale", "wp_sample", "wp_sample_scan", "wp_copy_blocks", "wp_rotate_store_bf16",
        "wp_widen_q8_0", "wp_widen_q4_k", "wp_block_product_q4_0_m8", "wp_block_product_q6_k_m32"})
    void rows_move_16_bytes_at_a_time(String kernel) throws IOException {
        assertThat(ptx(90).get(kernel)).containsPattern("ld\\.global(\\.nc\\.L1::no_allocate)?\\.v4");
    }

    @Test
    void sampling_weighs_in_float64_and_adds_without_atomics() throws IOException {
        assertThat(ptx(90).get("wp_sample")).contains("fma.rn.f64", "add.f64")
                .doesNotContainPattern("\\b(atom|red)\\.");
    }

    private static int count(String instruction, String text) {
        return (int) Pattern.compile(instruction).matcher(text).results().count();
    }

    /** A header of 16 bytes, then entries: kind (1 PTX, 2 machine code), bytes of header and content, architecture. */
    @Test
    void the_fatbin_holds_machine_code_of_sm_80_and_sm_90_and_ptx_of_compute_90() {
        ByteBuffer image = ByteBuffer.wrap(fatbin).order(ByteOrder.LITTLE_ENDIAN);
        assertThat(image.getInt(0)).isEqualTo(0xBA55ED50);
        List<String> entries = new ArrayList<>();
        for (int entry = image.getShort(6); entry < image.capacity();
                entry += image.getInt(entry + 4) + Math.toIntExact(image.getLong(entry + 8))) {
            entries.add("%d for %d".formatted(image.getShort(entry), image.getInt(entry + 28)));
        }
        assertThat(entries).containsExactlyInAnyOrder("2 for 80", "2 for 90", "1 for 90");
    }
}
