package dev.warmpath.worker.model;

import dev.warmpath.worker.compute.CacheType;
import dev.warmpath.worker.compute.ComputeBackend;
import dev.warmpath.worker.compute.cuda.CudaBackends;
import dev.warmpath.worker.compute.cuda.OnCard;
import dev.warmpath.worker.compute.cuda.OnEmulatedDevice;
import java.util.List;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;

/** The packaged model on the emulated device, which computes some hundred tokens a second; and on a card. */
class CudaGoldenTest {

    @Nested
    @OnEmulatedDevice
    class OnTheEmulatedDevice extends CudaGoldenContract {

        @Override
        ComputeBackend create(CacheType cacheType) {
            return CudaBackends.emulated(cacheType);
        }

        @Override
        List<Golden.Prompt> prompts() {
            return shorterThan(100);
        }

        @Override
        int positions() {
            return 8;
        }

        @Override
        List<Golden.Prompt> crowdPrompts() {
            return shorterThan(18);
        }

        @Override
        int crowdPositions() {
            return 3;
        }
    }

    @Nested
    @OnEmulatedDevice
    @Tag("full")
    class AllPromptsOnTheEmulatedDevice extends CudaGoldenContract {

        @Override
        ComputeBackend create(CacheType cacheType) {
            return CudaBackends.emulated(cacheType);
        }

        @Override
        List<Golden.Prompt> crowdPrompts() {
            return shorterThan(100);
        }
    }

    @Nested
    @OnCard
    class OnACard extends CudaGoldenContract {

        @Override
        ComputeBackend create(CacheType cacheType) {
            return CudaBackends.onCard(cacheType);
        }
    }
}
