package dev.warmpath.worker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.warmpath.worker.ComputeProperties.Backend;
import dev.warmpath.worker.ComputeProperties.Cuda;
import dev.warmpath.worker.KvProperties.CacheDtype;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;

/** What computes, where the driver's library is not where the settings say. */
@ExtendWith(OutputCaptureExtension.class)
class BackendChoiceTest {

    private static final Path NOWHERE = Path.of("/nowhere/libcuda.so.1");

    private static BackendChoice choice(Backend backend, CacheDtype cacheDtype) {
        return new BackendChoice(
                new ComputeProperties(backend, new Cuda(0, NOWHERE, null), 1, 0, Duration.ZERO), cacheDtype);
    }

    @Test
    void without_a_gpu_processors_compute_and_one_line_says_why(CapturedOutput log) {
        try (var backend = choice(Backend.AUTO, CacheDtype.AUTO).open()) {
            assertThat(backend.name()).isEqualTo("vector");
            assertThat(log.getOut().lines().filter(line -> line.contains("computing on "))).singleElement().asString()
                    .endsWith("computing on processors (vector, 1 threads): "
                            + "/nowhere/libcuda.so.1, named by warmpath.compute.cuda.driver, does not exist");
        }
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
                        + "and values as float32: " + reason)
                .hasMessageEndingWith("Leave the type at auto, or compute on a GPU");
    }
}
