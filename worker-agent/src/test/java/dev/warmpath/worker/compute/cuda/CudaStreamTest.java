package dev.warmpath.worker.compute.cuda;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.warmpath.worker.compute.ComputeException;
import java.lang.foreign.MemorySegment;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

@OnEmulatedDevice
class CudaStreamTest {

    private OpenCard card;

    @BeforeEach
    void open() {
        card = new OpenCard();
    }

    @AfterEach
    void close() {
        card.close();
    }

    @Test
    void bytes_go_there_across_and_back() {
        DevicePointer first = card.upload(1, 2, 3, 4);
        DevicePointer second = card.upload(10, 20, 30, 40);

        card.stream.copy(first.plus(4, 8), second.plus(8, 8));

        assertThat(card.ints(second)).containsExactly(10, 20, 2, 3);
        assertThat(card.ints(first)).containsExactly(1, 2, 3, 4);
    }

    @Test
    void filling_sets_every_byte_and_no_other() {
        DevicePointer pointer = card.upload(1, 2, 3, 4);

        card.stream.fill(pointer.plus(5, 6), (byte) 0xAB);

        assertThat(card.ints(pointer)).containsExactly(1, 0xABABAB02, 0x00ABABAB, 4);
    }

    @Test
    void copies_past_an_end_and_from_the_heap_are_refused() {
        DevicePointer pointer = card.upload(1, 2, 3, 4);
        MemorySegment host = card.device.allocatePinned(20, "staging").segment();

        assertThatThrownBy(() -> card.stream.copyToDevice(host, pointer)).isInstanceOf(IllegalArgumentException.class)
                .hasMessage("20 bytes are needed of ints, which has 16");
        assertThatThrownBy(() -> card.stream.copyToHost(pointer, host)).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> card.stream.copy(pointer, pointer.plus(8, 8)))
                .isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> card.stream.copyToDevice(MemorySegment.ofArray(new int[4]), pointer))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("the device cannot reach memory of the Java heap");
        assertThat(card.ints(pointer)).containsExactly(1, 2, 3, 4);
    }

    @Test
    void event_is_passed_once_what_was_before_it_is_done() {
        DevicePointer pointer = card.upload(5);
        PinnedMemory host = card.device.allocatePinned(4, "result");
        CudaEvent event = card.device.newEvent(false);
        assertThat(event.isPassed()).as("never recorded").isTrue();

        card.stream.copyToHost(pointer, host.segment());
        card.stream.record(event);
        assertThat(event.isPassed()).isFalse();
        event.synchronize();

        assertThat(event.isPassed()).isTrue();
        assertThat(host.segment().get(JAVA_INT, 0)).isEqualTo(5);
    }

    @Test
    void timed_events_measure_from_the_first_to_the_second() {
        DevicePointer pointer = card.device.allocate(8 << 20, "tensor");
        CudaEvent start = card.device.newEvent(true);
        CudaEvent end = card.device.newEvent(true);
        card.stream.record(start);
        card.stream.fill(pointer, (byte) 1);
        card.stream.record(end);
        card.stream.synchronize();

        assertThat(end.nanosSince(start)).isBetween(1L, 60_000_000_000L);

        CudaEvent untimed = card.device.newEvent(false);
        card.stream.record(untimed);
        card.stream.synchronize();
        assertThatThrownBy(() -> untimed.nanosSince(start)).isInstanceOf(ComputeException.class)
                .hasMessage("cuEventElapsedTime: CUDA_ERROR_INVALID_HANDLE (400)");
    }

    @Test
    void stream_waits_for_what_another_has_done_before_the_event() {
        DevicePointer pointer = card.upload(1);
        PinnedMemory host = card.device.allocatePinned(4, "result");
        CudaStream other = card.device.newStream();
        CudaEvent filled = card.device.newEvent(false);

        card.stream.fill(pointer, (byte) 2);
        card.stream.record(filled);
        other.waitFor(filled);
        other.copyToHost(pointer, host.segment());
        other.synchronize();

        assertThat(host.segment().get(JAVA_INT, 0)).isEqualTo(0x02020202);
    }

    @Test
    void captured_work_runs_when_replayed_and_reads_its_buffers_anew() {
        DevicePointer source = card.upload(1);
        DevicePointer target = card.upload(9);

        card.stream.beginCapture();
        card.stream.copy(source, target);
        CudaGraph graph = card.stream.endCapture();
        assertThat(card.ints(target)).as("captured, not run").containsExactly(9);

        graph.launch(card.stream);
        assertThat(card.ints(target)).containsExactly(1);

        card.stream.fill(source, (byte) 3);
        graph.launch(card.stream);
        assertThat(card.ints(target)).containsExactly(0x03030303);

        assertThat(card.fake.live("graph")).as("the recording").isZero();
        assertThat(card.fake.live("graphExec")).isEqualTo(1);
        graph.close();
        assertThat(card.fake.live("graphExec")).isZero();
    }

    @Test
    void abandoned_capture_leaves_no_graph_and_a_stream_that_works() {
        DevicePointer pointer = card.upload(9);

        card.stream.beginCapture();
        card.stream.fill(pointer, (byte) 1);
        card.stream.abandonCapture();
        assertThat(card.ints(pointer)).containsExactly(9);

        card.stream.beginCapture();
        assertThatThrownBy(() -> card.stream.synchronize()).as("waiting spoils a capture")
                .isInstanceOf(ComputeException.class);
        card.stream.abandonCapture();

        card.stream.fill(pointer, (byte) 1);
        assertThat(card.ints(pointer)).containsExactly(0x01010101);
        assertThat(card.fake.live("graph")).isZero();
    }

    @Test
    void graph_that_cannot_be_made_launchable_leaves_no_recording() {
        DevicePointer pointer = card.upload(9);
        card.fake.fail("cuGraphInstantiateWithFlags", 1, 2);

        card.stream.beginCapture();
        card.stream.fill(pointer, (byte) 1);
        assertThatThrownBy(() -> card.stream.endCapture()).isInstanceOf(ComputeException.class)
                .hasMessage("cuGraphInstantiateWithFlags: CUDA_ERROR_OUT_OF_MEMORY (2)");
        assertThat(card.fake.live("graph")).isZero();
    }
}
