package dev.warmpath.worker.compute.cuda;

import dev.warmpath.worker.compute.ComputeException;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.HashMap;
import java.util.Map;

/** The kernels of a build, loaded onto a device: those of the card's architecture out of one image. */
final class KernelModule extends DeviceObject {

    /** Where kernels come from. */
    interface Image {

        /** @return fatbin, native */
        MemorySegment read() throws CudaUnavailableException;
    }

    /** Written by {@code src/main/cuda/build.sh}. */
    private static final String RESOURCE = "kernels.fatbin";

    private final CudaDriver driver;
    private final MemorySegment image;   // held: the driver may come back to it when a kernel is first used
    private final Map<String, Kernel> kernels = new HashMap<>();

    private KernelModule(CudaDevice device, CudaDriver driver, MemorySegment image) {
        super(device, "kernel module", driver.loadModule(image), driver::unloadModule);
        this.driver = driver;
        this.image = image;
    }

    /** The image that was compiled with these classes, in native memory. */
    static MemorySegment imageOfThisBuild() throws CudaUnavailableException {
        return image(RESOURCE);
    }

    static MemorySegment image(String name) throws CudaUnavailableException {
        try (InputStream resource = KernelModule.class.getResourceAsStream(name)) {
            if (resource == null) {
                throw new CudaUnavailableException("there are no kernels in this build (it was built without nvcc): "
                        + "build where a CUDA toolkit is");
            }
            byte[] image = resource.readAllBytes();
            // 64: more than any field of the format asks for
            MemorySegment copy = Arena.ofAuto().allocate(image.length, 64);
            return copy.copyFrom(MemorySegment.ofArray(image));
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
