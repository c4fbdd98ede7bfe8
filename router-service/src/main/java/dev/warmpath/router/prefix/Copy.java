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
    private volatile long digest;

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
        return digest;
    }

    void set(int newSize, long newDigest) {
        size = newSize;
        digest = newDigest;
    }

    /** True once its keys may be swept away; nothing may be added any more. */
    boolean isRetired() {
        return retired;
    }

    void retire() {
        retired = true;
    }
}
