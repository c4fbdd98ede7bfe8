package dev.warmpath.worker.compute.cuda;

import dev.warmpath.worker.compute.DataType;
import dev.warmpath.worker.compute.Tensor;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import org.jspecify.annotations.Nullable;

/**
 * A row-major matrix on the card. There is memory behind its last row: up to {@link GemmPlans#bucket}, because products
 * and replayed steps round their rows up and touch those, too.
 */
final class CudaTensor implements Tensor {

    /** Longest column of integers whose content the host remembers. */
    private static final int MAX_REMEMBERED = 1 << 16;

    final CudaDevice device;
    final DevicePointer memory;
    private final DataType type;
    private final int rows;
    private final int columns;
    /** What the host wrote last: the attention of a step is planned from it. Null: nothing, or too much. */
    private int @Nullable [] written;

    private CudaTensor(CudaDevice device, DevicePointer memory, DataType type, int rows, int columns) {
        this.device = device;
        this.memory = memory;
        this.type = type;
        this.rows = rows;
        this.columns = columns;
    }

    /** Memory of undefined content. */
    static CudaTensor allocate(CudaDevice device, DataType type, int rows, int columns) {
        long bytes = (long) GemmPlans.bucket(rows) * columns * type.bytes();
        var memory = device.allocate(bytes, "a tensor of [%d, %d] %s".formatted(rows, columns, type));
        return new CudaTensor(device, memory, type, rows, columns);
    }

    /** Remembers what is being written to the leading elements. */
    void remember(MemorySegment values) {
        if (type != DataType.I32 || columns != 1 || rows > MAX_REMEMBERED) {
            return;
        }
        if (written == null) {
            written = new int[rows];
        }
        int count = (int) (values.byteSize() / Integer.BYTES);
        MemorySegment.copy(values, ValueLayout.JAVA_INT_UNALIGNED, 0, written, 0, count);
    }

    /** What the host wrote last, I32 [rows]. @throws IllegalArgumentException if it wrote nothing, or too much */
    int[] written() {
        if (written == null) {
            throw new IllegalArgumentException("a batch's lengths are written by the host, in one column of at most %d"
                    .formatted(MAX_REMEMBERED));
        }
        return written;
    }

    /** Memory of the leading rows. */
    DevicePointer leading(int rowCount) {
        return rows(0, rowCount);
    }

    DevicePointer rows(int firstRow, int rowCount) {
        long rowBytes = (long) columns * type.bytes();
        return memory.plus(firstRow * rowBytes, rowCount * rowBytes);
    }

    @Override
    public DataType type() {
        return type;
    }

    @Override
    public int rows() {
        return rows;
    }

    @Override
    public int columns() {
        return columns;
    }
}
