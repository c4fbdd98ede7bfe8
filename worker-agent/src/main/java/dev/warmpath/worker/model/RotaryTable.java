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
     * Frequencies and angles are rounded to float32 before the cosine is taken, as transformers does.
     * @param positions of the context that is served
     * @return F32 [positions, size]: cos(position · f(i)) for i below size / 2, then the sines
     */
    static Tensor create(Rotation rotation, int positions, ComputeBackend backend) {
        int size = rotation.size();
        int half = size / 2;
        float[] frequencies = frequencies(rotation, positions);
        double amplitude = rotation.scaling().amplitude();
        Tensor table = backend.allocate(DataType.F32, positions, size);
        try (var arena = Arena.ofConfined()) {
            var values = arena.allocate(ValueLayout.JAVA_FLOAT, (long) positions * size);
            for (int position = 0; position < positions; position++) {
                long row = (long) position * size;
                for (int i = 0; i < half; i++) {
                    float angle = position * frequencies[i];
                    values.setAtIndex(ValueLayout.JAVA_FLOAT, row + i, (float) (Math.cos(angle) * amplitude));
                    values.setAtIndex(ValueLayout.JAVA_FLOAT, row + half + i, (float) (Math.sin(angle) * amplitude));
                }
            }
            backend.write(table, values);
        }
        return table;
    }

    /** @return f(i) for each pair */
    static float[] frequencies(Rotation rotation, int positions) {
        int size = rotation.size();
        float[] frequencies = new float[size / 2];
        for (int i = 0; i < frequencies.length; i++) {
            double plain = 1 / Math.pow(rotation.theta(), (float) (2 * i) / size);
            frequencies[i] = (float) switch (rotation.scaling()) {
                case RotaryScaling.Plain() -> plain;
                case RotaryScaling.Linear(double factor) -> plain / factor;
                case RotaryScaling.Llama3 llama -> scaled(llama, plain);
                case RotaryScaling.Yarn yarn -> scaled(yarn, rotation, i, plain);
                case RotaryScaling.LongRope rope -> plain / (positions > rope.originalContext() ? rope.longFactors()
                        : rope.shortFactors()).get(i);
            };
        }
        return frequencies;
    }

    private static double scaled(RotaryScaling.Llama3 llama, double plain) {
        double turns = llama.originalContext() * plain / (2 * Math.PI);
        double kept = (turns - llama.lowFrequencyFactor())
                / (llama.highFrequencyFactor() - llama.lowFrequencyFactor());
        return mixed(plain, llama.factor(), Math.clamp(kept, 0, 1));
    }

    private static double scaled(RotaryScaling.Yarn yarn, Rotation rotation, int pair, double plain) {
        double first = pairThatTurns(yarn.fastTurns(), yarn, rotation);
        double last = pairThatTurns(yarn.slowTurns(), yarn, rotation);
        first = Math.max(yarn.wholeEnds() ? Math.floor(first) : first, 0);
        last = Math.min(yarn.wholeEnds() ? Math.ceil(last) : last, rotation.size() - 1);
        double divided = (pair - first) / (last == first ? 0.001 : last - first);
        return mixed(plain, yarn.factor(), 1 - Math.clamp(divided, 0, 1));
    }

    /** Index, with its fraction, of the pair that turns so often in the original context. */
    private static double pairThatTurns(double turns, RotaryScaling.Yarn yarn, Rotation rotation) {
        return rotation.size() * Math.log(yarn.originalContext() / (turns * 2 * Math.PI))
                / (2 * Math.log(rotation.theta()));
    }

    /** @param kept share of the frequency that is not divided, 0 to 1 */
    private static double mixed(double plain, double factor, double kept) {
        return (1 - kept) * plain / factor + kept * plain;
    }
}
