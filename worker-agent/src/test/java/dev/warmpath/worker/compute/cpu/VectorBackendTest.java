package dev.warmpath.worker.compute.cpu;

import dev.warmpath.worker.compute.AdjustedSamplingContract;
import dev.warmpath.worker.compute.AttentionContract;
import dev.warmpath.worker.compute.BlockCopyContract;
import dev.warmpath.worker.compute.ComputeBackend;
import dev.warmpath.worker.compute.ComputeBackendContract;
import dev.warmpath.worker.compute.HeadsContract;
import dev.warmpath.worker.compute.SamplingContract;
import dev.warmpath.worker.compute.ScoringContract;
import org.junit.jupiter.api.Nested;

class VectorBackendTest {

    @Nested
    class Operations extends ComputeBackendContract {

        @Override
        protected ComputeBackend create() {
            return new VectorBackend(2);
        }
    }

    @Nested
    class Attention extends AttentionContract {

        @Override
        protected ComputeBackend create(int threads) {
            return new VectorBackend(threads);
        }
    }

    @Nested
    class Heads extends HeadsContract {

        @Override
        protected ComputeBackend create(int threads) {
            return new VectorBackend(threads);
        }
    }

    @Nested
    class Copies extends BlockCopyContract {

        @Override
        protected ComputeBackend create() {
            return new VectorBackend(2);
        }
    }

    @Nested
    class Drawing extends SamplingContract {

        @Override
        protected ComputeBackend create() {
            return new VectorBackend(2);
        }
    }

    @Nested
    class AdjustedDrawing extends AdjustedSamplingContract {

        @Override
        protected ComputeBackend create() {
            return new VectorBackend(2);
        }
    }

    @Nested
    class Scoring extends ScoringContract {

        @Override
        protected ComputeBackend create() {
            return new VectorBackend(2);
        }
    }
}
