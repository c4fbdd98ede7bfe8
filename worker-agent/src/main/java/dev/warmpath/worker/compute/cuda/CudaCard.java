package dev.warmpath.worker.compute.cuda;

import dev.warmpath.worker.compute.ComputeException;
import dev.warmpath.worker.compute.DeviceLostException;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * What the driver says of a card that this build can use.
 * @param handle            {@code CUdevice}
 * @param uuid              36 characters, without {@code GPU-} or {@code MIG-}
 * @param driverVersion     12040 is CUDA 12.4
 * @param computeCapability major times ten plus minor: 90 is sm_90
 */
record CudaCard(int handle, String name, String uuid, int driverVersion, int computeCapability,
        int multiprocessors, long totalBytes, int l2Bytes) {

    /** CUDA 12.0: the first whose libraries of products and functions of graphs are those we call. */
    static final int OLDEST_DRIVER = 12_000;

    /** The kernels copy asynchronously into shared memory and multiply bfloat16, which begins with sm_80. */
    private static final int OLDEST_CAPABILITY = 80;

    // CUdevice_attribute in cuda.h
    private static final int MULTIPROCESSOR_COUNT = 16;
    private static final int L2_CACHE_SIZE = 38;
    private static final int COMPUTE_CAPABILITY_MAJOR = 75;
    private static final int COMPUTE_CAPABILITY_MINOR = 76;

    /** Starts the driver and looks at a card. @param device see {@link CudaSettings} */
    static CudaCard find(CudaDriver driver, String device) throws CudaUnavailableException {
        try {
            start(driver);
            CudaCard card = read(driver, handle(driver, device));
            if (card.computeCapability < OLDEST_CAPABILITY) {
                throw new CudaUnavailableException(
                        "CUDA device %s, %s, is of compute capability %s, the kernels need %s".formatted(device,
                                card.name, capabilityText(card.computeCapability), capabilityText(OLDEST_CAPABILITY)));
            }
            return card;
        } catch (ComputeException | DeviceLostException refused) {
            throw new CudaUnavailableException("the CUDA driver failed: " + refused.getMessage(), refused);
        }
    }

    private static void start(CudaDriver driver) throws CudaUnavailableException {
        int version = driver.driverVersion();
        if (version < OLDEST_DRIVER) {
            throw new CudaUnavailableException("the NVIDIA driver runs CUDA up to %s, at least %s is needed: update it"
                    .formatted(versionText(version), versionText(OLDEST_DRIVER)));
        }
        int code = driver.init();
        if (code == CudaDriver.NO_DEVICE) {
            throw CudaUnavailableException.forWantOfDevice(
                    "this machine has no CUDA device, or hides it (CUDA_VISIBLE_DEVICES)");
        }
        if (code != 0) {
            throw new CudaUnavailableException("the CUDA driver does not start: cuInit: " + driver.codeText(code));
        }
    }

    private static int handle(CudaDriver driver, String device) throws CudaUnavailableException {
        int count = driver.deviceCount();
        int prefix = device.indexOf('-') + 1;
        if (prefix > 0) {
            return handleOfUuid(driver, device, device.substring(prefix).toLowerCase(Locale.ROOT), count);
        }
        int ordinal = Integer.parseInt(device);
        if (ordinal >= count) {
            throw new CudaUnavailableException(
                    "there is no CUDA device %d: this machine has %d, counted from 0".formatted(ordinal, count));
        }
        return driver.device(ordinal);
    }

    private static int handleOfUuid(CudaDriver driver, String device, String beginning, int count)
            throws CudaUnavailableException {
        List<Integer> found = new ArrayList<>();
        List<String> seen = new ArrayList<>();
        for (int ordinal = 0; ordinal < count; ordinal++) {
            int handle = driver.device(ordinal);
            String uuid = driver.uuid(handle);
            seen.add("GPU-" + uuid);
            if (uuid.startsWith(beginning)) {
                found.add(handle);
            }
        }
        if (found.size() != 1) {
            throw new CudaUnavailableException("%s begins the name of %s CUDA device: this machine has %s".formatted(
                    device, found.isEmpty() ? "no" : "more than one", String.join(", ", seen)));
        }
        return found.getFirst();
    }

    private static CudaCard read(CudaDriver driver, int handle) {
        int capability = 10 * driver.attribute(COMPUTE_CAPABILITY_MAJOR, handle)
                + driver.attribute(COMPUTE_CAPABILITY_MINOR, handle);
        return new CudaCard(handle, driver.deviceName(handle), driver.uuid(handle), driver.driverVersion(), capability,
                driver.attribute(MULTIPROCESSOR_COUNT, handle), driver.totalBytes(handle),
                driver.attribute(L2_CACHE_SIZE, handle));
    }

    /** One line: card, memory, driver. */
    String describe() {
        return String.format(Locale.ROOT, "%s (GPU-%s, sm_%d, %d multiprocessors, %.1f GiB, L2 %.1f MiB), driver for CUDA %s",
                name, uuid, computeCapability, multiprocessors, totalBytes / 0x1p30, l2Bytes / 0x1p20,
                versionText(driverVersion));
    }

    static String versionText(int version) {
        return version / 1000 + "." + version % 1000 / 10;
    }

    private static String capabilityText(int capability) {
        return capability / 10 + "." + capability % 10;
    }
}
