package dev.warmpath.worker.compute;

/** Where a backend keeps what it allocates. */
public enum MemoryPlace {
    /** In arrays of this JVM, within {@code -Xmx}. */
    HEAP,
    /** In memory of this process beside the heap. */
    NATIVE,
    /** In memory of a device's own. */
    DEVICE
}
