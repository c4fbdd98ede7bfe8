package dev.warmpath.worker.compute.cuda;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

import dev.warmpath.worker.compute.ComputeException;
import dev.warmpath.worker.compute.DataType;
import dev.warmpath.worker.compute.DeviceLostException;
import java.lang.foreign.Arena;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

@OnEmulatedDevice
class CudaDeviceTest {

    private static final long GIB = 1L << 30;

    /** Everything that a device can leave behind. */
    private static final List<String> KINDS = List.of("device", "pinned", "stream", "event", "module", "graph",
            "graphExec", "context", "cublas");

    private FakeCuda fake;

    @BeforeEach
    void reset() {
        fake = FakeCuda.open();
    }

    private CudaDevice open() throws CudaUnavailableException {
        return CudaDevice.open(fake.settings(), FakeCuda.image());
    }

    private void assertNothingIsLeft() {
        for (String kind : KINDS) {
            assertThat(fake.live(kind)).as(kind).isZero();
        }
    }

    @Test
    void card_says_what_it_is() throws Exception {
        fake.devices(1, 9, 0, 4 * GIB, 13_010);
        fake.multiprocessors(132);
        try (CudaDevice device = open()) {
            assertThat(device.computeCapability()).isEqualTo(90);
            assertThat(device.driverVersion()).isEqualTo(13_010);
            assertThat(device.multiprocessors()).isEqualTo(132);
            assertThat(device.totalBytes()).isEqualTo(4 * GIB);
            assertThat(device.freeBytes()).as("without cuBLASLt's workspace").isEqualTo(4 * GIB - (32 << 20));
            assertThat(device.describe()).startsWith(
                    device.name() + " (GPU-00000000-0000-0000-0000-000000000000, sm_90, 132 multiprocessors, 4.0 GiB, L2 ")
                    .contains("driver for CUDA 13.1").endsWith("products by " + fake.library());
        }
    }

    @Test
    void closing_gives_back_whatever_is_left_and_again_does_nothing() throws Exception {
        CudaDevice device = open();
        DevicePointer matrices = device.allocate(1 << 20, "matrices");
        DevicePointer freed = device.allocate(100, "scratch");
        device.free(freed);
        device.allocatePinned(5000, "staging");
        CudaStream stream = device.newStream();
        device.newEvent(true);
        device.newEvent(false).close();
        device.gemm().multiply(stream, matrices, matrices, matrices.plus(1 << 19, 1 << 19), DataType.F32, 3, 16, 32);
        stream.beginCapture();
        stream.fill(matrices, (byte) 1);
        stream.endCapture();
        assertThat(KINDS.stream().map(fake::live)).as(KINDS.toString()).containsExactly(2, 1, 1, 1, 1, 0, 1, 1, 6);

        device.close();
        assertNothingIsLeft();

        device.close();
        assertThat(fake.calls("cuDevicePrimaryCtxRelease_v2")).isEqualTo(1);
    }

    @ParameterizedTest
    @CsvSource({"cuInit, 1, 802", "cuDriverGetVersion, 1, 1", "cuDeviceGetCount, 1, 3", "cuDeviceGet, 1, 101",
            "cuDeviceGetAttribute, 3, 1", "cuDeviceGetName, 1, 101", "cuDeviceTotalMem_v2, 1, 101",
            "cuDevicePrimaryCtxRetain, 1, 2", "cuDevicePrimaryCtxRetain, 1, 46", "cuCtxSetCurrent, 1, 1",
            "cuModuleLoadData, 1, 200", "cuModuleLoadData, 1, 222", "cublasLtCreate, 1, 1",
            "cublasLtMatmulDescCreate, 1, 3", "cublasLtMatmulDescSetAttribute, 1, 7",
            "cublasLtMatmulPreferenceCreate, 1, 3", "cublasLtMatmulPreferenceSetAttribute, 1, 7",
            "cublasLtMatmulPreferenceSetAttribute, 6, 7", "cuMemAlloc_v2, 1, 2"})
    void step_of_opening_that_fails_is_named_in_one_sentence_and_leaves_nothing(String function, int nth, int code) {
        fake.fail(function, nth, code);

        assertThatThrownBy(this::open).isInstanceOf(CudaUnavailableException.class)
                .hasMessageContaining(function + ": ").hasMessageContaining(" (" + code + ")")
                .message().doesNotContain("\n");
        assertNothingIsLeft();
    }

    @ParameterizedTest
    @CsvSource({"cuCtxSetCurrent, 201", "cuModuleLoadData, 700"})
    void device_that_is_lost_while_it_is_opened_is_named_and_not_touched_again(String function, int code) {
        fake.fail(function, 1, code);

        assertThatThrownBy(this::open).isInstanceOf(CudaUnavailableException.class)
                .hasMessageContaining(function + ": ").hasMessageContaining(" (" + code + ")");
        assertThat(fake.calls("cuCtxSynchronize") + fake.calls("cuDevicePrimaryCtxRelease_v2")).isZero();
    }

