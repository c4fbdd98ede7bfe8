package dev.warmpath.worker.compute.cuda;

import dev.warmpath.worker.compute.CacheType;
import dev.warmpath.worker.compute.ComputeBackend;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;

/** The contracts on a card, with the kernels of this build; skipped aloud where there is none. */
@Tag("cuda-device")
class CudaCardTest extends CudaContract {

    @BeforeAll
    static void requireDevice() {
        CudaBackends.onDevice(CacheType.BF16).close();
    }

    @Override
    ComputeBackend create(CacheType cacheType) {
        return CudaBackends.onDevice(cacheType);
    }

    @Override
    int draws(int wanted) {
        return wanted;
    }
}
