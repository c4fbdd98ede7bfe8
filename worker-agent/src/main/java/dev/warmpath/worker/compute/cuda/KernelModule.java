package dev.warmpath.worker.compute.cuda;

import dev.warmpath.worker.compute.ComputeException;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The kernels of a build, loaded onto a device: those of the card's architecture out of one image. */
final class KernelModule extends DeviceObject {

    /** Where kernels come from. */
    interface Image {

        /** @param driverVersion of the driver that is to load it @return fatbin, native */
        MemorySegment read(int driverVersion) throws CudaUnavailableException;
    }

    /** Written by {@code src/main/cuda/build.sh}. */
    private static final String RESOURCE = "kernels.fatbin";
    /** The toolkit's version, such as 13.0; likewise. */
    private static final String TOOLKIT = "kernels.toolkit";

    private final CudaDriver driver;
    private final MemorySegment image;   // held: the driver may come back to it when a kernel is first used
    private final Map<String, Kernel> kernels = new HashMap<>();

    private KernelModule(CudaDevice device, CudaDriver driver, MemorySegment image) {
        super(device, "kernel module", driver.loadModule(image), driver::unloadModule);
        this.driver = driver;
        this.image = image;
    }

    /** The image that was compiled with these classes, in native memory. */
    static MemorySegment imageOfThisBuild(int driverVersion) throws CudaUnavailableException {
        MemorySegment image = image(RESOURCE);
        requireToolkit(text(bytes(TOOLKIT)), driverVersion);
        return image;
    }

    /** Its version, such as 13.0; null where there are no kernels. */
    static @Nullable String toolkitOfThisBuild() {
        try {
            return text(bytes(TOOLKIT));
        } catch (CudaUnavailableException withoutKernels) {
            return null;
        }
    }

    private static String text(byte[] version) {
        return new String(version, StandardCharsets.US_ASCII).strip();
    }

    /**
     * Drivers run what any toolkit of their own major version or an older one has compiled to machine code.
     *
     * @param toolkit       such as 12.9
     * @param driverVersion 12040 for CUDA 12.4
     */
    static void requireToolkit(String toolkit, int driverVersion) throws CudaUnavailableException {
        int major = Integer.parseInt(toolkit.substring(0, toolkit.indexOf('.')));
        if (major > driverVersion / 1000) {
            throw new CudaUnavailableException(("the kernels of this build were compiled by CUDA %s and need a driver "
                    + "for CUDA %d.0, this one runs up to %s: update the driver, or build with an older toolkit")
                    .formatted(toolkit, major, CudaCard.versionText(driverVersion)));
        }
    }

    static MemorySegment image(String name) throws CudaUnavailableException {
        byte[] image = bytes(name);
        // 64: more than any field of the format asks for
        return Arena.ofAuto().allocate(image.length, 64).copyFrom(MemorySegment.ofArray(image));
    }

    private static byte[] bytes(String name) throws CudaUnavailableException {
        try (InputStream resource = KernelModule.class.getResourceAsStream(name)) {
            if (resource == null) {
                throw new CudaUnavailableException("there are no kernels in this build (it was built without nvcc): "
                        + "build where a CUDA toolkit is");
            }
            return resource.readAllBytes();
        } catch (IOException e) {
            throw new UncheckedIOException("the kernels of this build cannot be read", e);
        }
    }

    /** @throws CudaUnavailableException if the image has nothing for the card */
    static KernelModule load(CudaDevice device, CudaDriver driver, CudaCard card, MemorySegment image)
            throws CudaUnavailableException {
        try {
            return new KernelModule(device, driver, image);
        } catch (ComputeException refused) {
            throw new CudaUnavailableException("""
                    the kernels of this build do not load on %s (sm_%d), they are made for sm_80, sm_90 and, where the \
                    driver can compile them, later cards: %s"""
                    .formatted(card.name(), card.computeCapability(), refused.getMessage()), refused);
        }
    }

    /** @throws ComputeException if there is none of that name */
    Kernel kernel(String name) {
        return kernels.computeIfAbsent(name, absent -> new Kernel(driver, name, driver.function(handle(), name)));
    }
}
