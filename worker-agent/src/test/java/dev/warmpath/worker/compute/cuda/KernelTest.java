package dev.warmpath.worker.compute.cuda;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.warmpath.worker.compute.ComputeException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

@OnEmulatedDevice
class KernelTest {

    private OpenCard card;

    @BeforeEach
    void open() {
        card = new OpenCard();
    }

    @AfterEach
    void close() {
        card.close();
    }

    /** {@code wp_feed_tokens(drawn, sources, tokens, rows, live)}. */
    private void feed(DevicePointer drawn, DevicePointer sources, DevicePointer tokens, int rows, DevicePointer live) {
        Kernel kernel = card.device.kernel("wp_feed_tokens");
        kernel.launch(card.stream, 1, 1, 128, 0, kernel.arguments().pointer(drawn).pointer(sources).pointer(tokens)
                .integer(rows).pointer(live));
    }

    @Test
    void pointers_and_integers_arrive_in_their_order() {
        DevicePointer tokens = card.upload(1, 2, 3, 4);

        feed(card.upload(70, 80, 90), card.upload(2, -1, 0, 1), tokens, 3, null);

        assertThat(card.ints(tokens)).containsExactly(90, 2, 70, 4);
    }

    @Test
    void block_of_parameters_is_written_anew_for_each_launch_while_earlier_ones_wait() {
        DevicePointer drawn = card.upload(70, 80, 90);
        DevicePointer first = card.upload(1, 2, 3);
        DevicePointer second = card.upload(1, 2, 3);
        DevicePointer one = card.upload(1);

        feed(drawn, card.upload(0, 1, 2), first, 3, null);
        feed(drawn, card.upload(2, 1, 0), second, 3, one);

        assertThat(card.ints(first)).containsExactly(70, 80, 90);
        assertThat(card.ints(second)).as("one live row").containsExactly(90, 2, 3);
        assertThat(card.device.kernel("wp_feed_tokens")).isSameAs(card.device.kernel("wp_feed_tokens"));
        assertThat(card.fake.calls("cuModuleGetFunction")).isEqualTo(1);
    }

    @Test
    void floats_and_numbers_of_eight_bytes_arrive() {
        Kernel norm = card.device.kernel("wp_rms_norm");
        DevicePointer ones = card.upload(bf16(1), bf16(1), bf16(1), bf16(1), bf16(1), bf16(1), bf16(1), bf16(1));
        int one = Float.floatToIntBits(1);
        DevicePointer weight = card.upload(one, one, one, one, one, one, one, one);
        DevicePointer output = card.device.allocate(16, "output");
        norm.launch(card.stream, 1, 1, 256, 0, norm.arguments().pointer(ones).pointer(weight).real(3).pointer(output)
                .integer(8).pointer(null));
        assertThat(card.shorts(output)).as("1 / sqrt(1 + 3)").containsOnly(bf16(0.5f));

        Kernel write = card.device.kernel("test_global_write");
        DevicePointer target = card.upload(0, 0, 0, 0, 0, 0, 0, 0);
        write.launch(card.stream, 1, 1, 32, 0, write.arguments().pointer(target.plus(16, 16)).wide(-2L));
        assertThat(card.ints(target)).containsExactly(0, 0, 0, 0x00010000, 0, 0, 0, 0);
    }

    private static short bf16(float value) {
        return (short) (Float.floatToIntBits(value) >>> 16);
    }

    @Test
    void launches_are_captured_with_the_parameters_of_that_moment() {
        DevicePointer drawn = card.upload(70, 80, 90);
        DevicePointer sources = card.upload(0, 0, 0);
        DevicePointer captured = card.upload(1, 2, 3);
        DevicePointer other = card.upload(1, 2, 3);

        card.stream.beginCapture();
        feed(drawn, sources, captured, 2, null);
        CudaGraph graph = card.stream.endCapture();
        feed(drawn, sources, other, 3, null);
        graph.launch(card.stream);

        assertThat(card.ints(captured)).containsExactly(70, 70, 3);
        assertThat(card.ints(other)).containsExactly(70, 70, 70);
        assertThat(card.fake.kernelCalls("wp_feed_tokens")).isEqualTo(2);
    }

    @Test
    void shared_memory_past_48_KiB_is_permitted_when_first_asked_for() {
        Kernel kernel = card.device.kernel("wp_feed_tokens");
        DevicePointer numbers = card.upload(1, 2, 3);
        for (int sharedBytes : new int[] {49_152, 65_536, 50_000, 65_536, 65_552}) {
            kernel.launch(card.stream, 1, 1, 128, sharedBytes, kernel.arguments().pointer(numbers).pointer(numbers)
                    .pointer(numbers).integer(0).pointer(null));
        }
        card.stream.synchronize();

        assertThat(card.fake.calls("cuFuncSetAttribute"))
                .as("for the carveout, 65,536 and 65,552").isEqualTo(3);
        assertThatThrownBy(() -> kernel.launch(card.stream, 1, 1, 128, 300_000, kernel.arguments()))
                .isInstanceOf(ComputeException.class).hasMessage("cuFuncSetAttribute: CUDA_ERROR_INVALID_VALUE (1), "
                        + "wp_feed_tokens with 300000 bytes of shared memory");
    }

    @Test
    void kernels_with_dynamic_shared_memory_prefer_all_that_a_multiprocessor_has_and_others_leave_it_to_the_driver() {
        Kernel kernel = card.device.kernel("wp_feed_tokens");
        DevicePointer numbers = card.upload(1, 2, 3);
        for (int sharedBytes : new int[] {0, 1_024, 2_048}) {
            assertThat(card.fake.sharedPercent("wp_feed_tokens")).isEqualTo(sharedBytes < 2_048 ? -1 : 100);
            kernel.launch(card.stream, 1, 1, 128, sharedBytes, kernel.arguments().pointer(numbers).pointer(numbers)
                    .pointer(numbers).integer(0).pointer(null));
        }
        assertThat(card.fake.calls("cuFuncSetAttribute")).isEqualTo(1);
    }

    @Test
    void refused_launch_names_kernel_and_shape() {
        Kernel kernel = card.device.kernel("wp_feed_tokens");
        card.fake.fail("cuLaunchKernel", 1, 701);

        assertThatThrownBy(() -> kernel.launch(card.stream, 7, 3, 128, 512, kernel.arguments()))
                .isInstanceOf(ComputeException.class)
                .hasMessage("cuLaunchKernel: CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES (701), "
                        + "wp_feed_tokens on a grid of 7 x 3, 128 threads each, 512 bytes of shared memory");
    }

    @Test
    void missing_kernel_and_too_many_parameters_are_told() {
        assertThatThrownBy(() -> card.device.kernel("wp_nothing")).isInstanceOf(ComputeException.class)
                .hasMessage("cuModuleGetFunction: CUDA_ERROR_NOT_FOUND (500), wp_nothing");

        Arguments arguments = card.device.kernel("wp_feed_tokens").arguments();
        for (int i = 0; i < 32; i++) {
            arguments.integer(i);
        }
        assertThatThrownBy(() -> arguments.integer(32)).isInstanceOf(IllegalStateException.class);
    }
}
