package dev.warmpath.benchmarks.gpu;

import dev.warmpath.worker.compute.CacheType;
import dev.warmpath.worker.compute.cuda.CudaBackend;
import dev.warmpath.worker.compute.cuda.CudaSettings;
import dev.warmpath.worker.compute.cuda.CudaUnavailableException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * What all cases share: the card, its yardsticks, the sizes and the model. Each case opens a backend of its own and
 * closes it, so that none finds the card full of another's memory.
 */
record GpuBench(CudaSettings settings, Sizes sizes, Yardsticks card, Anchors anchors, Path model) {

    /** @throws IllegalStateException if the card, which was there, cannot be opened any more */
    CudaBackend open(CacheType type) {
        try {
            return CudaBackend.open(settings, type);
        } catch (CudaUnavailableException e) {
            throw new IllegalStateException(e.getMessage(), e);
        }
    }

    /** The directory of the random model, which the first caller writes. */
    Path modelDirectory() throws IOException {
        if (!Files.exists(model.resolve("model.safetensors"))) {
            RandomLlama.write(sizes.model(), Files.createDirectories(model));
        }
        return model;
    }

    Times time(CudaBackend backend, Runnable operations) {
        return Times.of(backend.timer().nanos(operations, sizes.warmUps(), sizes.repetitions()));
    }
}
