package dev.warmpath.worker.compute;

/** Bits of bfloat16: the upper half of a float32. */
public final class Bf16 {

    private Bf16() {
    }

    /** The nearest bfloat16, of two equally near the even one; a NaN stays one. */
    public static short of(float value) {
        int bits = Float.floatToIntBits(value);
        if (Float.isNaN(value)) {
            return (short) (bits >>> 16);          // the one NaN that floatToIntBits gives keeps its upper half
        }
        int tieToEven = 0x7FFF + (bits >>> 16 & 1);
        return (short) (bits + tieToEven >>> 16);
    }

    public static float toFloat(short bits) {
        return Float.intBitsToFloat(bits << 16);
    }
}
