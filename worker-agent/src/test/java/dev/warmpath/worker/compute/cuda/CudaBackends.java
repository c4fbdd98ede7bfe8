package dev.warmpath.worker.compute.cuda;

import dev.warmpath.worker.compute.CacheType;
import org.junit.jupiter.api.Assumptions;

/** CUDA backends for tests: on the emulated device, or on a card. */
public final class CudaBackends {

    private static final CudaSettings FIRST_DEVICE = new CudaSettings(0, null, null);

    private CudaBackends() {
    }

    /** Skips the test, aloud, if the emulated device cannot be built here. */
    public static CudaBackend emulated(CacheType cacheType) {
        FakeCuda fake = FakeCuda.open();
        try {
            return CudaBackend.on(CudaDevice.open(OpenCard.settings(fake), OpenCard.image()), cacheType);
        } catch (CudaUnavailableException e) {
            throw new AssertionError("the emulated device does not open", e);
        }
    }

    /** Skips the test, aloud, if there is no card. */
    public static CudaBackend onDevice(CacheType cacheType) {
        try {
            return CudaBackend.open(FIRST_DEVICE, cacheType);
        } catch (CudaUnavailableException e) {
            System.out.println("SKIPPED, these tests want a CUDA device: " + e.getMessage());
            Assumptions.abort(e.getMessage());
            throw new AssertionError("aborted", e);
        }
    }
}
