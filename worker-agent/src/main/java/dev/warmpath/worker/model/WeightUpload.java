package dev.warmpath.worker.model;

import dev.warmpath.worker.compute.ComputeBackend;
import dev.warmpath.worker.compute.Tensor;
import dev.warmpath.worker.model.weights.RowOrder;
import dev.warmpath.worker.model.weights.WeightTensor;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;
import java.util.function.LongConsumer;

/**
 * Brings a tensor's values from its mapped file to the device: as they lie, or by portions of rows where these are put
 * together first.
 */
final class WeightUpload {

    private static final long PORTION_BYTES = 8 << 20;

    private final ComputeBackend backend;
    private final boolean hasValues;
    private final LongConsumer progress;

    /**
     * @param hasValues false: nothing is read, and backends are given nothing, for whoever measures a model
     * @param progress  told of bytes, as files have them, when the backend has taken them
     */
    WeightUpload(ComputeBackend backend, boolean hasValues, LongConsumer progress) {
        this.backend = backend;
        this.hasValues = hasValues;
        this.progress = progress;
    }

    /** @param firstRow of the target @param source [rows, columns of the target] */
    void matrix(Tensor target, int firstRow, WeightTensor source) {
        int rows = source.shape().getFirst();
        if (hasValues) {
            upload(target, firstRow, rows, source);
        } else {
            backend.upload(target, firstRow, rows, source.format(), MemorySegment.NULL);
        }
        progress.accept(source.values().byteSize());
    }

    private void upload(Tensor target, int firstRow, int rows, WeightTensor source) {
        boolean asStored = source.order().equals(RowOrder.AS_STORED);
        int atOnce = asStored ? rows : (int) Math.max(1, PORTION_BYTES / source.format().bytes(target.columns()));
        for (int row = 0; row < rows; row += atOnce) {
            int count = Math.min(atOnce, rows - row);
            try (var arena = Arena.ofConfined()) {
                backend.upload(target, firstRow + row, count, source.format(), source.rows(row, count, arena));
            }
        }
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
                progress.accept(source.values().byteSize());
            }
            backend.write(target, all);
        }
    }
}
