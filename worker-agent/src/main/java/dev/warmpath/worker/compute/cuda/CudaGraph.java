package dev.warmpath.worker.compute.cuda;

/** What a stream was given between {@link CudaStream#beginCapture} and {@link CudaStream#endCapture}, to be replayed. */
final class CudaGraph extends DeviceObject {

    CudaGraph(CudaDevice device, long graph) {
        super(device);
    }

    /** Enqueues everything captured, with the arguments as they were then. */
    void launch(CudaStream stream) {
        throw new UnsupportedOperationException();
    }

    @Override
    void release() {
        throw new UnsupportedOperationException();
    }
}
