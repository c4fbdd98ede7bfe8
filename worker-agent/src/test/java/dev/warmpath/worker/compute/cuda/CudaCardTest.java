package dev.warmpath.worker.compute.cuda;

import dev.warmpath.worker.compute.CacheType;
import dev.warmpath.worker.compute.ComputeBackend;

/** The contracts on a card, with the kernels of this build. */
@OnCard
class CudaCardTest extends CudaContract {

    @Override
    ComputeBackend create(CacheType cacheType) {
        return CudaBackends.onCard(cacheType);
    }

    @Override
    int draws(int wanted) {
        return wanted;
    }
}
