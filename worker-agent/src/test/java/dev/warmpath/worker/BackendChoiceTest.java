package dev.warmpath.worker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.warmpath.worker.ComputeProperties.Backend;
import dev.warmpath.worker.ComputeProperties.Cuda;
import dev.warmpath.worker.KvProperties.CacheDtype;
import dev.warmpath.worker.compute.AttentionSpec;
import dev.warmpath.worker.compute.CacheType;
import dev.warmpath.worker.compute.cuda.CudaBackends;
import dev.warmpath.worker.compute.cuda.OnEmulatedDevice;
import dev.warmpath.worker.compute.cuda.WithCompiledKernels;
import dev.warmpath.worker.kvcache.FreeOrder;
import dev.warmpath.worker.model.LayerShape;
import dev.warmpath.worker.model.ModelConfig;
import dev.warmpath.worker.model.ModelFamily;
import dev.warmpath.worker.model.Rotation;
import dev.warmpath.worker.model.StreamSpec;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.util.unit.DataSize;

/** What computes, where the driver's library is not where the settings say. */
@ExtendWith(OutputCaptureExtension.class)
class BackendChoiceTest {

    private static final Path NOWHERE = Path.of("/nowhere/libcuda.so.1");

    private static BackendChoice choice(Backend backend, CacheDtype cacheDtype) {
        return choice(backend, NOWHERE, cacheDtype, 16, /* headSize */ 32, AttentionSpec.plain(32));
    }

    private static BackendChoice choice(Backend backend, Path driver, CacheDtype cacheDtype, int blockSize,
            int headSize, AttentionSpec lastLayer) {
        List<LayerShape> layers = new ArrayList<>(Collections.nCopies(5, LayerShape.plain(headSize, 10_000)));
        layers.add(new LayerShape(lastLayer, Rotation.plain(headSize, 10_000)));
        return new BackendChoice(
                new ComputeProperties(backend, new Cuda("0", driver, driver), 1, 0, Duration.ZERO,
                        Duration.ofSeconds(30)),
                new KvProperties(null, null, null, blockSize, cacheDtype, DataSize.ofBytes(0), "0", true, true,
                        FreeOrder.UNKEYED_FIRST, 0),
                new ModelConfig(ModelFamily.LLAMA, 6 * headSize, layers, 6, 2, headSize, 512, 2048, 2048, 1e-5f,
                        StreamSpec.PLAIN, true));
    }

    private static List<String> choices(CapturedOutput log) {
        return log.getOut().lines().filter(line -> line.contains("computing on ")).toList();
    }

    @Test
    void without_a_gpu_processors_compute_and_one_line_says_why(CapturedOutput log) {
        try (var backend = choice(Backend.AUTO, CacheDtype.AUTO).open()) {
            assertThat(backend.name()).isEqualTo("vector");
            assertThat(choices(log)).singleElement().asString().contains(" WARN ")
                    .as("somebody has named a driver")
                    .endsWith("computing on processors (vector, 1 threads): "
                            + "/nowhere/libcuda.so.1, named by warmpath.compute.cuda.driver, does not exist");
        }
    }

    @Test
    @OnEmulatedDevice
    void a_machine_that_has_no_gpu_is_no_reason_to_warn(CapturedOutput log) {
        Path driver = CudaBackends.emulatedDriver(/* devices */ 0, 1 << 30);
        try (var backend = choice(Backend.AUTO, driver, CacheDtype.AUTO, 16, 32, AttentionSpec.plain(32)).open()) {
            assertThat(backend.name()).isEqualTo("vector");
            assertThat(choices(log)).singleElement().asString().contains(" INFO ")
                    .endsWith("this machine has no CUDA device, or hides it (CUDA_VISIBLE_DEVICES)");
        }
    }

