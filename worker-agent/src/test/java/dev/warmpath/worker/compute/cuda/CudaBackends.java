package dev.warmpath.worker.compute.cuda;

import dev.warmpath.worker.compute.CacheType;
import java.nio.file.Path;

/** CUDA backends for tests: on the emulated device, or on a card. */
public final class CudaBackends {

    static final CudaSettings FIRST_CARD = new CudaSettings("0", null, null);

    private CudaBackends() {
    }

    /** For tests that are {@link OnEmulatedDevice}. */
    public static CudaBackend emulated(CacheType cacheType) {
        return CudaBackend.on(FakeCuda.open().openDevice(), cacheType);
    }

    /**
     * The emulated device as a driver for a whole worker, which takes the kernels of this build: for tests that are
     * {@link OnEmulatedDevice} and {@link WithCompiledKernels}.
     */
    public static Path emulatedDriver() {
        return FakeCuda.open().library();
    }

    /** {@link #emulatedDriver()}, with so many devices of so much memory each. */
    public static Path emulatedDriver(int devices, long bytes) {
        Path driver = emulatedDriver();
        FakeCuda.open().devices(devices, /* major */ 9, /* minor */ 0, bytes, /* driverVersion */ 13_000);
        return driver;
    }

    /** How often the emulated device has captured a step or planned a product so far. */
    public static int preparations() {
        FakeCuda device = FakeCuda.opened();
        return device.calls("cuStreamBeginCapture_v2") + device.calls("cublasLtMatmulAlgoGetHeuristic");
    }

    /** For tests that are {@link OnCard}. */
    public static CudaBackend onCard(CacheType cacheType) {
        try {
            return CudaBackend.open(FIRST_CARD, cacheType);
        } catch (CudaUnavailableException e) {
            throw new AssertionError("the card opens no longer", e);
        }
    }
}
