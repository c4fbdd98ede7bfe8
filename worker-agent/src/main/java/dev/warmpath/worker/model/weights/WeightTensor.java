package dev.warmpath.worker.model.weights;

import dev.warmpath.worker.compute.WeightFormat;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SegmentAllocator;
import java.util.List;

/**
 * One tensor of a weight file.
 * @param shape  dimensions, outermost first; their product is how many elements the values hold, and the last one is
 *               whole blocks
 * @param values little-endian, row-major, any alignment, read-only; lives as long as the file is open
 * @param order  which of the stored rows are the tensor's
 */
public record WeightTensor(String name, WeightFormat format, List<Integer> shape, MemorySegment values,
                           RowOrder order) {

    public WeightTensor {
        shape = List.copyOf(shape);
    }

    /** One whose rows are stored in their order. */
    public WeightTensor(String name, WeightFormat format, List<Integer> shape, MemorySegment values) {
        this(name, format, shape, values, RowOrder.AS_STORED);
    }

    /** The same values under another name. */
    public WeightTensor named(String other, RowOrder rows) {
        return new WeightTensor(other, format, shape, values, rows);
    }

    /**
     * Values of so many rows, of the last dimension's length each; of one dimension, each element is a row.
     * @param scratch where they are put together if they are not stored in their order
     */
    public MemorySegment rows(int first, int count, SegmentAllocator scratch) {
        long rowBytes = format.bytes(shape.size() == 1 ? 1 : shape.getLast());
        if (order.equals(RowOrder.AS_STORED)) {
            return values.asSlice(first * rowBytes, count * rowBytes);
        }
        MemorySegment rows = scratch.allocate(count * rowBytes);
        for (int row = 0; row < count; row++) {
            MemorySegment.copy(values, order.stored(first + row) * rowBytes, rows, row * rowBytes, rowBytes);
        }
        return rows;
    }
}