    @Test
    void machine_without_a_device_is_told_from_one_with_fewer() {
        fake.devices(0, 9, 0, GIB, 13_000);
        assertThatThrownBy(this::open).isInstanceOf(CudaUnavailableException.class)
                .hasMessage("this machine has no CUDA device, or hides it (CUDA_VISIBLE_DEVICES)");

        fake.devices(2, 9, 0, GIB, 13_000);
        var third = new CudaSettings("2", fake.library(), fake.library());
        assertThatThrownBy(() -> CudaDevice.open(third, FakeCuda.image())).isInstanceOf(CudaUnavailableException.class)
                .hasMessage("there is no CUDA device 2: this machine has 2, counted from 0");
        assertNothingIsLeft();
    }

    /** The emulated ones are named by their number: GPU-00000000-0000-0000-0000-000000000001 is the second. */
    @Test
    void card_is_found_by_its_uuid_or_as_much_of_it_as_is_its_own() throws Exception {
        fake.devices(2, 9, 0, GIB, 13_000);
        String second = "-00000000-0000-0000-0000-000000000001";
        for (String name : List.of("GPU" + second, "MIG" + second)) {
            try (var device = CudaDevice.open(named(name), FakeCuda.image())) {
                assertThat(device.describe()).contains("Emulated device 1", "(GPU" + second + ", sm_90");
            }
        }
        assertThatThrownBy(() -> CudaDevice.open(named("GPU-00000000"), FakeCuda.image()))
                .isInstanceOf(CudaUnavailableException.class).hasMessage("GPU-00000000 begins the name of more than "
                        + "one CUDA device: this machine has GPU-00000000-0000-0000-0000-000000000000, GPU" + second);
        assertThatThrownBy(() -> CudaDevice.open(named("GPU-7"), FakeCuda.image()))
                .hasMessageStartingWith("GPU-7 begins the name of no CUDA device");
        assertThatThrownBy(() -> named("first")).isInstanceOf(IllegalArgumentException.class)
                .hasMessage("device 'first' is neither a number, counted from 0, nor a UUID as nvidia-smi -L lists it");
        assertNothingIsLeft();
    }

    private CudaSettings named(String device) {
        return new CudaSettings(device, fake.library(), fake.library());
    }

    @Test
    void kernels_of_a_newer_toolkit_than_the_driver_runs_are_refused_with_both_versions() throws Exception {
        assertThatThrownBy(() -> KernelModule.requireToolkit("13.0", 12_040))
                .isInstanceOf(CudaUnavailableException.class)
                .hasMessage("the kernels of this build were compiled by CUDA 13.0 and need a driver for CUDA 13.0, "
                        + "this one runs up to 12.4: update the driver, or build with an older toolkit");
        KernelModule.requireToolkit("12.9", 12_000);               // of one major version, newer or not
        KernelModule.requireToolkit("12.8", 13_000);
    }

    @Test
    void old_driver_is_refused_with_both_versions() {
        fake.devices(1, 9, 0, GIB, 11_080);
        assertThatThrownBy(this::open).isInstanceOf(CudaUnavailableException.class)
                .hasMessage("the NVIDIA driver runs CUDA up to 11.8, at least 12.0 is needed: update it");
    }

    @Test
    void old_card_and_kernels_made_for_others_are_refused() {
        fake.devices(1, 7, 5, GIB, 13_000);
        assertThatThrownBy(this::open).isInstanceOf(CudaUnavailableException.class)
                .hasMessageContaining("is of compute capability 7.5, the kernels need 8.0");

        fake.devices(1, 8, 0, GIB, 13_000);
        fake.kernelsFrom(90);
        assertThatThrownBy(this::open).isInstanceOf(CudaUnavailableException.class)
                .hasMessageStartingWith("the kernels of this build do not load on ")
                .hasMessageContaining("(sm_80)")
                .hasMessageEndingWith("cuModuleLoadData: CUDA_ERROR_NO_BINARY_FOR_GPU (209)");
        assertNothingIsLeft();
    }

    @Test
    void image_that_is_none_is_refused() {
        assertThatThrownBy(() -> CudaDevice.open(fake.settings(), Arena.ofAuto().allocate(16)))
                .isInstanceOf(CudaUnavailableException.class).hasMessageEndingWith("CUDA_ERROR_INVALID_IMAGE (200)");
        assertNothingIsLeft();
    }

    @Test
    void build_without_kernels_says_so() {
        assertThatThrownBy(() -> KernelModule.image("absent.fatbin")).isInstanceOf(CudaUnavailableException.class)
                .hasMessage("there are no kernels in this build (it was built without nvcc): "
                        + "build where a CUDA toolkit is");
    }

