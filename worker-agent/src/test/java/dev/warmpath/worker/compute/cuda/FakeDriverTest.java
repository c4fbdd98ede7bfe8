package dev.warmpath.worker.compute.cuda;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.assertj.core.api.Assertions.assertThat;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The fake driver finds what it is there for: what works on a device by luck of timing fails here. */
@OnEmulatedDevice
class FakeDriverTest {

    private static final int SUCCESS = 0;
    private static final int INVALID_VALUE = 1;
    private static final int OUT_OF_MEMORY = 2;
    private static final int NOT_INITIALIZED = 3;
    private static final int INVALID_CONTEXT = 201;
    private static final int INVALID_HANDLE = 400;
    private static final int NOT_READY = 600;
    private static final int ILLEGAL_ADDRESS = 700;
    private static final int LAUNCH_FAILED = 719;
    private static final int CAPTURE_UNSUPPORTED = 900;
    private static final int CAPTURE_INVALIDATED = 901;

    private FakeCuda fake;
    private RawDriver driver;

    @BeforeEach
    void begin() {
        fake = FakeCuda.open();
        driver = new RawDriver(fake);
    }

    @Test
    void work_waits_for_the_host_to_synchronise() {
        MemorySegment card = driver.device(16);
        driver.call("cuMemsetD8Async", card.address(), (byte) 5, 16L, driver.stream());
        assertThat(card.toArray(JAVA_BYTE)).doesNotContain(5);
        driver.synchronize();
        assertThat(card.toArray(JAVA_BYTE)).containsOnly(5);
    }

    @Test
    void a_stream_that_waits_for_an_event_lets_the_others_work_run_first_and_no_more() {
        MemorySegment card = driver.device(16);
        long other = driver.newStream();
        long event = driver.created("cuEventCreate", 2);
        driver.call("cuMemsetD8Async", card.address(), (byte) 1, 16L, driver.stream());
        driver.call("cuEventRecord", event, driver.stream());
        driver.call("cuMemsetD8Async", card.address(), (byte) 2, 16L, driver.stream());
        driver.call("cuStreamWaitEvent", other, event, 0);
        driver.call("cuStreamSynchronize", other);
        assertThat(card.toArray(JAVA_BYTE)).containsOnly(1);
        assertThat(driver.call("cuEventQuery", event)).isEqualTo(SUCCESS);
    }

    @Test
    void an_event_is_not_ready_when_it_is_first_asked() {
        long event = driver.created("cuEventCreate", 0);
        assertThat(driver.call("cuEventQuery", event)).isEqualTo(SUCCESS);
        driver.call("cuEventRecord", event, driver.stream());
        assertThat(driver.call("cuEventQuery", event)).isEqualTo(NOT_READY);
        assertThat(driver.call("cuEventQuery", event)).isEqualTo(SUCCESS);
    }

