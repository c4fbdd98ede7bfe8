package dev.warmpath.worker.compute;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.SplittableRandom;

/**
 * Carries plain arrays over the seam and back, for tests: activations in the backend's type, in the smallest sizes that
 * it takes.
 */
public record DeviceData(ComputeBackend backend, Arena arena) implements AutoCloseable {

    public DeviceData(ComputeBackend backend) {
        this(backend, Arena.ofConfined());
    }

    static float[] uniform(int count, long seed, double bound) {
        float[] values = new float[count];
        var random = new SplittableRandom(seed);
        for (int i = 0; i < count; i++) {
            values[i] = (float) random.nextDouble(-bound, bound);
        }
        return values;
    }

    /** The narrowest row from {@code least} elements on that the backend takes. */
    public int width(int least) {
        var shape = new CacheShape(1, 1, headSize(2), blockSize(1));
        int width = least;
        while (backend.lack(shape, 1, shape.headSize(), AttentionSpec.plain(shape.headSize()), width) != null) {
            width++;
        }
        return width;
    }

    /** The smallest head from {@code least} elements on that the backend takes. */
    public int headSize(int least) {
        int size = least;
        while (backend.lack(new CacheShape(1, 1, size, blockSize(1)), 1, size, AttentionSpec.plain(size)) != null) {
            size += 2;
        }
        return size;
    }

    /** The block size that is wanted, unless the backend takes only one. */
    public int blockSize(int wanted) {
        return backend.kernelBlockSize() > 0 ? backend.kernelBlockSize() : wanted;
    }

    /** As activations hold them. */
    public float[] rounded(float... values) {
        float[] rounded = values.clone();
        if (backend.activationType() == DataType.BF16) {
            for (int i = 0; i < rounded.length; i++) {
                rounded[i] = Bf16.toFloat(Bf16.of(rounded[i]));
            }
        }
        return rounded;
    }

    /** What it may cost to keep a result as an activation: nothing in float32, as that is what it was computed in. */
    public double storing(double result) {
        return backend.activationType() == DataType.BF16 ? Math.abs(result) * 0x1p-8 : 0;
    }

    /** A key or value as the cache keeps it. */
    float kept(float value) {
        return switch (backend.cacheType()) {
            case F32 -> value;
            case BF16 -> Bf16.toFloat(Bf16.of(value));
            case FP8_E4M3 -> throw new IllegalStateException("tests of bytes have their own rounding");
        };
    }

    /** What it may cost to keep a key or value below {@code bound} in the cache. */
    double keeping(double bound) {
        return backend.cacheType() == CacheType.F32 ? 0 : bound * 0x1p-8;
    }

    /**
     * Rows that were computed in other circumstances: on processors the same bits, on a GPU within the tolerance.
     * @param tolerance of each number, not included
     */
    public void assertSame(float[] actual, float[] expected, double tolerance) {
        if (backend.activationType() == DataType.F32) {
            assertThat(actual).containsExactly(expected);
        } else {
            assertThat(actual).hasSameSizeAs(expected);
            for (int i = 0; i < actual.length; i++) {
                assertThat(Math.abs(actual[i] - expected[i])).as("number %d", i).isLessThan((float) tolerance);
            }
        }
    }

    /** Values that activations hold, or they are rounded. */
    public Tensor activations(int rows, int columns, float... values) {
        Tensor tensor = activations(rows, columns);
        backend.write(tensor, tensor.type() == DataType.F32 ? segment(values) : bf16(values));
        return tensor;
    }

    public Tensor activations(int rows, int columns) {
        return backend.allocate(backend.activationType(), rows, columns);
    }

    /** The leading columns are given, the others zero. */
    Tensor leading(int rows, int columns, float... values) {
        return activations(rows, columns, padded(rows, columns, values));
    }

    /** Rows of {@code values}, filled up with zeros. */
    static float[] padded(int rows, int columns, float... values) {
        int given = values.length / rows;
        float[] all = new float[rows * columns];
        for (int row = 0; row < rows; row++) {
            System.arraycopy(values, row * given, all, row * columns, given);
        }
        return all;
    }

    public Tensor floats(int rows, int columns, float... values) {
        Tensor tensor = backend.allocate(DataType.F32, rows, columns);
        backend.write(tensor, segment(values));
        return tensor;
    }

    public Tensor ints(int... values) {
        Tensor tensor = backend.allocate(DataType.I32, values.length, 1);
        backend.write(tensor, arena.allocateFrom(ValueLayout.JAVA_INT, values));
        return tensor;
    }

    public Tensor longs(long... values) {
        Tensor tensor = backend.allocate(DataType.I64, values.length, 1);
        backend.write(tensor, arena.allocateFrom(ValueLayout.JAVA_LONG, values));
        return tensor;
    }

    public Tensor weight(int rows, int columns, float... values) {
        Tensor weight = backend.allocateWeight(rows, columns);
        backend.upload(weight, 0, rows, WeightFormat.F32, segment(values));
        return weight;
    }

    MemorySegment segment(float... values) {
        return arena.allocateFrom(ValueLayout.JAVA_FLOAT, values);
    }

    MemorySegment bf16(float... values) {
        short[] bits = new short[values.length];
        for (int i = 0; i < bits.length; i++) {
            bits[i] = Bf16.of(values[i]);
        }
        return arena.allocateFrom(ValueLayout.JAVA_SHORT, bits);
    }

    public float[] read(Tensor tensor) {
        return read(tensor, tensor.rows());
    }

    int[] readInts(Tensor tensor) {
        MemorySegment values = arena.allocate(ValueLayout.JAVA_INT, (long) tensor.rows() * tensor.columns());
        backend.read(tensor, tensor.rows(), values);
        return values.toArray(ValueLayout.JAVA_INT);
    }

    public float[] read(Tensor tensor, int rowCount) {
        int count = rowCount * tensor.columns();
        MemorySegment values = arena.allocate((long) count * tensor.type().bytes(), Long.BYTES);
        backend.read(tensor, rowCount, values);
        if (tensor.type() == DataType.F32) {
            return values.toArray(ValueLayout.JAVA_FLOAT);
        }
        float[] floats = new float[count];
        for (int i = 0; i < count; i++) {
            floats[i] = Bf16.toFloat(values.getAtIndex(ValueLayout.JAVA_SHORT, i));
        }
        return floats;
    }

    /** The leading columns of all rows. */
    float[] readLeading(Tensor tensor, int columns) {
        float[] all = read(tensor);
        float[] leading = new float[tensor.rows() * columns];
        for (int row = 0; row < tensor.rows(); row++) {
            System.arraycopy(all, row * tensor.columns(), leading, row * columns, columns);
        }
        return leading;
    }

    @Override
    public void close() {
        backend.close();
        arena.close();
    }
}
