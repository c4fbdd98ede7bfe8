package dev.warmpath.worker.compute.cuda;

/** Something of the driver's that a device has made and gives back: by {@link #close}, or when the device closes. */
abstract class DeviceObject implements AutoCloseable {

    final CudaDevice device;
    private boolean closed;

    DeviceObject(CudaDevice device) {
        this.device = device;
    }

    /** Gives it back to the driver; called once, with the device's context current. */
    abstract void release();

    /** Closing again does nothing. */
    @Override
    public final void close() {
        throw new UnsupportedOperationException();
    }
}