    @Test
    void events_tell_the_time_between_them() {
        long start = driver.created("cuEventCreate", 0);
        long end = driver.created("cuEventCreate", 0);
        driver.call("cuEventRecord", start, driver.stream());
        driver.call("cuEventRecord", end, driver.stream());
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment milliseconds = arena.allocate(4);
            assertThat(driver.call("cuEventElapsedTime", milliseconds, start, end)).isEqualTo(NOT_READY);
            driver.synchronize();
            assertThat(driver.call("cuEventElapsedTime", milliseconds, start, end)).isEqualTo(SUCCESS);
        }
    }

    @Test
    void pinned_memory_that_changes_under_a_copy_loses_the_device() {
        MemorySegment host = driver.pinned(16).fill((byte) 1);
        driver.copyToDevice(driver.device(16), host);
        host.set(JAVA_BYTE, 7, (byte) 2);
        assertThat(driver.synchronize()).isEqualTo(LAUNCH_FAILED);
        assertThat(fake.complaint()).contains("pinned memory was changed while a copy of 16 bytes");
    }

    @Test
    void what_a_copy_will_write_on_the_host_is_poison_until_it_is_waited_for() {
        MemorySegment host = driver.pinned(16).fill((byte) 1);
        MemorySegment card = driver.device(16).fill((byte) 2);
        driver.copyToHost(host, card);
        assertThat(host.get(JAVA_INT, 0)).isEqualTo(0x7FFF7FFF);
        driver.synchronize();
        assertThat(host.toArray(JAVA_BYTE)).containsOnly(2);
    }

    @Test
    void copies_take_pinned_memory_only() {
        try (Arena arena = Arena.ofConfined()) {
            assertThat(driver.copyToDevice(driver.device(16), arena.allocate(16))).isEqualTo(INVALID_VALUE);
            assertThat(driver.copyToHost(arena.allocate(16), driver.device(16))).isEqualTo(INVALID_VALUE);
        }
        assertThat(driver.copyToDevice(driver.device(16), driver.pinned(17))).isEqualTo(INVALID_VALUE);
    }

    @Test
    void memory_starts_as_poison_and_is_never_accessible_again() {
        MemorySegment card = driver.device(512);
        assertThat(card.toArray(JAVA_INT)).containsOnly(0x7FFF7FFF);
        MemorySegment output = driver.device(512);
        driver.launch("test_pass_on", 1, 128, 0, card, output);
        assertThat(driver.call("cuMemFree_v2", card.address())).as("waits for the kernel").isEqualTo(SUCCESS);
        assertThat(driver.call("cuMemFree_v2", card.address())).isEqualTo(INVALID_VALUE);
        assertThat(driver.launch("test_pass_on", 1, 128, 0, card, output)).isEqualTo(INVALID_VALUE);
    }

    @Test
    void a_graph_whose_memory_is_freed_loses_the_device() {
        MemorySegment card = driver.device(512);
        MemorySegment output = driver.device(512);
        driver.call("cuStreamBeginCapture_v2", driver.stream(), 1);
        driver.launch("test_pass_on", 1, 128, 0, card, output);
        long graph = capturedGraph();
        driver.call("cuMemFree_v2", card.address());
        driver.call("cuGraphLaunch", graph, driver.stream());
        assertThat(driver.synchronize()).isEqualTo(LAUNCH_FAILED);
        assertThat(fake.complaint()).contains("test_pass_on", "a freed allocation of 512 bytes");
    }

    @Test
    void a_captured_stream_does_nothing_until_its_graph_is_launched_and_reads_the_host_anew_each_time() {
        MemorySegment host = driver.pinned(16).fill((byte) 1);
        MemorySegment card = driver.device(16).fill((byte) 0);
        driver.call("cuStreamBeginCapture_v2", driver.stream(), 1);
        driver.copyToDevice(card, host);
        long graph = capturedGraph();
        driver.synchronize();
        assertThat(card.toArray(JAVA_BYTE)).containsOnly(0);
        for (byte value : List.of((byte) 3, (byte) 4)) {
            host.fill(value);
            driver.call("cuGraphLaunch", graph, driver.stream());
            driver.synchronize();
            assertThat(card.toArray(JAVA_BYTE)).containsOnly(value);
        }
        assertThat(fake.live("graph")).isEqualTo(1);
        assertThat(fake.live("graphExec")).isEqualTo(1);
    }

    @Test
    void allocating_or_waiting_spoils_a_capture() {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment cell = arena.allocate(JAVA_LONG);
            driver.call("cuStreamBeginCapture_v2", driver.stream(), 1);
            assertThat(driver.call("cuMemAlloc_v2", cell, 16L)).isEqualTo(CAPTURE_UNSUPPORTED);
            assertThat(driver.call("cuStreamEndCapture", driver.stream(), cell)).isEqualTo(CAPTURE_INVALIDATED);
            driver.call("cuStreamBeginCapture_v2", driver.stream(), 1);
            assertThat(driver.synchronize()).isEqualTo(CAPTURE_UNSUPPORTED);
            assertThat(driver.call("cuStreamEndCapture", driver.stream(), cell)).isEqualTo(CAPTURE_INVALIDATED);
        }
        assertThat(fake.live("graph")).isZero();
    }

    @Test
    void kernels_take_their_parameters_at_the_launch_and_pointers_into_device_memory_only() {
        MemorySegment card = driver.device(512).fill((byte) 0);
        try (Arena arena = Arena.ofConfined()) {
            assertThat(driver.launch("test_pass_on", 1, 128, 0, card, arena.allocate(512))).isEqualTo(INVALID_VALUE);
        }
        assertThat(driver.launch("test_pass_on", 1, 128, 0, card, card.asSlice(8))).isEqualTo(INVALID_VALUE);
        assertThat(driver.run("test_global_write", 1, 32, 0, card, 3L)).isEqualTo(SUCCESS);
        assertThat(card.get(JAVA_BYTE, 3)).isEqualTo((byte) 1);
        assertThat(fake.kernelCalls("test_global_write")).isEqualTo(1);
        assertThat(fake.kernelCalls("test_pass_on")).isZero();
    }

    @Test
    void a_launch_wants_a_grid_whole_warps_and_shared_memory_that_was_asked_for() {
        MemorySegment card = driver.device(4096);
        assertThat(driver.launch("test_copy_in_groups", 0, 128, 4096, card, card)).isEqualTo(INVALID_VALUE);
        assertThat(driver.launch("test_copy_in_groups", 1, 100, 4096, card, card)).isEqualTo(INVALID_VALUE);
        assertThat(driver.launch("test_copy_in_groups", 1, 2048, 4096, card, card)).isEqualTo(INVALID_VALUE);
        assertThat(driver.launch("test_copy_in_groups", 1, 128, 48 * 1024 + 16, card, card)).isEqualTo(INVALID_VALUE);
    }

    @Test
    void a_thread_needs_a_context_of_its_own() throws InterruptedException {
        var code = new AtomicInteger(-1);
        Thread.ofPlatform().start(() -> code.set(driver.synchronize())).join();
        assertThat(code.get()).isEqualTo(INVALID_CONTEXT);
        driver.call("cuDevicePrimaryCtxRelease_v2", 0);
        assertThat(driver.synchronize()).as("after the last release").isEqualTo(INVALID_CONTEXT);
    }

    @Test
    void nothing_works_before_it_is_initialised() {
        fake.reset();
        assertThat(driver.synchronize()).isEqualTo(NOT_INITIALIZED);
    }

    @Test
    void the_nth_call_fails_as_told() {
        fake.fail("cuStreamSynchronize", 2, OUT_OF_MEMORY);
        assertThat(driver.synchronize()).isEqualTo(SUCCESS);
        assertThat(driver.synchronize()).isEqualTo(OUT_OF_MEMORY);
        assertThat(driver.synchronize()).isEqualTo(SUCCESS);
        assertThat(fake.calls("cuStreamSynchronize")).isEqualTo(3);
    }

    @Test
    void a_lost_device_fails_in_every_call_but_still_releases() {
        MemorySegment card = driver.device(16);
        fake.fail("cuStreamSynchronize", 1, ILLEGAL_ADDRESS);
        assertThat(driver.synchronize()).isEqualTo(ILLEGAL_ADDRESS);
        assertThat(driver.copyToDevice(card, card)).isEqualTo(ILLEGAL_ADDRESS);
        assertThat(fake.live("device")).isEqualTo(1);
        assertThat(driver.call("cuMemFree_v2", card.address())).isEqualTo(ILLEGAL_ADDRESS);
        assertThat(fake.live("device")).isZero();
    }

    @Test
    void memory_is_as_much_as_the_card_has() {
        fake.devices(1, 8, 0, 1 << 20, 12040);
        driver.device(1 << 19);
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment free = arena.allocate(JAVA_LONG);
            assertThat(driver.call("cuMemAlloc_v2", free, (1L << 19) + 1)).isEqualTo(OUT_OF_MEMORY);
            MemorySegment total = arena.allocate(JAVA_LONG);
            driver.call("cuMemGetInfo_v2", free, total);
            assertThat(free.get(JAVA_LONG, 0)).isEqualTo(1 << 19);
            assertThat(total.get(JAVA_LONG, 0)).isEqualTo(1 << 20);
        }
    }

    @Test
    void handles_are_dead_once_destroyed_and_live_ones_are_counted() {
        long stream = driver.newStream();
        assertThat(fake.live("stream")).isEqualTo(2);
        driver.call("cuStreamDestroy_v2", stream);
        assertThat(fake.live("stream")).isEqualTo(1);
        assertThat(driver.call("cuStreamDestroy_v2", stream)).isEqualTo(INVALID_HANDLE);
        assertThat(driver.call("cuStreamSynchronize", stream)).isEqualTo(INVALID_HANDLE);
        assertThat(List.of(fake.live("context"), fake.live("module"), fake.live("event"), fake.live("pinned"),
                fake.live("cublas"))).containsExactly(1, 1, 0, 0, 0);
    }

    /** Ends the capture of the driver's stream. */
    private long capturedGraph() {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment graph = arena.allocate(JAVA_LONG);
            assertThat(driver.call("cuStreamEndCapture", driver.stream(), graph)).isEqualTo(SUCCESS);
            return driver.created("cuGraphInstantiateWithFlags", graph.get(JAVA_LONG, 0), 0L);
        }
    }
}
