package dev.warmpath.worker.compute.cuda;

import dev.warmpath.worker.compute.ScoredTokens;
import java.lang.foreign.MemorySegment;
import java.util.ArrayDeque;
import java.util.Deque;
import org.jspecify.annotations.Nullable;

/**
 * Pinned memory for what steps drew: one slot for each outstanding step, lent from submit to await. It gets room for
 * likelihoods when somebody first asks for these, for as many rows as a step may have.
 */
final class StepResults {

    private static final int LEAST_ROWS = 256;

    private final CudaDevice device;
    private final CudaStream stream;
    private final Deque<Slot> idle = new ArrayDeque<>();

    /**
     * A step's results once {@code arrived} is passed.
     * @param tokens   int32 [capacity]
     * @param logprobs float32 [capacity]
     * @param scores   null: no room for them
     */
    record Slot(PinnedMemory memory, MemorySegment tokens, MemorySegment logprobs, CudaEvent arrived,
                @Nullable Scores scores) {

        int capacity() {
            return (int) (tokens.byteSize() / Integer.BYTES);
        }

        int scoredCapacity() {
            return scores == null ? 0 : (int) (scores.ranks().byteSize() / Integer.BYTES);
        }
    }

    /** As {@link ScoredTokens} has it. */
    record Scores(MemorySegment logprobs, MemorySegment ranks, MemorySegment topIds, MemorySegment topLogprobs) {
    }

    /** Likelihoods that a step tells, on the device. @param count leading rows, 1 and above */
    record Told(CudaTensor logprobs, CudaTensor ranks, CudaTensor topIds, CudaTensor topLogprobs, int count) {
    }

    StepResults(CudaDevice device, CudaStream stream) {
        this.device = device;
        this.stream = stream;
    }

    /** Enqueues the way of the leading rows to the host. @param told null: nothing */
    Slot bring(CudaTensor tokens, CudaTensor logprobs, int rowCount, @Nullable Told told) {
        Slot slot = slot(rowCount, told == null ? 0 : told.ranks().rows());
        try {
            if (rowCount > 0) {
                bring(tokens, rowCount, slot.tokens());
                bring(logprobs, rowCount, slot.logprobs());
            }
            Scores scores = slot.scores();
            if (told != null && scores != null) {
                bring(told.logprobs(), told.count(), scores.logprobs());
                bring(told.ranks(), told.count(), scores.ranks());
                bring(told.topIds(), told.count(), scores.topIds());
                bring(told.topLogprobs(), told.count(), scores.topLogprobs());
            }
            stream.record(slot.arrived());
            return slot;
        } catch (RuntimeException refused) {
            giveBack(slot);
            throw refused;
        }
    }

    private void bring(CudaTensor tensor, int rowCount, MemorySegment target) {
        DevicePointer leading = tensor.leading(rowCount);
        stream.copyToHost(leading, target.asSlice(0, leading.bytes()));
    }

    private Slot slot(int rowCount, int scoredRows) {
        Slot slot = idle.poll();
        if (slot != null && slot.capacity() >= rowCount && slot.scoredCapacity() >= scoredRows) {
            return slot;
        }
        int scored = scoredRows;
        if (slot != null) {
            stream.synchronize();                                   // a copy of a step that failed may be on its way
            slot.memory().close();
            slot.arrived().close();
            scored = Math.max(scoredRows, slot.scoredCapacity());
        }
        return slotOf(Math.max(LEAST_ROWS, rowCount), scored);
    }

    private Slot slotOf(long rows, long scoredRows) {
        long likeliest = scoredRows * ScoredTokens.MOST_LIKELIEST;
        try (var reservation = new Reservation(device)) {
            PinnedMemory memory = reservation.with(device.allocatePinned(
                    2 * (rows + scoredRows + likeliest) * Integer.BYTES, "results of a step"));
            CudaEvent arrived = reservation.with(device.newEvent(false));
            reservation.keep();
            MemorySegment all = memory.segment();
            long scores = 2 * rows;
            return new Slot(memory, words(all, 0, rows), words(all, rows, rows), arrived, scoredRows == 0 ? null
                    : new Scores(words(all, scores, scoredRows), words(all, scores + scoredRows, scoredRows),
                            words(all, scores + 2 * scoredRows, likeliest),
                            words(all, scores + 2 * scoredRows + likeliest, likeliest)));
        }
    }

    /** @param first of so many words of four bytes */
    private static MemorySegment words(MemorySegment memory, long first, long count) {
        return memory.asSlice(first * Integer.BYTES, count * Integer.BYTES);
    }

    /** Also while copies to it are under way: those of whoever takes it next come behind them, on the same stream. */
    void giveBack(Slot slot) {
        idle.push(slot);
    }
}
