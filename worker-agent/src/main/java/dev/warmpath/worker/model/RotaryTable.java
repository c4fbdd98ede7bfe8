package dev.warmpath.worker.model;

import dev.warmpath.worker.compute.ComputeBackend;
import dev.warmpath.worker.compute.DataType;
import dev.warmpath.worker.compute.Tensor;
import java.lang.foreign.Arena;
import java.lang.foreign.ValueLayout;

/** Cosines and sines of the rotary angles, once for every position of the context. */
final class RotaryTable {

    private RotaryTable() {
    }

    /**
     * Frequencies f_i = theta^(−2i / headSize) and angles are rounded to float32 before the cosine is taken, as
     * transformers does.
     * @return F32 [positions, headSize]: cos(position · f_i) for i below headSize / 2, then the sines
     */
    static Tensor create(int positions, int headSize, double theta, ComputeBackend backend) {
        int half = headSize / 2;
        Tensor table = backend.allocate(DataType.F32, positions, headSize);
        try (var arena = Arena.ofConfined()) {
            var values = arena.allocate(ValueLayout.JAVA_FLOAT, (long) positions * headSize);
            for (int i = 0; i < half; i++) {
                float frequency = (float) (1 / Math.pow(theta, (float) (2 * i) / headSize));
                for (int position = 0; position < positions; position++) {
                    float angle = position * frequency;
                    long row = (long) position * headSize;
                    values.setAtIndex(ValueLayout.JAVA_FLOAT, row + i, (float) Math.cos(angle));
                    values.setAtIndex(ValueLayout.JAVA_FLOAT, row + half + i, (float) Math.sin(angle));
                }
            }
            backend.write(table, values);
        }
        return table;
    }
}
