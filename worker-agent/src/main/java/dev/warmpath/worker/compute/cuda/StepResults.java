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

    /** Enqueues the way of the leading rows to the host. A slot for which that fails is not lent again. */
    Slot bring(CudaTensor tokens, CudaTensor logprobs, int rowCount) {
        Slot slot = slot(rowCount);
        if (rowCount > 0) {
            stream.copyToHost(tokens.leading(rowCount), slot.tokens().asSlice(0, (long) rowCount * Integer.BYTES));
            stream.copyToHost(logprobs.leading(rowCount), slot.logprobs().asSlice(0, (long) rowCount * Float.BYTES));
        }
        stream.record(slot.arrived());
        return slot;
    }

    private Slot slot(int rowCount) {
        Slot slot = idle.poll();
        if (slot != null && slot.capacity() >= rowCount) {
            return slot;
        }
        if (slot != null) {
            slot.memory().close();
            slot.arrived().close();
        }
        long rows = Math.max(LEAST_ROWS, rowCount);
        PinnedMemory memory = device.allocatePinned(rows * (Integer.BYTES + Float.BYTES), "results of a step");
        return new Slot(memory, memory.segment().asSlice(0, rows * Integer.BYTES),
                memory.segment().asSlice(rows * Integer.BYTES), device.newEvent(false));
    }

    void giveBack(Slot slot) {
        idle.push(slot);
    }
}
