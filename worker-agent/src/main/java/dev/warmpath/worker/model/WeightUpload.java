package dev.warmpath.worker.model;

import dev.warmpath.worker.compute.ComputeBackend;
import dev.warmpath.worker.compute.Tensor;
import dev.warmpath.worker.model.weights.RowOrder;
import dev.warmpath.worker.model.weights.WeightTensor;
import java.lang.foreign.Arena;

/**
 * Brings a tensor's values from its mapped file to the device: as they lie, or by portions of rows where these are put
 * together first.
 */
final class WeightUpload {

    private static final long PORTION_BYTES = 8 << 20;

    private final ComputeBackend backend;

    WeightUpload(ComputeBackend backend) {
        this.backend = backend;
    }

    /** @param firstRow of the target @param source [rows, columns of the target] */
    void matrix(Tensor target, int firstRow, WeightTensor source) {
        int rows = source.shape().getFirst();
        boolean asStored = source.order().equals(RowOrder.AS_STORED);
        int atOnce = asStored ? rows : (int) Math.max(1, PORTION_BYTES / source.format().bytes(target.columns()));
        for (int row = 0; row < rows; row += atOnce) {
            int count = Math.min(atOnce, rows - row);
            try (var arena = Arena.ofConfined()) {
                backend.upload(target, firstRow + row, count, source.format(), source.rows(row, count, arena));
            }
        }
    }
}
