package dev.warmpath.worker.compute.cuda;

/** What a stream was given while it captured ({@link CudaStream#beginCapture}), to be replayed. */
final class CudaGraph extends DeviceObject {

    private final CudaDriver driver;

    private CudaGraph(CudaDevice device, CudaDriver driver, long executable) {
        super(device, "graph", executable, driver::destroyExecutable);
        this.driver = driver;
    }

    /** Makes a captured graph launchable; the recording itself is not needed afterwards. */
    static CudaGraph instantiate(CudaDevice device, CudaDriver driver, long captured) {
        try {
            return new CudaGraph(device, driver, driver.instantiate(captured));
        } finally {
            driver.destroyGraph(captured);
        }
    }

    /** Enqueues everything captured, with the arguments as they were then. */
    void launch(CudaStream stream) {
        driver.launchGraph(handle(), stream.handle());
    }
}
