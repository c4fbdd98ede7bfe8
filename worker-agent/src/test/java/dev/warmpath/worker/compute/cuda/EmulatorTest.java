package dev.warmpath.worker.compute.cuda;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_FLOAT;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;
import static org.assertj.core.api.Assertions.assertThat;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The emulator finds what it is there for: each kernel with a planted mistake beside the same without it. */
class EmulatorTest {

    private static final int SUCCESS = 0;
    private static final int LAUNCH_FAILED = 719;
    private static final int SEEDS = 40;
    /** What memory holds that nobody wrote, as an int: NaN as a float. */
    private static final int POISON = 0x7FFF7FFF;

    private FakeCuda fake;
    private long stream;
    private long module;

    @BeforeEach
    void open() {
        fake = FakeCuda.open();
        begin();
    }

    @Test
    void a_missing_block_barrier_shows_as_other_results() {
        assertThat(outcomes("test_pass_on")).isEqualTo(1);
        assertThat(outcomes("test_pass_on_without_barrier")).isGreaterThan(1);
    }

    @Test
    void a_missing_warp_barrier_shows_as_other_results() {
        assertThat(outcomes("test_pass_to_neighbour")).isEqualTo(1);
        assertThat(outcomes("test_pass_to_neighbour_without_barrier")).isGreaterThan(1);
    }

    @Test
    void a_missing_barrier_before_a_buffer_is_used_again_shows_as_other_results() {
        assertThat(outcomes("test_pass_on_twice")).isEqualTo(1);
        assertThat(outcomes("test_pass_on_twice_without_barrier")).isGreaterThan(1);
    }

    @Test
    void what_is_read_before_it_is_written_in_shared_memory_is_poison() {
        var seen = new HashSet<Integer>();
        for (int seed = 1; seed <= SEEDS; seed++) {
            fake.schedule(seed);
            for (int number : passOn("test_pass_on_without_barrier")) {
                seen.add(number);
            }
        }
        assertThat(seen).contains(POISON).hasSize(129);
    }

    @Test
    void asynchronous_copies_land_at_their_wait() {
        MemorySegment input = device(4096);
        MemorySegment output = device(4096);
        input.fill((byte) 7);
        assertThat(run("test_copy_in_groups", 1, 128, 4096, input, output)).isEqualTo(SUCCESS);
        assertThat(output.asSlice(0, 2048).toArray(JAVA_BYTE)).containsOnly(7);
        assertThat(output.get(JAVA_INT, 2048)).isEqualTo(0x07070707);
        assertThat(output.get(JAVA_INT, 2048 + 16)).as("the copy of thread 1 is not valid").isZero();

        assertThat(run("test_copy_waits_for_one_group", 1, 128, 4096, input, output)).isEqualTo(SUCCESS);
        assertThat(output.asSlice(0, 2048).toArray(JAVA_BYTE)).containsOnly(7);
        assertThat(output.asSlice(2048).toArray(JAVA_INT)).containsOnly(POISON);
    }

    @Test
    void a_collective_that_half_a_warp_reaches_fails_the_launch() {
        assertThat(run("test_shuffle_in_half_a_warp", 1, 32, 0, device(128))).isEqualTo(LAUNCH_FAILED);
        assertThat(fake.complaint()).startsWith("test_shuffle_in_half_a_warp, block (0, 0)").contains("threads 0-15 at "
                + "shuffle_xor (emulator_test_kernels.cu:", "threads 16-31 ended");
    }

    @Test
    void a_barrier_that_one_warp_reaches_fails_the_launch() {
        assertThat(run("test_barrier_in_one_warp", 1, 64, 0, device(256))).isEqualTo(LAUNCH_FAILED);
        assertThat(fake.complaint()).contains("threads 0-31 at sync_block", "threads 32-63 ended");
    }

    @Test
    void lanes_at_different_collectives_fail_the_launch() {
        assertThat(run("test_different_shuffles", 1, 32, 0, device(128))).isEqualTo(LAUNCH_FAILED);
        assertThat(fake.complaint()).contains("lanes of a warp at different collectives");
    }

