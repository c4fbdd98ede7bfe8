package dev.warmpath.worker.compute.cuda;

import dev.warmpath.worker.compute.Bf16;
import dev.warmpath.worker.compute.DataType;
import dev.warmpath.worker.compute.WeightFormat;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/** Brings rows of a weight to the card: blocks as they are, what is kept as bfloat16 rounded on the way. */
final class WeightWriter {

    /** Elements of a weight. */
    private static final int NARROWED_AT_ONCE = 4_096;

    private final Staging staging;

    WeightWriter(Staging staging) {
        this.staging = staging;
    }

    /** Enqueues a write. @param values whole rows of that format */
    void write(CudaWeight weight, int firstRow, int rowCount, WeightFormat format, MemorySegment values) {
        for (CudaWeight.Part part : weight.parts) {
            int from = Math.max(firstRow, part.firstRow());
            int to = Math.min(firstRow + rowCount, part.endRow());
            if (from < to) {
                long columns = weight.columns();
                write(part, (from - part.firstRow()) * columns, format, values.asSlice(
                        format.bytes((from - firstRow) * columns), format.bytes((to - from) * columns)));
            }
        }
    }

    /** @param first element of the part's */
    private void write(CudaWeight.Part part, long first, WeightFormat format, MemorySegment values) {
        if (part.layout() == BlockLayout.BF16) {
            long elements = values.byteSize() / format.blockBytes() * format.blockElements();
            DevicePointer target = part.memory().plus(first * DataType.BF16.bytes(), elements * DataType.BF16.bytes());
            staging.writeThrough(target, target.bytes(), format == WeightFormat.BF16
                    ? (offset, portion) -> MemorySegment.copy(values, offset, portion, 0, portion.byteSize())
                    : (offset, portion) -> narrow(format, values, offset / DataType.BF16.bytes(), portion));
        } else if (part.layout().format() == format) {
            part.layout().write(staging, part.memory(), first / format.blockElements(), values);
        } else {
            throw new IllegalArgumentException("rows that were to come as %s come as %s"
                    .formatted(part.layout().format(), format));
        }
    }

    private static void narrow(WeightFormat format, MemorySegment values, long first, MemorySegment target) {
        long count = target.byteSize() / DataType.BF16.bytes();
        float[] widened = new float[NARROWED_AT_ONCE];
        for (long done = 0; done < count; done += NARROWED_AT_ONCE) {
            int portion = (int) Math.min(NARROWED_AT_ONCE, count - done);
            format.widen(values, first + done, portion, widened);
            for (int i = 0; i < portion; i++) {
                target.setAtIndex(ValueLayout.JAVA_SHORT, done + i, Bf16.of(widened[i]));
            }
        }
    }
}
