package dev.warmpath.worker.compute.cuda;

import dev.warmpath.worker.compute.CacheType;
import java.nio.file.Path;
import org.junit.jupiter.api.Assumptions;

/** CUDA backends for tests: on the emulated device, or on a card. */
public final class CudaBackends {

    private static final CudaSettings FIRST_DEVICE = new CudaSettings(0, null, null);

    private static boolean isSaid;

    private CudaBackends() {
    }

    private static synchronized void sayOnce(String reason) {
        if (!isSaid) {
            System.out.println(reason);
            isSaid = true;
        }
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

    /**
     * The emulated device as a driver for a whole worker, which takes the kernels of this build. Skips the test if the
     * device or the kernels cannot be built here.
     */
    public static Path emulatedDriver() {
        Assumptions.assumeTrue(CudaBackend.class.getResource("kernels.fatbin") != null, "this build has no kernels");
        return FakeCuda.open().library();
    }

    /** Skips the test, aloud, if there is no card. */
    public static CudaBackend onDevice(CacheType cacheType) {
        try {
            return CudaBackend.open(FIRST_DEVICE, cacheType);
        } catch (CudaUnavailableException e) {
            sayOnce("SKIPPED, tests that want a CUDA device: " + e.getMessage());
            Assumptions.abort(e.getMessage());
            throw new AssertionError("aborted", e);
        }
    }
}
