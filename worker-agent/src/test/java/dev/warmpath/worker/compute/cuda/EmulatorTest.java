package dev.warmpath.worker.compute.cuda;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_FLOAT;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The emulator finds what it is there for: each kernel with a planted mistake beside the same without it. */
@OnEmulatedDevice
class EmulatorTest {

    private static final int SUCCESS = 0;
    private static final int LAUNCH_FAILED = 719;
    private static final int SEEDS = 40;
    /** What memory holds that nobody wrote, as an int: NaN as a float. */
    private static final int POISON = 0x7FFF7FFF;

    private FakeCuda fake;
    private RawDriver driver;

    @BeforeEach
    void begin() {
        fake = FakeCuda.open();
        driver = new RawDriver(fake);
    }

    /** What goes to a card is in its PTX, which the compiler leaves beside the fatbin. */
    @Test
    @WithCompiledKernels
    void every_kernel_that_a_card_would_run_is_emulated() throws IOException {
        Path ptx = Path.of("target/cuda/compute_90.ptx");
        List<String> onCards = Pattern.compile("\\.entry (\\w+)").matcher(Files.readString(ptx)).results()
                .map(found -> found.group(1)).toList();
        assertThat(fake.kernels().stream().filter(kernel -> !kernel.startsWith("test_")))
                .containsExactlyInAnyOrderElementsOf(onCards);
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
        MemorySegment input = driver.device(4096);
        MemorySegment output = driver.device(4096);
        input.fill((byte) 7);
        assertThat(driver.run("test_copy_in_groups", 1, 128, 4096, input, output)).isEqualTo(SUCCESS);
        assertThat(output.asSlice(0, 2048).toArray(JAVA_BYTE)).containsOnly(7);
        assertThat(output.get(JAVA_INT, 2048)).isEqualTo(0x07070707);
        assertThat(output.get(JAVA_INT, 2048 + 16)).as("the copy of thread 1 is not valid").isZero();

        assertThat(driver.run("test_copy_waits_for_one_group", 1, 128, 4096, input, output)).isEqualTo(SUCCESS);
        assertThat(output.asSlice(0, 2048).toArray(JAVA_BYTE)).containsOnly(7);
        assertThat(output.asSlice(2048).toArray(JAVA_INT)).containsOnly(POISON);
    }

    @Test
    void words_are_copied_one_by_one_and_those_that_are_not_valid_become_zero() {
        MemorySegment input = driver.device(128).copyFrom(MemorySegment.ofArray(IntStream.range(1, 33).toArray()));
        MemorySegment before = driver.device(128);
        MemorySegment after = driver.device(128);
        assertThat(driver.run("test_copy_words", 1, 32, 0, input, before, after)).isEqualTo(SUCCESS);
        assertThat(before.toArray(JAVA_INT)).containsOnly(POISON);
        assertThat(Arrays.copyOf(after.toArray(JAVA_INT), 7)).containsExactly(1, 2, 0, 4, 5, 0, 7);
    }

    @Test
    void shared_memory_is_left_alone_while_a_copy_to_it_is_under_way() {
        for (int waits : List.of(0, 1)) {
            begin();
            assertThat(driver.run("test_write_under_copy", 1, 32, 0, driver.device(16), waits))
                    .isEqualTo(LAUNCH_FAILED);
            assertThat(fake.complaint()).contains("thread 5: shared memory was written while a copy to it was");
        }
    }

    @Test
    void fragments_that_are_loaded_without_a_barrier_are_not_what_other_lanes_stored() {
        MemorySegment ones = driver.device(512);
        MemorySegment product = driver.device(512);
        for (int i = 0; i < 256; i++) {
            ones.setAtIndex(JAVA_SHORT, i, bf16(1));
        }
        assertThat(driver.run("test_multiply", 1, 32, 0, ones, ones, product)).isEqualTo(SUCCESS);
        assertThat(product.toArray(JAVA_FLOAT)).containsOnly(16);
        assertThat(driver.run("test_multiply_without_barrier", 1, 32, 0, ones, ones, product)).isEqualTo(SUCCESS);
        assertThat(product.toArray(JAVA_FLOAT)).contains(Float.NaN);
    }

    @Test
    void a_collective_that_half_a_warp_reaches_fails_the_launch() {
        assertThat(driver.run("test_shuffle_in_half_a_warp", 1, 32, 0, driver.device(128))).isEqualTo(LAUNCH_FAILED);
        assertThat(fake.complaint()).startsWith("test_shuffle_in_half_a_warp, block (0, 0)").contains("threads 0-15 at "
                + "shuffle_xor (emulator_test_kernels.cu:", "threads 16-31 ended");
    }

