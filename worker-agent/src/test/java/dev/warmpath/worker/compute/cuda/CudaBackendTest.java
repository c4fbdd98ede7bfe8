package dev.warmpath.worker.compute.cuda;

import dev.warmpath.worker.compute.CacheType;
import dev.warmpath.worker.compute.ComputeBackend;

/** The contracts on the emulated device: kernels run as they are written, compiled for this processor. */
@OnEmulatedDevice
class CudaBackendTest extends CudaContract {

    @Override
    ComputeBackend create(CacheType cacheType) {
        return CudaBackends.emulated(cacheType);
    }

    /** A row takes 512 emulated threads, some milliseconds. */
    @Override
    int draws(int wanted) {
        return Math.min(wanted, 60);
    }
}
