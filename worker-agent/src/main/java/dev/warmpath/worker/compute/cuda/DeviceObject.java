package dev.warmpath.worker.compute.cuda;

import java.util.function.LongConsumer;

/** Something that a library made for a device and takes back: by {@link #close}, or when the device closes. */
class DeviceObject implements AutoCloseable {

    final CudaDevice device;
    private final String kind;
    private final long handle;
    private final LongConsumer destroyer;
    private boolean closed;

    /**
     * @param kind      for messages
     * @param destroyer gives the handle back; called once, with the device's context current
     */
    DeviceObject(CudaDevice device, String kind, long handle, LongConsumer destroyer) {
        this.device = device;
        this.kind = kind;
        this.handle = handle;
        this.destroyer = destroyer;
        device.own(this);
    }

    /** The library's handle, with the device's context made current for the call it is asked for. */
    final long handle() {
        device.enter();
        if (closed) {
            throw new IllegalStateException("the " + kind + " is closed");
        }
        return handle;
    }

    /** Closing again does nothing. */
    @Override
    public final void close() {
        if (closed) {
            return;
        }
        device.enter();
        closed = true;
        device.disown(this);
        destroyer.accept(handle);
    }
}
