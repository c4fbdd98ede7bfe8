package dev.warmpath.worker;

import java.lang.management.ManagementFactory;
import java.lang.management.MemoryPoolMXBean;
import java.lang.management.MemoryType;
import java.util.Locale;

/**
 * What a heap has for a cache, and for the books on one; in bytes.
 *
 * @param most what lives long on the heap may take: all of it, or the old generation where there is one
 * @param held what of that the model takes beside its cache
 * @param by   who says how large the heap is
 */
record HeapRoom(long most, long held, By by) {

    /** What is left alone for requests and garbage. */
    static final long LEAST_SLACK = 96L << 20;
    /** Of a heap, for each byte of its old generation, unless the JVM is told otherwise. */
    private static final double HEAP_PER_OLD = 1.5;

    /** The same where new objects get a fixed part. */
    private static final double HEAP_PER_LONG_LIVED = 1.15;

    /** Who says how large a heap is. */
    enum By {
        /** This process, which has it. */
        THIS_JVM,
        /** Whoever asks, for workers to come. */
        OPERATOR,
        /** This machine, of which workers to come get a part. */
        MACHINE
    }

    static HeapRoom ofThisJvm(long held) {
        long most = ManagementFactory.getMemoryPoolMXBeans().stream()
                .filter(pool -> pool.getType() == MemoryType.HEAP).mapToLong(HeapRoom::most).max()
                .orElseGet(() -> Runtime.getRuntime().maxMemory());
        return new HeapRoom(most, held, By.THIS_JVM);
    }

    private static long most(MemoryPoolMXBean pool) {
        return pool.getUsage().getMax();
    }

    /** Where the cache itself lies elsewhere: of this JVM's whole heap. */
    static HeapRoom forBooks() {
        return new HeapRoom(Runtime.getRuntime().maxMemory(), 0, By.THIS_JVM);
    }

    /** For cache and swap space, when nothing is to be short. */
    long left() {
        return Math.max(0, most - held - LEAST_SLACK);
    }

    /** Whether so much fits beside what is held; it may be tight. */
    boolean takes(long bytes) {
        return held + bytes < most;
    }

    /** What there is, a clause. */
    String limit() {
        return String.format(Locale.ROOT, switch (by) {
            case THIS_JVM -> "this JVM's heap, where they lie, has room for %,d only";
            case OPERATOR -> "the heap that is asked for, where they lie, has room for %,d only";
            case MACHINE -> "this machine can give each worker a heap, where they lie, with room for %,d only";
        }, most);
    }

    /** What makes room for so much, a sentence. */
    String remedy(long bytes) {
        long needed = held + bytes + LEAST_SLACK;
        return switch (by) {
            case THIS_JVM -> "Start it with -Xmx" + Megabytes.of(needed * HEAP_PER_OLD) + "m or more";
            case OPERATOR -> "Let it be -Xmx" + Megabytes.of(needed * HEAP_PER_LONG_LIVED) + "m or more";
            case MACHINE -> "Start fewer workers";
        };
    }
}