    @Test
    void a_barrier_that_one_warp_reaches_fails_the_launch() {
        assertThat(driver.run("test_barrier_in_one_warp", 1, 64, 0, driver.device(256))).isEqualTo(LAUNCH_FAILED);
        assertThat(fake.complaint()).contains("threads 0-31 at sync_block", "threads 32-63 ended");
    }

    @Test
    void lanes_at_different_collectives_fail_the_launch() {
        assertThat(driver.run("test_different_shuffles", 1, 32, 0, driver.device(128))).isEqualTo(LAUNCH_FAILED);
        assertThat(fake.complaint()).contains("lanes of a warp at different collectives");
    }

    @Test
    void a_launch_with_other_than_the_required_threads_fails() {
        MemorySegment memory = driver.device(4096);
        assertThat(driver.run("test_copy_in_groups", 1, 64, 4096, memory, memory)).isEqualTo(LAUNCH_FAILED);
        assertThat(fake.complaint()).contains("launched with 64 threads, takes 128");
    }

    @Test
    void a_failed_kernel_loses_the_device() {
        MemorySegment memory = driver.device(512);
        driver.run("test_barrier_in_one_warp", 1, 64, 0, memory);
        assertThat(driver.call("cuCtxSynchronize")).isEqualTo(LAUNCH_FAILED);
        assertThat(driver.call("cuMemsetD8Async", memory.address(), (byte) 0, 512L, driver.stream()))
                .isEqualTo(LAUNCH_FAILED);
    }

    @Test
    void writes_outside_shared_memory_fail_the_launch() {
        assertThat(driver.run("test_shared_write", 1, 32, 4096, 4095, 63)).isEqualTo(SUCCESS);
        assertThat(driver.run("test_shared_write", 1, 32, 4096, 4096, 63)).isEqualTo(LAUNCH_FAILED);
        assertThat(fake.complaint()).contains("0 bytes past the end of the 4096 bytes of dynamic shared memory");
        begin();
        assertThat(driver.run("test_shared_write", 1, 32, 4096, -1, 63)).isEqualTo(LAUNCH_FAILED);
        assertThat(fake.complaint()).contains("before the start of dynamic shared memory");
        begin();
        assertThat(driver.run("test_shared_write", 1, 32, 4096, 0, 64)).isEqualTo(LAUNCH_FAILED);
        assertThat(fake.complaint()).contains("past the end of a static shared array");
        begin();
        assertThat(driver.run("test_shared_write", 1, 32, 4096, 0, -1)).isEqualTo(LAUNCH_FAILED);
        assertThat(fake.complaint()).contains("outside a static shared array");
    }

    @Test
    void writes_outside_device_memory_fail_the_launch() {
        MemorySegment target = driver.device(4096);
        assertThat(driver.run("test_global_write", 1, 32, 0, target, 4095L)).isEqualTo(SUCCESS);
        assertThat(driver.run("test_global_write", 1, 32, 0, target, 4096L)).isEqualTo(LAUNCH_FAILED);
        assertThat(fake.complaint()).contains("test_global_write, block (0, 0), thread 0",
                "4096 bytes from the start of an allocation of 4096 bytes");
    }

    @Test
    void the_few_bytes_between_an_allocation_and_its_guard_are_looked_at_when_it_is_freed() {
        MemorySegment target = driver.device(4090);
        assertThat(driver.run("test_global_write", 1, 32, 0, target, 4090L)).isEqualTo(SUCCESS);
        assertThat(driver.call("cuMemFree_v2", target.address())).isEqualTo(LAUNCH_FAILED);
        assertThat(fake.complaint()).contains("past the end of an allocation of 4090 bytes");
    }

    @Test
    void a_load_of_16_bytes_takes_multiples_of_16() {
        MemorySegment memory = driver.device(4096);
        assertThat(driver.run("test_load_16", 1, 32, 0, memory, 16, memory)).isEqualTo(SUCCESS);
        assertThat(driver.run("test_load_16", 1, 32, 0, memory, 8, memory)).isEqualTo(LAUNCH_FAILED);
        assertThat(fake.complaint()).contains("16-byte load", "not a multiple of 16");
    }

    @Test
    void what_a_card_refuses_or_does_otherwise_fails_the_launch() {
        MemorySegment target = driver.device(16);
        assertThat(driver.run("test_load_4", 1, 32, 0, driver.device(16), 4, target)).isEqualTo(SUCCESS);
        assertThat(driver.run("test_shift", 1, 32, 0, target, 31)).isEqualTo(SUCCESS);
        assertThat(driver.run("test_array", 1, 32, 0, target, 3)).isEqualTo(SUCCESS);
        for (String kernel : List.of("test_load_4", "test_shift", "test_array")) {
            begin();
            target = driver.device(16);
            int code = switch (kernel) {
                case "test_load_4" -> driver.run(kernel, 1, 32, 0, driver.device(16), 2, target);
                case "test_shift" -> driver.run(kernel, 1, 32, 0, target, 32);
                default -> driver.run(kernel, 1, 32, 0, target, 4);
            };
            assertThat(code).as(kernel).isEqualTo(LAUNCH_FAILED);
            assertThat(fake.complaint()).contains(kernel, "an index past an array's end, an address that is no");
        }
    }

