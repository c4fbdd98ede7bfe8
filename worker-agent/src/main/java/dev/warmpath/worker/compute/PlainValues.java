package dev.warmpath.worker.compute;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;

/** Formats in which each element stands by itself. */
final class PlainValues {

    private static final ValueLayout.OfFloat FLOAT =
            ValueLayout.JAVA_FLOAT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final ValueLayout.OfShort SHORT =
            ValueLayout.JAVA_SHORT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);

    private PlainValues() {}

    static void widenF32(MemorySegment values, long at, int count, float[] target) {
        MemorySegment.copy(values, FLOAT, at, target, 0, count);
    }

    static void widenF16(MemorySegment values, long at, int count, float[] target) {
        for (int i = 0; i < count; i++) {
            target[i] = f16(values, at + (long) i * Short.BYTES);
        }
    }

    static void widenBf16(MemorySegment values, long at, int count, float[] target) {
        for (int i = 0; i < count; i++) {
            target[i] = Bf16.toFloat(values.get(SHORT, at + (long) i * Short.BYTES));
        }
    }

    static float f16(MemorySegment values, long at) {
        return Float.float16ToFloat(values.get(SHORT, at));
    }
}
