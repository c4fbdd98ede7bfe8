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
 * @param added  what whoever wrote the file has added to each element; 0 but for norms of some GGUF files
 */
public record WeightTensor(String name, WeightFormat format, List<Integer> shape, MemorySegment values,
                           RowOrder order, double added) {

    public WeightTensor {
        shape = List.copyOf(shape);
    }

    /** One whose elements are stored as they are, in their order. */
    public WeightTensor(String name, WeightFormat format, List<Integer> shape, MemorySegment values) {
        this(name, format, shape, values, RowOrder.AS_STORED, 0);
    }

    /** The same values under another name, and what is known of how they lie. */
    public WeightTensor named(String other, RowOrder rows, double addedToEach) {
        return new WeightTensor(other, format, shape, values, rows, addedToEach);
    }

    /**
     * Values of so many rows, of the last dimension's length each; of one dimension, each element is a row.
     * @param scratch where they are put together if they are not stored in their order
     */
    public MemorySegment rows(int first, int count, SegmentAllocator scratch) {
        int rowElements = shape.size() == 1 ? 1 : shape.getLast();
        if (order.equals(RowOrder.AS_STORED)) {
            return values.asSlice(format.bytes((long) first * rowElements), format.bytes((long) count * rowElements));
        }
        if (!format.isWhole(rowElements)) {
            throw new IllegalArgumentException("%s: rows of %d elements share blocks of %s"
                    .formatted(name, rowElements, format));
        }
        long rowBytes = format.bytes(rowElements);
        MemorySegment rows = scratch.allocate(count * rowBytes);
        for (int row = 0; row < count; row++) {
            MemorySegment.copy(values, order.stored(first + row) * rowBytes, rows, row * rowBytes, rowBytes);
        }
        return rows;
    }
}
