package dev.warmpath.worker.compute;

/** Element type of a tensor or of host values; little-endian wherever bytes cross the seam. */
public enum DataType {
    F32(4), BF16(2), I32(4), I64(8);

    private final int bytes;

    DataType(int bytes) {
        this.bytes = bytes;
    }

    /** Size of one element. */
    public int bytes() {
        return bytes;
    }
}