    @ParameterizedTest
    @OnEmulatedDevice
    @WithCompiledKernels
    @CsvSource(delimiter = ';', value = {
        "16; 48; 0; 0; false; the model's heads have 48 elements, kernels take 32, 64, 96, 128 or 256",
        "16; 32; 0; 0; true; the model's attention has sinks, kernels take none",
        "8; 32; 0; 0; false; warmpath.kv.block-size is 8, but the kernels of this device take blocks of 16 tokens",
    })
    void a_gpu_without_kernels_for_model_or_blocks_is_left_unused_with_a_warning_unless_it_is_demanded(int blockSize,
            int headSize, int window, double softCap, boolean sinks, String lack, CapturedOutput log) {
        var last = new AttentionSpec(0.5, window, softCap, sinks);
        Path driver = CudaBackends.emulatedDriver(/* devices */ 1, 1 << 30);
        try (var backend = choice(Backend.AUTO, driver, CacheDtype.AUTO, blockSize, headSize, last).open()) {
            assertThat(backend.name()).isEqualTo("vector");
            assertThat(choices(log)).singleElement().asString().contains(" WARN ")
                    .endsWith("computing on processors (vector, 1 threads): " + lack);
        }
        assertThatThrownBy(() -> choice(Backend.CUDA, driver, CacheDtype.AUTO, blockSize, headSize, last).open())
                .isInstanceOf(SettingsException.class).hasMessageStartingWith(lack + ". ")
                .hasMessageEndingWith("on processors by warmpath.compute.backend=vector");
        assertThatThrownBy(() -> choice(Backend.AUTO, driver, CacheDtype.FP8, blockSize, headSize, last).open())
                .hasMessageContaining("which keep keys and values as float32 or bfloat16: " + lack);
    }

    @Test
    void a_gpu_that_is_demanded_and_not_there_stops_the_start_with_the_reason() {
        assertThatThrownBy(() -> choice(Backend.CUDA, CacheDtype.AUTO).open()).isInstanceOf(SettingsException.class)
                .hasMessage("warmpath.compute.backend is cuda, but /nowhere/libcuda.so.1, named by "
                        + "warmpath.compute.cuda.driver, does not exist. Put that right, or compute on processors by "
                        + "warmpath.compute.backend=vector");
    }

    @ParameterizedTest
    @CsvSource({"VECTOR, vector", "SCALAR, scalar"})
    void processors_that_are_asked_for_compute_and_the_driver_is_not_looked_for(Backend asked, String name,
            CapturedOutput log) {
        try (var backend = choice(asked, CacheDtype.AUTO).open()) {
            assertThat(backend.name()).isEqualTo(name);
            assertThat(log.getOut()).doesNotContain("nowhere")
                    .contains(
                    "computing on processors (" + name + ", 1 threads): warmpath.compute.backend is " + name);
        }
    }

    @ParameterizedTest
    @CsvSource({"VECTOR, warmpath.compute.backend is vector", "AUTO, /nowhere/libcuda.so.1"})
    void keys_and_values_of_one_byte_are_refused_on_processors(Backend asked, String reason) {
        assertThatThrownBy(() -> choice(asked, CacheDtype.FP8).open()).isInstanceOf(SettingsException.class)
                .hasMessageStartingWith("warmpath.kv.cache-dtype is fp8, but processors compute here, which keep keys "
                        + "and values as float32 or bfloat16: " + reason)
                .hasMessageEndingWith("Leave the type at auto, take bfloat16, or compute on a GPU");
    }

    @ParameterizedTest
    @CsvSource({"VECTOR, AUTO, F32", "VECTOR, BFLOAT16, BF16", "SCALAR, BFLOAT16, BF16", "AUTO, BFLOAT16, BF16"})
    void keys_and_values_of_processors_are_float32_unless_bfloat16_is_asked_for(Backend asked, CacheDtype cacheDtype,
            CacheType kept) {
        try (var backend = choice(asked, cacheDtype).open()) {
            assertThat(backend.cacheType()).isEqualTo(kept);
        }
    }

    @ParameterizedTest
    @OnEmulatedDevice
    @WithCompiledKernels
    @CsvSource({"AUTO, BF16", "BFLOAT16, BF16", "FP8, FP8_E4M3"})
    void a_gpu_keeps_bfloat16_whether_it_is_asked_for_or_not_unless_it_is_fp8(CacheDtype cacheDtype, CacheType kept) {
        Path driver = CudaBackends.emulatedDriver(/* devices */ 1, 1 << 30);
        try (var backend = choice(Backend.CUDA, driver, cacheDtype, 16, 32, AttentionSpec.plain(32)).open()) {
            assertThat(backend.cacheType()).isEqualTo(kept);
        }
    }
}
