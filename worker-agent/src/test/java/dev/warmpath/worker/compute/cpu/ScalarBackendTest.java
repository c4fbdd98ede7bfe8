package dev.warmpath.worker.compute.cpu;

import dev.warmpath.worker.compute.AdjustedSamplingContract;
import dev.warmpath.worker.compute.AttentionContract;
import dev.warmpath.worker.compute.BlockCopyContract;
import dev.warmpath.worker.compute.CacheType;
import dev.warmpath.worker.compute.ComputeBackend;
import dev.warmpath.worker.compute.ComputeBackendContract;
import dev.warmpath.worker.compute.HeadsContract;
import dev.warmpath.worker.compute.SamplingContract;
import dev.warmpath.worker.compute.ScoringContract;
import org.junit.jupiter.api.Nested;

class ScalarBackendTest {

    @Nested
    class Operations extends ComputeBackendContract {

        @Override
        protected ComputeBackend create() {
            return new ScalarBackend();
        }
    }

    @Nested
    class Attention extends AttentionContract {

        @Override
        protected ComputeBackend create(int threads) {
            return new ScalarBackend();
        }
    }

    @Nested
    class Heads extends HeadsContract {

        @Override
        protected ComputeBackend create(int threads) {
            return new ScalarBackend();
        }
    }

    @Nested
    class Copies extends BlockCopyContract {

        @Override
        protected ComputeBackend create() {
            return new ScalarBackend();
        }
    }

    @Nested
    class Bfloat16Attention extends Bfloat16AttentionContract {

        @Override
        ComputeBackend create(int threads, CacheType cacheType) {
            return new ScalarBackend(cacheType);
        }
    }

    @Nested
    class Bfloat16Heads extends HeadsContract {

        @Override
        protected ComputeBackend create(int threads) {
            return new ScalarBackend(CacheType.BF16);
        }
    }

    @Nested
    class Bfloat16Copies extends BlockCopyContract {

        @Override
        protected ComputeBackend create() {
            return new ScalarBackend(CacheType.BF16);
        }
    }

    @Nested
    class Drawing extends SamplingContract {

        @Override
        protected ComputeBackend create() {
            return new ScalarBackend();
        }
    }

    @Nested
    class AdjustedDrawing extends AdjustedSamplingContract {

        @Override
        protected ComputeBackend create() {
            return new ScalarBackend();
        }
    }

    @Nested
    class Scoring extends ScoringContract {

        @Override
        protected ComputeBackend create() {
            return new ScalarBackend();
        }
    }
}
