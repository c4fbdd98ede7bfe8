package dev.warmpath.worker.compute.cuda;

import static dev.warmpath.worker.compute.cuda.KernelSizes.GROUP_ELEMENTS;
import static dev.warmpath.worker.compute.cuda.KernelSizes.PRODUCT_TILES;
import static dev.warmpath.worker.compute.cuda.KernelSizes.PRODUCT_TILE_ROWS;
import static dev.warmpath.worker.compute.cuda.KernelSizes.ROW_THREADS;
import static dev.warmpath.worker.compute.cuda.KernelSizes.SKINNY_OUTPUTS;
import static dev.warmpath.worker.compute.cuda.KernelSizes.SKINNY_THREADS;

import dev.warmpath.worker.compute.DataType;
import java.util.EnumMap;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What steps do with weights that have blocks: products and look-ups. A few rows are multiplied by a kernel that widens
 * in registers. For more, rows of the weight are widened to bfloat16 in a buffer which all weights share, and the
 * library multiplies; the stream keeps the order, in a captured step as well. Both multiply the same bfloat16 numbers.
 *
 * <p><b>How many are a few.</b> A block of the kernel has 16 outputs and reads all of the input for them: 2 bytes of
 * each row for 16 weights, which come out of the card's cache. That is 4 bytes a weight for 32 rows, as much as
 * widening writes there and the library reads again; for more rows the kernel reads more than they do.
 */
final class BlockProducts {

    static final int MOST_FEW_ROWS = PRODUCT_TILES * PRODUCT_TILE_ROWS;
    /** As much as the caches that multiprocessors share have room for beside the activations: 40 MB and above. */
    static final long SCRATCH_BYTES = 32L << 20;

    private record Kernels(Kernel tile, Kernel tiles, Kernel widen) {
    }

    private final CudaDevice device;
    private final CudaStream stream;
    private final Map<BlockLayout, Kernels> kernels = new EnumMap<>(BlockLayout.class);
    private @Nullable DevicePointer scratch;

    BlockProducts(CudaDevice device, CudaStream stream) {
        this.device = device;
        this.stream = stream;
        for (BlockLayout layout : BlockLayout.values()) {
            String suffix = layout.suffix();
            kernels.put(layout, new Kernels(product(suffix, PRODUCT_TILE_ROWS), product(suffix, MOST_FEW_ROWS),
                    device.kernel("wp_widen_" + suffix)));
        }
    }

    private Kernel product(String suffix, int mostRows) {
        return device.kernel("wp_block_product_%s_m%d".formatted(suffix, mostRows));
    }

    /** Takes the buffer; before the first product, and only where there are blocks. */
    void prepare() {
        if (scratch == null) {
            scratch = device.allocate(SCRATCH_BYTES, "a weight on its way to a product");
        }
    }

    /** Enqueues {@code output = input · weightᵀ}. */
    void multiply(Operation.Matmul product, int rows) {
        if (rows > MOST_FEW_ROWS && product.weight().rows() % GemmPlans.OUTPUTS_MULTIPLE == 0) {
            multiplyWidened(product, rows);
            return;
        }
        for (int row = 0; row < rows; row += MOST_FEW_ROWS) {
            multiplyFew(product, row, Math.min(MOST_FEW_ROWS, rows - row));
        }
    }

    private void multiplyFew(Operation.Matmul product, int firstRow, int rows) {
        DataType type = product.output().type();
        int depth = product.weight().columns();
        int outputs = product.weight().rows();
        DevicePointer input = product.input().memory.from((long) firstRow * depth * DataType.BF16.bytes());
        for (CudaWeight.Part part : product.weight().parts) {
            Kernels own = kernels(part.layout());
            Kernel kernel = rows <= PRODUCT_TILE_ROWS ? own.tile() : own.tiles();
            kernel.launch(stream, Math.ceilDiv(part.rowCount(), SKINNY_OUTPUTS), 1, SKINNY_THREADS, 0,
                    kernel.arguments().pointer(input).pointer(part.memory())
                            .pointer(product.output().memory
                                    .from(((long) firstRow * outputs + part.firstRow()) * type.bytes()))
                            .integer(type == DataType.F32 ? 1 : 0).integer(part.rowCount()).integer(depth)
                            .integer(rows).integer(outputs));
        }
    }

    /** By so many rows of the weight as the buffer takes, in ranges of about the same size. */
    private void multiplyWidened(Operation.Matmul product, int rows) {
        CudaWeight weight = product.weight();
        DataType type = product.output().type();
        int range = rangeRows(weight.rows(), weight.columns());
        DevicePointer buffer = scratch();
        for (int first = 0; first < weight.rows(); first += range) {
            int count = Math.min(range, weight.rows() - first);
            widen(weight, first, count, buffer);
            device.gemm().multiply(stream, product.input().memory, buffer,
                    product.output().memory.from((long) first * type.bytes()), type, rows, count, weight.columns(),
                    weight.rows());
        }
    }

    /** @param outputs a multiple of 8, as what is returned */
    static int rangeRows(int outputs, int depth) {
        int multiple = GemmPlans.OUTPUTS_MULTIPLE;
        long most = SCRATCH_BYTES / ((long) depth * DataType.BF16.bytes()) / multiple * multiple;
        if (most == 0) {
            throw new IllegalArgumentException(String.format(Locale.ROOT, "rows of a weight have %,d elements, "
                    + "products of many rows take up to %,d", depth, SCRATCH_BYTES / multiple / DataType.BF16.bytes()));
        }
        int ranges = (int) Math.ceilDiv(outputs, most);
        return Math.ceilDiv(Math.ceilDiv(outputs, ranges), multiple) * multiple;
    }

    private void widen(CudaWeight weight, int firstRow, int rowCount, DevicePointer target) {
        int columns = weight.columns();
        for (CudaWeight.Part part : weight.parts) {
            int from = Math.max(firstRow, part.firstRow());
            int to = Math.min(firstRow + rowCount, part.endRow());
            if (from < to) {
                launchWiden(part, columns, to - from, null, from - part.firstRow(),
                        target.from((long) (from - firstRow) * columns * DataType.BF16.bytes()), null);
            }
        }
    }

    /** Enqueues {@code hidden[r] = table[tokens[r]]}. @param live how many of the rows count; null: all */
    void embed(Operation.Embed lookup, int rows, @Nullable DevicePointer live) {
        for (CudaWeight.Part part : lookup.table().parts) {
            launchWiden(part, lookup.table().columns(), rows, lookup.tokens().memory, -part.firstRow(),
                    lookup.hidden().memory, live);
        }
    }

    private void launchWiden(CudaWeight.Part part, int columns, int rows, @Nullable DevicePointer rowIndexes, int shift,
                             DevicePointer output, @Nullable DevicePointer live) {
        Kernel widen = kernels(part.layout()).widen();
        widen.launch(stream, rows, Math.ceilDiv(columns / GROUP_ELEMENTS, ROW_THREADS), ROW_THREADS, 0,
                widen.arguments().pointer(part.memory()).integer(part.rowCount()).integer(columns)
                        .pointer(rowIndexes).integer(shift).pointer(output).pointer(live));
    }

    private Kernels kernels(BlockLayout layout) {
        Kernels own = kernels.get(layout);
        if (own == null) {
            throw new IllegalStateException("no kernels for " + layout);
        }
        return own;
    }

    private DevicePointer scratch() {
        DevicePointer taken = scratch;
        if (taken == null) {
            throw new IllegalStateException("a weight has blocks and there is no buffer to widen them in");
        }
        return taken;
    }
}