    @Test
    void kernels_are_asked_for_last_so_that_no_driver_and_no_card_are_told_as_what_they_are() {
        KernelModule.Image none = _ -> KernelModule.image("absent.fatbin");
        assertThatThrownBy(() -> CudaDevice.open(new CudaSettings("0", Path.of("/nowhere/libcuda.so.1"), null), none))
                .isInstanceOf(CudaUnavailableException.class)
                .hasMessageStartingWith("/nowhere/libcuda.so.1, named by warmpath.compute.cuda.driver");

        fake.devices(0, 9, 0, GIB, 13_000);
        assertThatThrownBy(() -> CudaDevice.open(fake.settings(), none))
                .isInstanceOf(CudaUnavailableException.class).hasMessageStartingWith("this machine has no CUDA device");

        fake.devices(1, 9, 0, GIB, 13_000);
        assertThatThrownBy(() -> CudaDevice.open(fake.settings(), none))
                .isInstanceOf(CudaUnavailableException.class).hasMessageStartingWith("there are no kernels");
        assertNothingIsLeft();
    }

    @Test
    void missing_library_of_products_leaves_nothing() {
        var settings = new CudaSettings("0", fake.library(), Path.of("/nowhere/libcublasLt.so.13"));
        assertThatThrownBy(() -> CudaDevice.open(settings, FakeCuda.image()))
                .isInstanceOf(CudaUnavailableException.class)
                .hasMessage("/nowhere/libcublasLt.so.13, named by warmpath.compute.cuda.cublas-lt, does not exist");
        assertNothingIsLeft();
    }

    @Test
    void refused_memory_is_told_with_owner_and_sizes() throws Exception {
        try (CudaDevice device = open()) {
            device.allocate(512L << 20, "weights");
            assertThatThrownBy(() -> device.allocate(GIB, "the cache")).isInstanceOf(ComputeException.class)
                    .hasMessage("cuMemAlloc_v2: CUDA_ERROR_OUT_OF_MEMORY (2), 1,073,741,824 bytes for the cache; "
                            + "503,316,480 of 1,073,741,824 bytes are free");

            fake.fail("cuMemHostAlloc", 1, 2);
            assertThatThrownBy(() -> device.allocatePinned(4096, "swap space")).isInstanceOf(ComputeException.class)
                    .hasMessage("cuMemHostAlloc: CUDA_ERROR_OUT_OF_MEMORY (2), "
                            + "4,096 bytes of pinned memory for swap space");
            assertThat(fake.live("device")).as("weights and workspace").isEqualTo(2);
        }
        assertNothingIsLeft();
    }

    @Test
    void memory_is_freed_once_and_as_a_whole() throws Exception {
        try (CudaDevice device = open()) {
            DevicePointer pointer = device.allocate(1000, "tensor");

            assertThat(pointer.plus(200, 300))
                    .isEqualTo(new DevicePointer(pointer.address() + 200, 300, "tensor"));
            assertThatThrownBy(() -> pointer.plus(800, 201)).isInstanceOf(IllegalArgumentException.class)
                    .hasMessage("bytes 800 to 1001 are not in the 1000 of tensor");
            assertThatThrownBy(() -> device.free(pointer.plus(0, 500))).isInstanceOf(IllegalArgumentException.class);
            device.free(pointer);
            assertThatThrownBy(() -> device.free(pointer)).isInstanceOf(IllegalArgumentException.class);
            assertThatThrownBy(() -> device.allocate(0, "nothing")).isInstanceOf(IllegalArgumentException.class);
        }
    }

    @ParameterizedTest
    @CsvSource({"700, CUDA_ERROR_ILLEGAL_ADDRESS", "719, CUDA_ERROR_LAUNCH_FAILED",
            "214, CUDA_ERROR_ECC_UNCORRECTABLE", "201, CUDA_ERROR_INVALID_CONTEXT"})
    void fault_loses_the_device_for_good_and_no_call_follows_not_even_to_close(int code, String name) throws Exception {
        CudaDevice device = open();
        CudaStream stream = device.newStream();
        device.allocate(100, "tensor");
        int allocations = fake.calls("cuMemAlloc_v2");
        fake.fail("cuStreamSynchronize", 1, code);

        assertThatThrownBy(stream::synchronize).isInstanceOf(DeviceLostException.class)
                .hasMessage("cuStreamSynchronize: %s (%d)".formatted(name, code));
        assertThatThrownBy(() -> device.allocate(100, "more")).isInstanceOf(DeviceLostException.class)
                .hasMessage("cuStreamSynchronize: %s (%d)".formatted(name, code));
        assertThatCode(device::close).doesNotThrowAnyException();
        assertThat(fake.calls("cuMemAlloc_v2")).isEqualTo(allocations);
        for (String release : List.of("cuCtxSynchronize", "cuMemFree_v2", "cuStreamDestroy_v2", "cuModuleUnload",
                "cublasLtDestroy", "cuDevicePrimaryCtxRelease_v2")) {
            assertThat(fake.calls(release)).as(release).isZero();
        }
    }

