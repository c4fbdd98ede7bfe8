package dev.warmpath.worker.compute.cpu;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import dev.warmpath.worker.compute.AdjustedSamplingContract;
import dev.warmpath.worker.compute.AttentionContract;
import dev.warmpath.worker.compute.BlockCopyContract;
import dev.warmpath.worker.compute.CacheType;
import dev.warmpath.worker.compute.ComputeBackend;
import dev.warmpath.worker.compute.ComputeBackendContract;
import dev.warmpath.worker.compute.DeviceData;
import dev.warmpath.worker.compute.HeadsContract;
import dev.warmpath.worker.compute.SamplingContract;
import dev.warmpath.worker.compute.ScoringContract;
import dev.warmpath.worker.compute.Tensor;
import dev.warmpath.worker.compute.WeightFormat;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;

class VectorBackendTest {

    @Nested
    class Operations extends ComputeBackendContract {

        @Override
        protected ComputeBackend create() {
            return new VectorBackend(2);
        }

        /** Subnormal ones, too; infinities and what is no number are kept apart, and alike. */
        @Test
        void all_65536_binary16_numbers_are_widened_to_the_bit() {
            List<Integer> all = IntStream.range(0, 1 << Short.SIZE).boxed().toList();
            Map<Boolean, List<Integer>> byFinite = all.stream().collect(
                    Collectors.partitioningBy(half -> Float.isFinite(Float.float16ToFloat(half.shortValue()))));
            assertThat(byFinite.get(true)).hasSize(63_488);
            requireWidened(byFinite.get(true));
            requireWidened(all);
        }

        private static void requireWidened(List<Integer> numbers) {
            int count = numbers.size();
            short[] halves = new short[count];
            float[] expected = new float[2 * count];
            for (int i = 0; i < count; i++) {
                halves[i] = numbers.get(i).shortValue();
                expected[i] = Float.float16ToFloat(halves[i]) + 0f;       // sums begin at 0, so no zero is negative
                expected[count + i] = 2 * expected[i];
            }
            var backend = new VectorBackend(2);
            try (var data = new DeviceData(backend)) {                    // closes the backend, too
                Tensor weight = backend.allocateWeight(count, 1);
                backend.upload(weight, 0, count, WeightFormat.F16, MemorySegment.ofArray(halves));
                for (int rows = 1; rows <= 2; rows++) {
                    Tensor input = data.activations(rows, 1, Arrays.copyOf(new float[] {1, 2}, rows));
                    Tensor output = data.activations(rows, count);
                    backend.matmul(input, weight, output, rows);
                    assertThat(data.read(output)).containsExactly(Arrays.copyOf(expected, rows * count));
                }
            }
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
    class Bfloat16Attention extends Bfloat16AttentionContract {

        @Override
        ComputeBackend create(int threads, CacheType cacheType) {
            return new VectorBackend(threads, cacheType);
        }
    }

    @Nested
    class Bfloat16Heads extends HeadsContract {

        @Override
        protected ComputeBackend create(int threads) {
            return new VectorBackend(threads, CacheType.BF16);
        }
    }

    @Nested
    class Bfloat16Copies extends BlockCopyContract {

        @Override
        protected ComputeBackend create() {
            return new VectorBackend(2, CacheType.BF16);
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

    @Test
    void a_type_of_keys_and_values_that_is_refused_leaves_no_thread() {
        Set<Thread> before = Thread.getAllStackTraces().keySet();

        assertThatIllegalArgumentException().isThrownBy(() -> new VectorBackend(3, CacheType.FP8_E4M3))
                .withMessageStartingWith("processors keep no keys and values as ");

        assertThat(Thread.getAllStackTraces().keySet()).filteredOn(thread -> !before.contains(thread))
                .extracting(Thread::getName).noneMatch(name -> name.startsWith("warmpath-vector"));
    }
}
