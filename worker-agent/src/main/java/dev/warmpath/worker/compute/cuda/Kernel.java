package dev.warmpath.worker.compute.cuda;

/** A function of the device and the block of parameters it is launched with. */
final class Kernel {

    /** The parameters, emptied to be filled in order for the next launch. */
    Arguments arguments() {
        throw new UnsupportedOperationException();
    }

    /**
     * Enqueues the kernel; the parameters are copied before the call returns.
     * @param threads     of a block, along x
     * @param sharedBytes dynamic shared memory of a block
     */
    void launch(CudaStream stream, int gridX, int gridY, int threads, int sharedBytes, Arguments arguments) {
        throw new UnsupportedOperationException();
    }
}