    @Test
    void other_failures_leave_the_device_usable() throws Exception {
        try (var card = new OpenCard()) {
            DevicePointer pointer = card.device.allocate(16, "tensor");
            fake.fail("cuMemsetD8Async", 1, 1);
            assertThatThrownBy(() -> card.stream.fill(pointer, (byte) 7)).isInstanceOf(ComputeException.class)
                    .hasMessage("cuMemsetD8Async: CUDA_ERROR_INVALID_VALUE (1)");

            card.stream.fill(pointer, (byte) 7);
            assertThat(card.ints(pointer)).containsOnly(0x07070707);
        }
    }

    @Test
    void what_the_driver_does_not_take_back_is_reported_after_everything_else_is_given_back() throws Exception {
        CudaDevice device = open();
        device.newStream();
        device.newEvent(false);
        fake.fail("cuEventDestroy_v2", 1, 400);

        assertThatThrownBy(device::close).isInstanceOf(ComputeException.class)
                .hasMessage("cuEventDestroy_v2: CUDA_ERROR_INVALID_HANDLE (400)");
        assertThat(KINDS.stream().map(fake::live)).as(KINDS.toString()).containsExactly(0, 0, 0, 1, 0, 0, 0, 0, 0);
    }

    @Test
    void each_platform_thread_takes_the_context_once() throws Exception {
        try (CudaDevice device = open()) {
            int before = fake.calls("cuCtxSetCurrent");
            device.newEvent(false).close();
            assertThat(fake.calls("cuCtxSetCurrent")).isEqualTo(before);

            assertThat(failureOn(Thread.ofPlatform(), () -> {
                device.newEvent(false).close();
                device.allocate(10, "tensor");
            })).isNull();
            assertThat(fake.calls("cuCtxSetCurrent")).isEqualTo(before + 1);
        }
    }

    @Test
    void virtual_threads_are_refused() throws Exception {
        assertThat(failureOn(Thread.ofVirtual(), this::open)).isInstanceOf(IllegalStateException.class)
                .hasMessage("a virtual thread cannot hold a CUDA context: use a platform thread");
        assertNothingIsLeft();

        try (CudaDevice device = open()) {
            CudaStream stream = device.newStream();
            assertThat(failureOn(Thread.ofVirtual(), stream::synchronize)).isInstanceOf(IllegalStateException.class);
            assertThat(failureOn(Thread.ofVirtual(), device::enter)).isInstanceOf(IllegalStateException.class);
            assertThat(failureOn(Thread.ofVirtual(), device::close)).isInstanceOf(IllegalStateException.class);
            stream.synchronize();
        }
        assertNothingIsLeft();
    }

    private interface Work {
        void run() throws Exception;
    }

    private static @Nullable Throwable failureOn(Thread.Builder threads, Work work) throws InterruptedException {
        var failure = new AtomicReference<@Nullable Throwable>();
        threads.start(() -> failure.set(catchThrowable(work::run))).join();
        return failure.get();
    }

    @Test
    void two_devices_take_turns_on_one_thread() throws Exception {
        fake.devices(2, 9, 0, GIB, 13_000);
        try (CudaDevice first = open();
                CudaDevice second = CudaDevice.open(new CudaSettings("1", fake.library(), fake.library()),
                        FakeCuda.image())) {
            for (int round = 0; round < 3; round++) {
                first.newEvent(false);
                second.newEvent(false);
            }
            assertThat(fake.calls("cuCtxSetCurrent")).as("two openings, and six turns of which one was there already")
                    .isEqualTo(2 + 6);
        }
        assertNothingIsLeft();
    }

    @Test
    void nothing_works_on_what_is_closed() throws Exception {
        CudaDevice device = open();
        CudaStream stream = device.newStream();
        CudaStream other = device.newStream();
        PinnedMemory pinned = device.allocatePinned(64, "staging");
        stream.close();
        pinned.close();

        assertThatThrownBy(stream::synchronize).isInstanceOf(IllegalStateException.class)
                .hasMessage("the stream is closed");
        assertThatThrownBy(() -> pinned.segment().fill((byte) 0)).isInstanceOf(IllegalStateException.class);

        device.close();
        other.close();
        assertThatThrownBy(other::synchronize).isInstanceOf(IllegalStateException.class)
                .hasMessage("the CUDA device is closed");
        assertThatThrownBy(() -> device.allocate(1, "tensor")).isInstanceOf(IllegalStateException.class);
    }
}
