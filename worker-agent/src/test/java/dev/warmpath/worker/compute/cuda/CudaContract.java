package dev.warmpath.worker.compute.cuda;

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

/** The contracts of every backend, and what CUDA owes besides, on whatever stands behind the driver. */
abstract class CudaContract {

    abstract ComputeBackend create(CacheType cacheType);

    /** As {@link SamplingContract#draws}. */
    abstract int draws(int wanted);

    @Nested
    class Operations extends ComputeBackendContract {

        @Override
        protected ComputeBackend create() {
            return CudaContract.this.create(CacheType.BF16);
        }
    }

    @Nested
    class Attention extends AttentionContract {

        @Override
        protected ComputeBackend create(int threads) {
            return CudaContract.this.create(CacheType.BF16);
        }
    }

    @Nested
    class Heads extends HeadsContract {

        @Override
        protected ComputeBackend create(int threads) {
            return CudaContract.this.create(CacheType.BF16);
        }
    }

    @Nested
    class PagedAttention extends PagedAttentionContract {

        @Override
        ComputeBackend create(CacheType cacheType) {
            return CudaContract.this.create(cacheType);
        }
    }

    @Nested
    class Copies extends BlockCopyContract {

        @Override
        protected ComputeBackend create() {
            return CudaContract.this.create(CacheType.BF16);
        }
    }

    @Nested
    class CopiesOfBytes extends BlockCopyContract {

        @Override
        protected ComputeBackend create() {
            return CudaContract.this.create(CacheType.FP8_E4M3);
        }
    }

    @Nested
    class Drawing extends SamplingContract {

        @Override
        protected int draws(int wanted) {
            return CudaContract.this.draws(wanted);
        }

        @Override
        protected ComputeBackend create() {
            return CudaContract.this.create(CacheType.BF16);
        }
    }

    @Nested
    class AdjustedDrawing extends AdjustedSamplingContract {

        @Override
        protected int draws(int wanted) {
            return CudaContract.this.draws(wanted);
        }

        @Override
        protected ComputeBackend create() {
            return CudaContract.this.create(CacheType.BF16);
        }
    }

    @Nested
    class Scoring extends ScoringContract {

        @Override
        protected ComputeBackend create() {
            return CudaContract.this.create(CacheType.BF16);
        }
    }
}
