package dev.warmpath.worker.compute.cuda;

import java.lang.foreign.Arena;

/** A function of the device and the block of parameters it is launched with. */
final class Kernel {

    /** Dynamic shared memory that every kernel may ask for unasked. */
    private static final int UNASKED_SHARED_BYTES = 48 << 10;

    private final CudaDriver driver;
    private final String name;
    private final long function;
    private final Arguments arguments = new Arguments(Arena.ofAuto());
    private int permittedSharedBytes = UNASKED_SHARED_BYTES;
    private boolean prefersSharedMemory;

    /** @param function {@code CUfunction} */
    Kernel(CudaDriver driver, String name, long function) {
        this.driver = driver;
        this.name = name;
        this.function = function;
    }

    /** The parameters, emptied to be filled in order for the next launch. */
    Arguments arguments() {
        return arguments.emptied();
    }

    /**
     * Enqueues the kernel; the parameters are copied before the call returns.
     * @param threads     of a block, along x
     * @param sharedBytes dynamic shared memory of a block
     */
    void launch(CudaStream stream, int gridX, int gridY, int threads, int sharedBytes, Arguments arguments) {
        long queue = stream.handle();
        if (sharedBytes > 0 && !prefersSharedMemory) {
            // the driver's own choice looks at one block; these kernels count on two and more a multiprocessor
            driver.preferSharedMemory(function, this);
            prefersSharedMemory = true;
        }
        if (sharedBytes > permittedSharedBytes) {
            driver.permitSharedBytes(function, sharedBytes, this);
            permittedSharedBytes = sharedBytes;
        }
        driver.launch(function, gridX, gridY, threads, sharedBytes, queue, arguments.block(), this);
    }

    @Override
    public String toString() {
        return name;
    }
}