    @Test
    void a_launch_with_other_than_the_required_threads_fails() {
        assertThat(run("test_copy_in_groups", 1, 64, 4096, device(4096), device(4096))).isEqualTo(LAUNCH_FAILED);
        assertThat(fake.complaint()).contains("launched with 64 threads, takes 128");
    }

    @Test
    void a_failed_kernel_loses_the_device() {
        MemorySegment memory = device(512);
        run("test_barrier_in_one_warp", 1, 64, 0, memory);
        assertThat(call("cuCtxSynchronize")).isEqualTo(LAUNCH_FAILED);
        assertThat(run("test_pass_on", 1, 128, 0, memory, memory)).isEqualTo(LAUNCH_FAILED);
    }

    @Test
    void writes_outside_shared_memory_fail_the_launch() {
        assertThat(run("test_shared_write", 1, 32, 4096, 4095, 63)).isEqualTo(SUCCESS);
        assertThat(run("test_shared_write", 1, 32, 4096, 4096, 63)).isEqualTo(LAUNCH_FAILED);
        assertThat(fake.complaint()).contains("0 bytes past the end of the 4096 bytes of dynamic shared memory");
        begin();
        assertThat(run("test_shared_write", 1, 32, 4096, -1, 63)).isEqualTo(LAUNCH_FAILED);
        assertThat(fake.complaint()).contains("before the start of dynamic shared memory");
        begin();
        assertThat(run("test_shared_write", 1, 32, 4096, 0, 64)).isEqualTo(LAUNCH_FAILED);
        assertThat(fake.complaint()).contains("past the end of a static shared array");
        begin();
        assertThat(run("test_shared_write", 1, 32, 4096, 0, -1)).isEqualTo(LAUNCH_FAILED);
        assertThat(fake.complaint()).contains("outside a static shared array");
    }

    @Test
    void writes_outside_device_memory_fail_the_launch() {
        MemorySegment target = device(4096);
        assertThat(run("test_global_write", 1, 32, 0, target, 4095L)).isEqualTo(SUCCESS);
        assertThat(run("test_global_write", 1, 32, 0, target, 4096L)).isEqualTo(LAUNCH_FAILED);
        assertThat(fake.complaint()).contains("test_global_write, block (0, 0), thread 0",
                "4096 bytes from the start of an allocation of 4096 bytes");
    }

    @Test
    void the_few_bytes_between_an_allocation_and_its_guard_are_looked_at_when_it_is_freed() {
        MemorySegment target = device(4090);
        assertThat(run("test_global_write", 1, 32, 0, target, 4090L)).isEqualTo(SUCCESS);
        assertThat(call("cuMemFree_v2", target.address())).isEqualTo(LAUNCH_FAILED);
        assertThat(fake.complaint()).contains("past the end of an allocation of 4090 bytes");
    }

    @Test
    void a_load_of_16_bytes_takes_multiples_of_16() {
        assertThat(run("test_load_16", 1, 32, 0, device(4096), 16, device(16))).isEqualTo(SUCCESS);
        assertThat(run("test_load_16", 1, 32, 0, device(4096), 8, device(16))).isEqualTo(LAUNCH_FAILED);
        assertThat(fake.complaint()).contains("16-byte load", "not a multiple of 16");
    }

    @Test
    void what_a_card_refuses_or_does_otherwise_fails_the_launch() {
        MemorySegment target = device(16);
        assertThat(run("test_load_4", 1, 32, 0, device(16), 4, target)).isEqualTo(SUCCESS);
        assertThat(run("test_shift", 1, 32, 0, target, 31)).isEqualTo(SUCCESS);
        assertThat(run("test_array", 1, 32, 0, target, 3)).isEqualTo(SUCCESS);
        for (String kernel : List.of("test_load_4", "test_shift", "test_array")) {
            begin();
            target = device(16);
            int code = switch (kernel) {
                case "test_load_4" -> run(kernel, 1, 32, 0, device(16), 2, target);
                case "test_shift" -> run(kernel, 1, 32, 0, target, 32);
                default -> run(kernel, 1, 32, 0, target, 4);
            };
            assertThat(code).as(kernel).isEqualTo(LAUNCH_FAILED);
            assertThat(fake.complaint()).contains(kernel, "an index past an array's end, an address that is no");
        }
    }

