package dev.warmpath.worker.model;

import dev.warmpath.worker.compute.ComputeBackend;
import dev.warmpath.worker.compute.StoredRows;
import dev.warmpath.worker.compute.Tensor;
import dev.warmpath.worker.compute.WeightFormat;
import dev.warmpath.worker.model.weights.RowOrder;
import dev.warmpath.worker.model.weights.WeightTensor;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;
import java.util.function.Consumer;
import java.util.stream.IntStream;

/**
 * Brings a tensor's values from its mapped file to the device: as they lie, or by portions of rows where these are put
 * together or quantized first.
 */
final class WeightUpload {

    private static final long PORTION_BYTES = 8 << 20;

    private final ComputeBackend backend;
    private final Quantization quantization;
    private final boolean hasValues;
    private final Consumer<WeightTensor> progress;

    /**
     * @param quantization of linear layers
     * @param hasValues    false: nothing is read, and backends are given nothing, for whoever measures a model
     * @param progress     told of a tensor when the backend has taken it
     */
    WeightUpload(ComputeBackend backend, Quantization quantization, boolean hasValues,
            Consumer<WeightTensor> progress) {
        this.backend = backend;
        this.quantization = quantization;
        this.hasValues = hasValues;
        this.progress = progress;
    }

    /** As what {@link #linear} uploads that source. */
    StoredRows linearRows(WeightTensor source) {
        return new StoredRows(quantization.uploaded(source.format(), source.shape().getLast()),
                source.shape().getFirst());
    }

    /**
     * Takes over what another process has made of these sources.
     * @param sources all of the target's
     * @return false if they have to be uploaded
     */
    boolean adopt(Tensor target, List<WeightTensor> sources) {
        if (!hasValues || !backend.adopt(target)) {
            return false;
        }
        sources.forEach(progress);
        return true;
    }

    /** Weights of a linear layer. @param firstRow of the target @param source [rows, columns of the target] */
    void linear(Tensor target, int firstRow, WeightTensor source) {
        matrix(target, firstRow, source, quantization.uploaded(source.format(), target.columns()));
    }

    /** Rows that are looked up. @param source [rows of the target, columns of the target] */
    void lookup(Tensor target, WeightTensor source) {
        matrix(target, 0, source, source.format());
    }

    private void matrix(Tensor target, int firstRow, WeightTensor source, WeightFormat format) {
        int rows = source.shape().getFirst();
        if (hasValues) {
            upload(target, firstRow, rows, source, format);
        } else {
            backend.upload(target, firstRow, rows, format, MemorySegment.NULL);
        }
        progress.accept(source);
    }

    private void upload(Tensor target, int firstRow, int rows, WeightTensor source, WeightFormat format) {
        int columns = target.columns();
        boolean asStored = format == source.format() && source.order().equals(RowOrder.AS_STORED);
        int atOnce = asStored ? rows : (int) Math.max(1, PORTION_BYTES / source.format().bytes(columns));
        for (int row = 0; row < rows; row += atOnce) {
            int count = Math.min(atOnce, rows - row);
            // not confined: the backend may spread its work over threads
            try (var arena = Arena.ofShared()) {
                MemorySegment values = source.rows(row, count, arena);
                backend.upload(target, firstRow + row, count, format,
                        format == source.format() ? values : quantized(values, source.format(), count, columns, arena));
            }
        }
    }

    /** @return Q8_0 [rows, columns] */
    private static MemorySegment quantized(MemorySegment values, WeightFormat format, int rows, int columns,
            Arena arena) {
        long rowBytes = WeightFormat.Q8_0.bytes(columns);
        MemorySegment target = arena.allocate(rows * rowBytes);
        IntStream.range(0, rows).parallel().forEach(row -> {
            float[] widened = new float[columns];
            format.widen(values, (long) row * columns, columns, widened);
            WeightFormat.toQ8(widened, columns, target, row * rowBytes);
        });
        return target;
    }

    /**
     * Widened, and one behind the other.
     * @param target F32 [1, elements of all sources]
     * @param shift  added to each
     * @param scale  of what comes of that
     */
    void vector(Tensor target, List<WeightTensor> sources, double shift, double scale) {
        try (var arena = Arena.ofConfined()) {
            MemorySegment all = arena.allocate(ValueLayout.JAVA_FLOAT, hasValues ? target.columns() : 0);
            int next = 0;
            for (WeightTensor source : sources) {
                float[] values = new float[hasValues ? source.shape().getFirst() : 0];
                source.format().widen(source.rows(0, values.length, arena), 0, values.length, values);
                for (float value : values) {
                    all.setAtIndex(ValueLayout.JAVA_FLOAT, next++, (float) ((value - source.added() + shift) * scale));
                }
                progress.accept(source);
            }
            backend.write(target, all);
        }
    }
}
