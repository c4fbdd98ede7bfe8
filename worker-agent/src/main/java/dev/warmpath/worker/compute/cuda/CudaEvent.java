package dev.warmpath.worker.compute.cuda;

/** A mark in a stream: passed once everything that was enqueued before it is done. */
final class CudaEvent extends DeviceObject {

    private final CudaDriver driver;

    CudaEvent(CudaDevice device, CudaDriver driver, boolean timed) {
        super(device, "event", driver.createEvent(timed), driver::destroyEvent);
        this.driver = driver;
    }

    /** Waits until the mark's last recording is passed; at once if it was never recorded. */
    void synchronize() {
        driver.synchronizeEvent(handle());
    }

    /** Whether the mark's last recording is passed; true if it was never recorded. */
    boolean isPassed() {
        return driver.isPassed(handle());
    }

    /** Nanoseconds from {@code start} to this mark, both timed and passed; the resolution is about 500. */
    long nanosSince(CudaEvent start) {
        return Math.round(driver.elapsedMillis(start.handle(), handle()) * 1e6);
    }
}