    @Test
    void a_division_by_zero_fails_the_launch() {
        assertThat(run("test_divide", 1, 32, 0, device(128), 0)).isEqualTo(LAUNCH_FAILED);
        assertThat(fake.complaint()).contains("test_divide", "an integer division by zero");
    }

    @Test
    void fragments_lie_where_the_products_take_them() {
        // a[i][k] = i + k / 16, b[k][j] = 1 where k = 2 j + 1, so that the product is a[i][2 j + 1]
        MemorySegment a = device(512);
        MemorySegment b = device(256);
        MemorySegment transposed = device(256);
        MemorySegment product = device(512);
        for (int i = 0; i < 256; i++) {
            a.setAtIndex(JAVA_SHORT, i, bf16(i / 16 + i % 16 / 16f));
        }
        b.fill((byte) 0);
        transposed.fill((byte) 0);
        for (int j = 0; j < 8; j++) {
            b.setAtIndex(JAVA_SHORT, (2 * j + 1) * 8 + j, bf16(1));
            transposed.setAtIndex(JAVA_SHORT, j * 16 + 2 * j + 1, bf16(1));
        }
        var expected = new float[128];
        for (int i = 0; i < 128; i++) {
            expected[i] = i / 8 + (2 * (i % 8) + 1) / 16f;
        }
        assertThat(run("test_multiply", 1, 32, 0, a, b, product)).isEqualTo(SUCCESS);
        assertThat(product.toArray(JAVA_FLOAT)).isEqualTo(expected);
        product.fill((byte) 0);
        assertThat(run("test_multiply_transposed", 1, 32, 0, a, transposed, product)).isEqualTo(SUCCESS);
        assertThat(product.toArray(JAVA_FLOAT)).isEqualTo(expected);
    }

    @Test
    void collectives_reach_all_lanes() {
        MemorySegment sums = device(96 * 4);
        MemorySegment lanes = device(96 * 4);
        assertThat(run("test_collectives", 1, 32, 0, sums, lanes)).isEqualTo(SUCCESS);
        float[] summed = sums.toArray(JAVA_FLOAT);
        assertThat(Arrays.copyOfRange(summed, 0, 32)).containsOnly(496);
        assertThat(Arrays.copyOfRange(summed, 32, 64)).containsOnly(31);
        assertThat(Arrays.copyOfRange(summed, 64, 96)).containsOnly(248);
        int[] moved = lanes.toArray(JAVA_INT);
        assertThat(Arrays.copyOfRange(moved, 0, 5)).containsExactly(0, 1, 2, 0, 1);
        assertThat(moved[31]).isEqualTo(28);
        assertThat(Arrays.copyOfRange(moved, 32, 64)).containsOnly(5);
        assertThat(Arrays.copyOfRange(moved, 64, 96)).containsOnly(0x22222222);
    }

