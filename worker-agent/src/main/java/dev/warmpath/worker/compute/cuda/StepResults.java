package dev.warmpath.worker.compute.cuda;

import java.lang.foreign.MemorySegment;
import java.util.ArrayDeque;
import java.util.Deque;

/** Pinned memory for what steps drew: one slot for each outstanding step, lent from submit to await. */
final class StepResults {

    private static final int LEAST_ROWS = 256;

    private final CudaDevice device;
    private final CudaStream stream;
    private final Deque<Slot> idle = new ArrayDeque<>();

    /**
     * A step's results once {@code arrived} is passed.
     * @param tokens   int32 [capacity]
     * @param logprobs float32 [capacity]
     */
    record Slot(PinnedMemory memory, MemorySegment tokens, MemorySegment logprobs, CudaEvent arrived) {

        int capacity() {
            return (int) (tokens.byteSize() / Integer.BYTES);
        }
    }

    StepResults(CudaDevice device, CudaStream stream) {
        this.device = device;
        this.stream = stream;
    }

    /** Enqueues the way of the leading rows to the host. */
    Slot bring(CudaTensor tokens, CudaTensor logprobs, int rowCount) {
        Slot slot = slot(rowCount);
        try {
            if (rowCount > 0) {
                stream.copyToHost(tokens.leading(rowCount), slot.tokens().asSlice(0, (long) rowCount * Integer.BYTES));
                stream.copyToHost(logprobs.leading(rowCount),
                        slot.logprobs().asSlice(0, (long) rowCount * Float.BYTES));
            }
            stream.record(slot.arrived());
            return slot;
        } catch (RuntimeException refused) {
            giveBack(slot);
            throw refused;
        }
    }

    private Slot slot(int rowCount) {
        Slot slot = idle.poll();
        if (slot != null && slot.capacity() >= rowCount) {
            return slot;
        }
        if (slot != null) {
            stream.synchronize();                                   // a copy of a step that failed may be on its way
            slot.memory().close();
            slot.arrived().close();
        }
        return slotOf(Math.max(LEAST_ROWS, rowCount));
    }

    private Slot slotOf(long rows) {
        try (var reservation = new Reservation(device)) {
            PinnedMemory memory = reservation.with(
                    device.allocatePinned(rows * (Integer.BYTES + Float.BYTES), "results of a step"));
            CudaEvent arrived = reservation.with(device.newEvent(false));
            reservation.keep();
            return new Slot(memory, memory.segment().asSlice(0, rows * Integer.BYTES),
                    memory.segment().asSlice(rows * Integer.BYTES), arrived);
        }
    }

    /** Also while copies to it are under way: those of whoever takes it next come behind them, on the same stream. */
    void giveBack(Slot slot) {
        idle.push(slot);
    }
}