    @Test
    void a_division_by_zero_fails_the_launch() {
        assertThat(driver.run("test_divide", 1, 32, 0, driver.device(128), 0)).isEqualTo(LAUNCH_FAILED);
        assertThat(fake.complaint()).contains("test_divide", "an integer division by zero");
    }

    @Test
    void fragments_lie_where_the_products_take_them() {
        // a[i][k] = i + k / 16, b[k][j] = 1 where k = 2 j + 1, so that the product is a[i][2 j + 1]
        MemorySegment a = driver.device(512);
        MemorySegment b = driver.device(256);
        MemorySegment transposed = driver.device(256);
        MemorySegment product = driver.device(512);
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
        assertThat(driver.run("test_multiply", 1, 32, 0, a, b, product)).isEqualTo(SUCCESS);
        assertThat(product.toArray(JAVA_FLOAT)).isEqualTo(expected);
        product.fill((byte) 0);
        assertThat(driver.run("test_multiply_transposed", 1, 32, 0, a, transposed, product)).isEqualTo(SUCCESS);
        assertThat(product.toArray(JAVA_FLOAT)).isEqualTo(expected);
    }

    @Test
    void collectives_reach_all_lanes() {
        MemorySegment sums = driver.device(96 * 4);
        MemorySegment lanes = driver.device(96 * 4);
        assertThat(driver.run("test_collectives", 1, 32, 0, sums, lanes)).isEqualTo(SUCCESS);
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
        MemorySegment input = driver.device(count * 4).copyFrom(MemorySegment.ofArray(inputs));
        MemorySegment shorts = driver.device(count * 2);
        MemorySegment back = driver.device(count * 4);
        MemorySegment packed = driver.device(count);
        assertThat(driver.run("test_numbers", 1, 32, 0, input, shorts, packed, back, count)).isEqualTo(SUCCESS);
        assertThat(IntStream.range(0, count).map(i -> shorts.getAtIndex(JAVA_SHORT, i) & 0xFFFF).toArray())
                .isEqualTo(rounded);
        assertThat(back.toArray(JAVA_FLOAT)).isEqualTo(quantised);
    }

    @Test
    void every_code_of_e4m3_is_its_number_there_and_back() {
        MemorySegment codes = driver.device(256);
        MemorySegment values = driver.device(1024);
        MemorySegment pairs = driver.device(1024);
        MemorySegment back = driver.device(256);
        for (int code = 0; code < 256; code++) {
            codes.set(JAVA_BYTE, code, (byte) code);
        }
        assertThat(driver.run("test_e4m3", 1, 32, 0, codes, values, pairs, back)).isEqualTo(SUCCESS);
        for (int code = 0; code < 256; code++) {
            Float value = values.getAtIndex(JAVA_FLOAT, code);
            assertThat(value).isEqualTo(e4m3(code));
            int pair = pairs.getAtIndex(JAVA_INT, code);
            assertThat(Float.intBitsToFloat(pair << 16)).isEqualTo(value);
            assertThat(Float.intBitsToFloat(pair & 0xFFFF0000)).isEqualTo(e4m3(255 - code));
            assertThat(back.get(JAVA_BYTE, code) & 0xFF).isEqualTo(value.isNaN() ? 0x7F : code);
        }
    }

    /** A sign, 4 bits of exponent with bias 7, 3 bits of fraction; no infinity, one NaN (Micikevicius 2022). */
    private static Float e4m3(int code) {
        int exponent = code >> 3 & 15;
        int fraction = code & 7;
        double magnitude = exponent == 0 ? Math.scalb(fraction, -9) : Math.scalb(8 + fraction, exponent - 10);
        return (code & 127) == 127 ? Float.NaN : (float) (code < 128 ? magnitude : -magnitude);
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
        MemorySegment input = driver.device(512).copyFrom(MemorySegment.ofArray(IntStream.range(0, 128).toArray()));
        MemorySegment output = driver.device(512);
        assertThat(driver.run(kernel, 1, 128, 0, input, output)).isEqualTo(SUCCESS);
        return output.toArray(JAVA_INT);
    }

    private static short bf16(float exact) {
        return (short) (Float.floatToIntBits(exact) >>> 16);
    }
}
