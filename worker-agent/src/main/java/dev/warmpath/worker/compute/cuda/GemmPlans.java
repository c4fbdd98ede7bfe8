package dev.warmpath.worker.compute.cuda;

import static java.lang.foreign.ValueLayout.JAVA_FLOAT;

import dev.warmpath.worker.compute.ComputeException;
import dev.warmpath.worker.compute.DataType;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.LinkedHashMap;
import java.util.SequencedMap;

/**
 * Matrix products by cuBLASLt, planned once per shape: asking the library for an algorithm costs many times what
 * enqueuing a product does. Rows come in buckets, so that a step of any length finds a plan soon; the rows between are
 * computed and never read.
 * <p>cuBLASLt is told of columns where we have rows. Row-major {@code output [rows, outputs]} is column-major
 * {@code D [outputs, rows]}, and likewise the others, so {@code output = input · weightᵀ} is {@code D = Aᵀ · B}:
 * <pre>
 *   A = weight, [depth, outputs] by columns      B = input, [depth, rows] by columns
 * </pre>
 * All products share one workspace and so belong into one stream.
 */
final class GemmPlans {

    /** What NVIDIA advises for Hopper (cuBLAS documentation, {@code cublasSetWorkspace}). */
    private static final long WORKSPACE_BYTES = 32L << 20;

    /** Five shapes of weights and fifty of steps; a plan is three small objects of the library. */
    private static final int PLAN_COUNT_LIMIT = 256;

    /** A product is as many columns wide. */
    static final int OUTPUTS_MULTIPLE = 8;

    /** Of every matrix given, and of every row: 8 elements of 2 bytes. */
    private static final int ALIGNMENT_BYTES = 16;

    /** @param stride numbers from one row of the output to the next */
    private record Shape(DataType outputType, int rows, int outputs, int depth, int stride) {

        @Override
        public String toString() {
            return "a product [%d, %d] of depth %d into rows of %d %s"
                    .formatted(rows, outputs, depth, stride, outputType);
        }
    }

    /** Layouts and algorithm of a shape. */
    private record Plan(DeviceObject a, DeviceObject b, DeviceObject d, MemorySegment algorithm) {

        void close() {
            a.close();
            b.close();
            d.close();
        }
    }

    private final CudaDevice device;
    private final CublasLt cublasLt;
    private final DeviceObject library;
    private final DeviceObject product;
    private final DeviceObject preference;
    private final DevicePointer workspace;
    private final MemorySegment one = Arena.ofAuto().allocateFrom(JAVA_FLOAT, 1);
    private final MemorySegment zero = Arena.ofAuto().allocateFrom(JAVA_FLOAT, 0);
    private final SequencedMap<Shape, Plan> plans = new LinkedHashMap<>(16, 0.75f, true);

    /** Everything taken here belongs to the device, also if the next step fails. */
    GemmPlans(CudaDevice device, CublasLt cublasLt) {
        this.device = device;
        this.cublasLt = cublasLt;
        library = new DeviceObject(device, "cuBLASLt", cublasLt.create(), cublasLt::destroy);
        product = new DeviceObject(device, "product", cublasLt.createTransposedProduct(), cublasLt::destroyProduct);
        preference = new DeviceObject(device, "preference",
                cublasLt.createPreference(WORKSPACE_BYTES, ALIGNMENT_BYTES), cublasLt::destroyPreference);
        workspace = device.allocate(WORKSPACE_BYTES, "cuBLASLt's workspace");
    }

    /** Rows that a product of {@code rows} rows reads and writes: the next of 16, 32 … 128, 192 … 1,024, 1,280 … */
    static int bucket(int rows) {
        int step = rows <= 128 ? 16 : rows <= 1024 ? 64 : 256;
        return Math.ceilDiv(rows, step) * step;
    }

    /**
     * Enqueues {@code output = input · weightᵀ}, summed in float32.
     * @param input      BF16 [≥ bucket(rows), depth]; what rows past {@code rows} hold does not matter
     * @param weight     BF16 [outputs, depth]
     * @param output     [≥ bucket(rows), outputs]; rows up to the bucket are written
     * @param outputType BF16 or F32
     * @param outputs    a multiple of {@link #OUTPUTS_MULTIPLE}, as {@code depth} is
     */
    void multiply(CudaStream stream, DevicePointer input, DevicePointer weight, DevicePointer output,
            DataType outputType, int rows, int outputs, int depth) {
        multiply(stream, input, weight, output, outputType, rows, outputs, depth, outputs);
    }

    /**
     * Likewise, into some columns of the output.
     * @param output from the first of them on
     * @param stride columns of the whole output, a multiple of {@link #OUTPUTS_MULTIPLE}
     */
    void multiply(CudaStream stream, DevicePointer input, DevicePointer weight, DevicePointer output,
            DataType outputType, int rows, int outputs, int depth, int stride) {
        var shape = new Shape(outputType, bucket(rows), outputs, depth, stride);
        input.requireBytes((long) DataType.BF16.bytes() * shape.rows * depth);
        weight.requireBytes((long) DataType.BF16.bytes() * outputs * depth);
        output.requireBytes(outputType.bytes() * ((shape.rows - 1L) * stride + outputs));
        Plan plan = plan(shape);
        cublasLt.multiply(library.handle(), product.handle(), one, weight.address(), plan.a.handle(), input.address(),
                plan.b.handle(), zero, output.address(), plan.d.handle(), plan.algorithm, workspace, stream.handle(),
                shape);
    }

    /** The shape's plan, the most recently used from now on. */
    private Plan plan(Shape shape) {
        Plan plan = plans.get(shape);
        if (plan == null) {
            plan = make(shape);
            plans.put(shape, plan);
            if (plans.size() > PLAN_COUNT_LIMIT) {
                plans.pollFirstEntry().getValue().close();
            }
        }
        return plan;
    }

    private Plan make(Shape shape) {
        int type = switch (shape.outputType) {
            case F32 -> CublasLt.R_32F;
            case BF16 -> CublasLt.R_16BF;
            case I32, I64 -> throw new IllegalArgumentException("products are BF16 or F32, not " + shape.outputType);
        };
        var plan = new Plan(layout(CublasLt.R_16BF, shape.depth, shape.outputs, shape.depth),
                layout(CublasLt.R_16BF, shape.depth, shape.rows, shape.depth),
                layout(type, shape.outputs, shape.rows, shape.stride),
                Arena.ofAuto().allocate(CublasLt.HEURISTIC_RESULT_BYTES, Long.BYTES));
        try {
            cublasLt.chooseAlgorithm(library.handle(), product.handle(), plan.a.handle(), plan.b.handle(),
                    plan.d.handle(), preference.handle(), plan.algorithm, shape);
            return plan;
        } catch (ComputeException refused) {
            plan.close();
            throw refused;
        }
    }

    private DeviceObject layout(int type, int rows, int columns, int stride) {
        return new DeviceObject(device, "layout", cublasLt.createLayout(type, rows, columns, stride),
                cublasLt::destroyLayout);
    }
}
