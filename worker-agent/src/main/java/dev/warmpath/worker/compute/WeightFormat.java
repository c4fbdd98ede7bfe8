package dev.warmpath.worker.compute;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;

/**
 * How the values of a weight are stored, in its file and on the way to the device, which may keep them so or otherwise.
 * Little-endian, any alignment. Whoever has a faster way for a format than {@link #widen} is held to it.
 */
public enum WeightFormat {

    F32(Float.BYTES) {
        @Override
        public void widen(MemorySegment values, long first, int count, float[] target) {
            MemorySegment.copy(values, FLOAT, first * Float.BYTES, target, 0, count);
        }
    },
    /** The upper half of a float32. */
    BF16(Short.BYTES) {
        @Override
        public void widen(MemorySegment values, long first, int count, float[] target) {
            for (int i = 0; i < count; i++) {
                target[i] = Bf16.toFloat(values.get(SHORT, (first + i) * Short.BYTES));
            }
        }
    };

    private static final ValueLayout.OfFloat FLOAT =
            ValueLayout.JAVA_FLOAT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final ValueLayout.OfShort SHORT =
            ValueLayout.JAVA_SHORT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);

    private final int elementBytes;

    WeightFormat(int elementBytes) {
        this.elementBytes = elementBytes;
    }

    /** Bytes of so many elements; {@link Long#MAX_VALUE} if those are past 64 bits. */
    public long bytes(long elements) {
        return elements > Long.MAX_VALUE / elementBytes ? Long.MAX_VALUE : elements * elementBytes;
    }

    /**
     * What the elements are worth, exactly.
     * @param values stored elements
     * @param first  index of the first element to widen
     * @param target filled from 0 on, at least {@code count} long
     */
    public abstract void widen(MemorySegment values, long first, int count, float[] target);
}
