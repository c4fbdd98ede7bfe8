package dev.warmpath.worker.compute.cuda;

import dev.warmpath.worker.compute.DataType;
import dev.warmpath.worker.compute.StoredRows;
import dev.warmpath.worker.compute.Tensor;
import dev.warmpath.worker.compute.WeightFormat;
import java.util.ArrayList;
import java.util.List;

/**
 * A weight matrix on the card, an output a row. Rows that come in blocks stay blocks, all others are bfloat16,
 * row-major. Neighbours that are kept alike are a part; a weight without blocks is one part.
 */
final class CudaWeight implements Tensor {

    /** Where a part begins, more than any kernel asks for. */
    private static final long PART_ALIGNMENT_BYTES = 256;

    /** Rows that are kept alike. */
    record Part(BlockLayout layout, int firstRow, int rowCount, DevicePointer memory) {

        int endRow() {
            return firstRow + rowCount;
        }
    }

    final CudaDevice device;
    /** Of all parts. */
    final DevicePointer memory;
    final List<Part> parts;
    private final int rows;
    private final int columns;

    private CudaWeight(CudaDevice device, DevicePointer memory, List<Part> parts, int rows, int columns) {
        this.device = device;
        this.memory = memory;
        this.parts = parts;
        this.rows = rows;
        this.columns = columns;
    }

    /** Memory of undefined content. @param stored neighbouring formats are joined if they are kept alike */
    static CudaWeight allocate(CudaDevice device, int columns, List<StoredRows> stored) {
        List<StoredRows> kept = joined(stored);
        int rows = kept.stream().mapToInt(StoredRows::count).sum();
        long bytes = 0;
        for (StoredRows part : kept) {
            bytes = aligned(bytes) + bytes(part.format(), part.count(), columns);
        }
        DevicePointer memory = device.allocate(bytes, "a weight of [%d, %d]".formatted(rows, columns));
        List<Part> parts = new ArrayList<>();
        int row = 0;
        long start = 0;
        for (StoredRows part : kept) {
            long partBytes = bytes(part.format(), part.count(), columns);
            parts.add(new Part(BlockLayout.of(part.format()), row, part.count(),
                    memory.plus(aligned(start), partBytes)));
            row += part.count();
            start = aligned(start) + partBytes;
        }
        return new CudaWeight(device, memory, List.copyOf(parts), rows, columns);
    }

    /** At least one part, and none without rows but of a weight that has none. */
    private static List<StoredRows> joined(List<StoredRows> stored) {
        List<StoredRows> kept = new ArrayList<>();
        for (StoredRows rows : stored) {
            if (rows.count() == 0) {
                continue;
            }
            WeightFormat format = BlockLayout.of(rows.format()).format();
            int before = !kept.isEmpty() && kept.getLast().format() == format ? kept.removeLast().count() : 0;
            kept.add(new StoredRows(format, before + rows.count()));
        }
        return kept.isEmpty() ? List.of(new StoredRows(WeightFormat.BF16, 0)) : kept;
    }

    private static long aligned(long bytes) {
        return Math.ceilDiv(bytes, PART_ALIGNMENT_BYTES) * PART_ALIGNMENT_BYTES;
    }

    /** Of rows that come in that format. */
    static long bytes(WeightFormat format, int rows, int columns) {
        return BlockLayout.of(format).format().bytes((long) rows * columns);
    }

    /** Whether any of these rows are kept as other than bfloat16. */
    static boolean haveBlocks(List<StoredRows> stored) {
        return joined(stored).stream().anyMatch(rows -> rows.format().hasBlocks());
    }

    /** Whether rows are more than plain bfloat16. */
    boolean hasBlocks() {
        return parts.size() > 1 || parts.getFirst().layout() != BlockLayout.BF16;
    }

    @Override
    public DataType type() {
        return DataType.BF16;
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