    @Test
    void numbers_round_to_the_nearest_even() {
        float[] inputs = {1, 1.00390625f, 1.01171875f, -2.5f, 1e30f, 448, 463, 465, -1e9f, 17, 19, 0.015625f, 0.001f,
            0.0009765625f, 0.0029296875f, -0.0f, Float.POSITIVE_INFINITY, Float.NaN};
        int[] rounded = {0x3F80, 0x3F80, 0x3F82, 0xC020, 0x714A, 0x43E0, 0x43E8, 0x43E8, 0xCE6E, 0x4188, 0x4198, 0x3C80,
            0x3A83, 0x3A80, 0x3B40, 0x8000, 0x7F80, 0x7FFF};
        float[] quantised = {1, 1, 1, -2.5f, 448, 448, 448, 448, -448, 16, 20, 0.015625f, 0.001953125f, 0, 0.00390625f,
            -0.0f, 448, Float.NaN};
        int count = inputs.length;
        MemorySegment input = device(count * 4).copyFrom(MemorySegment.ofArray(inputs));
        MemorySegment shorts = device(count * 2);
        MemorySegment back = device(count * 4);
        assertThat(run("test_numbers", 1, 32, 0, input, shorts, device(count), back, count)).isEqualTo(SUCCESS);
        assertThat(IntStream.range(0, count).map(i -> shorts.getAtIndex(JAVA_SHORT, i) & 0xFFFF).toArray())
                .isEqualTo(rounded);
        assertThat(back.toArray(JAVA_FLOAT)).isEqualTo(quantised);
    }

    // ---- A launch by hand. Device memory is the host's here, so that a test may look at it.

    /** Forgets everything, the loss of the device too. */
    private void begin() {
        fake.reset();
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment cell = arena.allocate(JAVA_LONG);
            call("cuInit", 0);
            call("cuDevicePrimaryCtxRetain", cell, 0);
            call("cuCtxSetCurrent", cell.get(JAVA_LONG, 0));
            call("cuStreamCreate", cell, 1);
            stream = cell.get(JAVA_LONG, 0);
            call("cuModuleLoadData", cell, arena.allocateFrom(JAVA_BYTE, FakeCuda.image()));
            module = cell.get(JAVA_LONG, 0);
        }
    }

    @SuppressWarnings("restricted")  // the length is the one just allocated
    private MemorySegment device(long bytes) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment cell = arena.allocate(JAVA_LONG);
            assertThat(call("cuMemAlloc_v2", cell, bytes)).isEqualTo(SUCCESS);
            return MemorySegment.ofAddress(cell.get(JAVA_LONG, 0)).reinterpret(bytes);
        }
    }

    /** @return the code of the launch and the wait for its end */
    private int run(String kernel, int blocks, int threads, int sharedBytes, Object... parameters) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment function = arena.allocate(JAVA_LONG);
            MemorySegment table = arena.allocate(ADDRESS, Math.max(1, parameters.length));
            for (int i = 0; i < parameters.length; i++) {
                table.setAtIndex(ADDRESS, i, switch (parameters[i]) {
                    case Integer value -> arena.allocateFrom(JAVA_INT, value);
                    case Long value -> arena.allocateFrom(JAVA_LONG, value);
                    case MemorySegment device -> arena.allocateFrom(JAVA_LONG, device.address());
                    default -> throw new IllegalArgumentException(parameters[i].toString());
                });
            }
            call("cuModuleGetFunction", function, module, kernel);
            int code = call("cuLaunchKernel", function.get(JAVA_LONG, 0), blocks, 1, 1, threads, 1, 1, sharedBytes,
                    stream, table, MemorySegment.NULL);
            return code == SUCCESS ? call("cuStreamSynchronize", stream) : code;
        }
    }

    private int call(String function, Object... arguments) {
        return (int) fake.call(JAVA_INT, function, arguments);
    }

    /** How many different results a kernel has over the seeds. */
    private int outcomes(String kernel) {
        var results = new HashSet<String>();
        for (int seed = 1; seed <= SEEDS; seed++) {
            fake.schedule(seed);
            results.add(Arrays.toString(passOn(kernel)));
        }
        return results.size();
    }

    private int[] passOn(String kernel) {
        MemorySegment input = device(512).copyFrom(MemorySegment.ofArray(IntStream.range(0, 128).toArray()));
        MemorySegment output = device(512);
        assertThat(run(kernel, 1, 128, 0, input, output)).isEqualTo(SUCCESS);
        return output.toArray(JAVA_INT);
    }

    private static short bf16(float exact) {
        return (short) (Float.floatToIntBits(exact) >>> 16);
    }
}
