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
     * @return F32 [contextLength, headSize]: cos(position · f_i) for i below headSize / 2, then the sines
     */
    static Tensor create(ModelConfig config, ComputeBackend backend) {
        int half = config.headSize() / 2;
        Tensor table = backend.allocate(DataType.F32, config.contextLength(), config.headSize());
        try (var arena = Arena.ofConfined()) {
            var values = arena.allocate(ValueLayout.JAVA_FLOAT, (long) config.contextLength() * config.headSize());
            for (int i = 0; i < half; i++) {
                float frequency = (float) (1 / Math.pow(config.ropeTheta(), (float) (2 * i) / config.headSize()));
                for (int position = 0; position < config.contextLength(); position++) {
                    float angle = position * frequency;
                    long row = (long) position * config.headSize();
                    values.setAtIndex(ValueLayout.JAVA_FLOAT, row + i, (float) Math.cos(angle));
                    values.setAtIndex(ValueLayout.JAVA_FLOAT, row + half + i, (float) Math.sin(angle));
                }
            }
            backend.write(table, values);
        }
        return table;
    }
}
