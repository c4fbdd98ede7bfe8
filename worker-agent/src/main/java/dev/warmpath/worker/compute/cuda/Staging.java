package dev.warmpath.worker.compute.cuda;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import org.jspecify.annotations.Nullable;

/**
 * How host values reach the card. A step's writes are gathered in a slot of pinned memory, cross in one copy to the
 * slot's mirror on the card, and are spread from there by one kernel: a copy of its own for each of a dozen small
 * tensors would take longer than the kernels that read them.
 * <pre>
 *   slot, mirror   [64 entries {target, offset, bytes}][values of entry 0][of entry 1] …   each at a multiple of 16
 * </pre>
 * Slots form a ring. One is reused once the stream has passed the place at which it was closed, so that the host fills
 * the next step's while this one's are still on their way. What is larger than a slot crosses through several, without
 * a mirror.
 */
final class Staging {

    private static final int SLOTS = 8;
    private static final long SLOT_BYTES = 2L << 20;
    private static final int MAX_ENTRIES = 64;
    private static final int ENTRY_BYTES = 16;
    private static final long VALUES_START = (long) MAX_ENTRIES * ENTRY_BYTES;
    /** What writes leave for the step itself: its plan and its row count. */
    private static final long RESERVED_BYTES = 512L << 10;
    private static final int RESERVED_ENTRIES = 4;

    /** Puts values where they are to be copied from. */
    interface Source {

        /** @param offset of the values in all that is to be copied, bytes */
        void fill(long offset, MemorySegment part);
    }

    private final CudaStream stream;
    private final Kernel scatter;
    private final Slot[] slots = new Slot[SLOTS];
    private int last;
    private @Nullable Slot open;
    private int entryCount;
    private long used;

    private static final class Slot {

        final MemorySegment host;
        final DevicePointer mirror;
        final CudaEvent passed;
        /** Something was enqueued that uses it, and the event is not recorded behind that yet. */
        boolean inUse;

        Slot(CudaDevice device) {
            host = device.allocatePinned(SLOT_BYTES, "staging").segment();
            mirror = device.allocate(SLOT_BYTES, "staging");
            passed = device.newEvent(false);
        }
    }

    /** @param stream on which everything crosses */
    Staging(CudaDevice device, CudaStream stream) {
        this.stream = stream;
        scatter = device.kernel("wp_scatter_writes");
        for (int i = 0; i < SLOTS; i++) {
            slots[i] = new Slot(device);
        }
    }

    /** Whether these values can be staged, and nothing is staged for the same place, which would come in no order. */
    boolean takes(DevicePointer target, long bytes) {
        long end = (open == null ? VALUES_START : used) + bytes;
        if (bytes % Integer.BYTES != 0 || end > SLOT_BYTES - RESERVED_BYTES) {
            return false;
        }
        return open == null || entryCount < MAX_ENTRIES - RESERVED_ENTRIES && !holds(open, target);
    }

    private boolean holds(Slot slot, DevicePointer target) {
        for (int entry = 0; entry < entryCount; entry++) {
            if (slot.host.get(ValueLayout.JAVA_LONG, (long) entry * ENTRY_BYTES) == target.address()) {
                return true;
            }
        }
        return false;
    }

    /** Stages values, a multiple of 4 bytes; {@link #send} spreads them. */
    void write(DevicePointer target, MemorySegment values) {
        MemorySegment slot = open().host;
        long entry = (long) entryCount++ * ENTRY_BYTES;
        slot.set(ValueLayout.JAVA_LONG, entry, target.address());
        slot.set(ValueLayout.JAVA_INT, entry + 8, (int) used);
        slot.set(ValueLayout.JAVA_INT, entry + 12, (int) values.byteSize());
        append(values);
    }

    /** Stages values that kernels read where they are: in the mirror, until the slot is closed. */
    DevicePointer place(MemorySegment values) {
        DevicePointer place = open().mirror.plus(used, values.byteSize());
        append(values);
        return place;
    }

    private void append(MemorySegment values) {
        if (values.byteSize() > SLOT_BYTES - used) {
            throw new IllegalStateException("a staging slot has %,d bytes left, takes no %,d"
                    .formatted(SLOT_BYTES - used, values.byteSize()));
        }
        MemorySegment.copy(values, 0, open().host, used, values.byteSize());
        used = (used + values.byteSize() + ENTRY_BYTES - 1) / ENTRY_BYTES * ENTRY_BYTES;
    }

    boolean isEmpty() {
        return open == null;
    }

    /** Enqueues what was staged. */
    void send() {
        if (open == null) {
            return;
        }
        open.inUse = true;
        stream.copyToDevice(open.host.asSlice(0, Math.min(used, SLOT_BYTES)), open.mirror);
        if (entryCount > 0) {
            scatter.launch(stream, entryCount, KernelSizes.SCATTER_BLOCKS, KernelSizes.SCATTER_THREADS, 0,
                    scatter.arguments().pointer(open.mirror).integer(entryCount));
        }
    }

    /** Closes the slot behind everything that was enqueued to use it; what was not sent is forgotten. */
    void close() {
        Slot slot = open;
        open = null;
        if (slot != null && slot.inUse) {
            stream.record(slot.passed);
            slot.inUse = false;
        }
    }

    private Slot open() {
        if (open == null) {
            last = (last + 1) % SLOTS;
            Slot next = slots[last];
            if (next.inUse) {
                stream.synchronize();                   // the device refused to record the event
                next.inUse = false;
            } else {
                next.passed.synchronize();
            }
            entryCount = 0;
            used = VALUES_START;
            open = next;
        }
        return open;
    }

    // ---- past the steps, with nothing staged

    /** Enqueues a write of any size. */
    void writeThrough(DevicePointer target, long bytes, Source source) {
        for (long offset = 0; offset < bytes; offset += SLOT_BYTES) {
            long start = offset;
            long length = Math.min(SLOT_BYTES, bytes - offset);
            withSlot(() -> {
                MemorySegment part = open().host.asSlice(0, length);
                source.fill(start, part);
                open().inUse = true;
                stream.copyToDevice(part, target.plus(start, length));
            });
        }
    }

    /** Waits for everything enqueued and copies out what {@code source} holds. */
    void readThrough(DevicePointer source, MemorySegment values) {
        for (long offset = 0; offset < values.byteSize(); offset += SLOT_BYTES) {
            long start = offset;
            long length = Math.min(SLOT_BYTES, values.byteSize() - offset);
            withSlot(() -> {
                MemorySegment part = open().host.asSlice(0, length);
                open().inUse = true;
                stream.copyToHost(source.plus(start, length), part);
                stream.synchronize();
                MemorySegment.copy(part, 0, values, start, length);
            });
        }
    }

    private void withSlot(Runnable action) {
        try {
            action.run();
        } finally {
            close();
        }
    }
}
