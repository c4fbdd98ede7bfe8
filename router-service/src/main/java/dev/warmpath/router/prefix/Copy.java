package dev.warmpath.router.prefix;

/**
 * One loaded copy of a worker's keys: an ordinal in the index, and what is under it. A reload makes another one.
 * Size and digest are written under the table's lock and read by anybody.
 */
final class Copy {

    private final int ordinal;
    /** Written under the lock of {@link Copies}. */
    private volatile boolean retired;
    private volatile int size;
    /** Seen with the size, which is written after it: one fence for both. */
    private long digest;

    Copy(int ordinal) {
        this.ordinal = ordinal;
    }

    int ordinal() {
        return ordinal;
    }

    int size() {
        return size;
    }

    /** {@link dev.warmpath.protocol.event.KeySetDigest} of the keys. */
    long digest() {
        return size < 0 ? 0 : digest;                              // reads the size for what was written before it
    }

    void set(int newSize, long newDigest) {
        digest = newDigest;
        size = newSize;
    }

    /** True once its keys may be swept away; nothing may be added any more. */
    boolean isRetired() {
        return retired;
    }

    void retire() {
        retired = true;
    }
}
