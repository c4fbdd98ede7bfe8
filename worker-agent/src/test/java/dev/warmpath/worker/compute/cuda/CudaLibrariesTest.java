package dev.warmpath.worker.compute.cuda;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class CudaLibrariesTest {

    @TempDir
    private Path folder;

    /** What the loader was asked for, in order, and what it can load. */
    private final List<String> asked = new ArrayList<>();
    private final List<String> loadable = new ArrayList<>();

    private CudaLibraries libraries(Map<String, String> environment, Path... folders) {
        return new CudaLibraries(environment::get, List.of(folders), this::load);
    }

    private SymbolLookup load(String library) {
        asked.add(library);
        if (!loadable.contains(library)) {
            throw new IllegalArgumentException("Cannot open library: " + library);
        }
        return symbol -> symbol.equals("cuInit") ? Optional.of(MemorySegment.ofAddress(1 << 20)) : Optional.empty();
    }

    private Path file(String name) throws IOException {
        return Files.createFile(folder.resolve(name));
    }

    @Test
    void loader_comes_before_the_folders_and_those_in_their_order() throws Exception {
        String inFolder = file("libcuda.so.1").toString();
        loadable.add(inFolder);

        assertThat(libraries(Map.of(), Path.of("/nowhere"), folder).driver(null).name()).isEqualTo(inFolder);
        assertThat(asked).containsExactly("libcuda.so.1", inFolder);

        loadable.add("libcuda.so.1");
        assertThat(libraries(Map.of(), folder).driver(null).name()).isEqualTo("libcuda.so.1");
    }

    @Test
    void setting_decides_before_the_environment_and_nothing_else_is_tried() throws Exception {
        Path setting = file("driver-of-the-setting.so");
        loadable.addAll(List.of(setting.toString(), "/from/environment.so", "libcuda.so.1"));
        CudaLibraries libraries = libraries(Map.of("WARMPATH_CUDA_DRIVER", "/from/environment.so"));

        assertThat(libraries.driver(setting).name()).isEqualTo(setting.toString());
        assertThat(libraries.driver(null).name()).isEqualTo("/from/environment.so");
        assertThat(asked).containsExactly(setting.toString(), "/from/environment.so");

        assertThatThrownBy(() -> libraries.driver(folder.resolve("absent.so")))
                .isInstanceOf(CudaUnavailableException.class)
                .hasMessage(folder.resolve("absent.so") + ", named by warmpath.compute.cuda.driver, does not exist");
    }

    @Test
    void folder_of_a_setting_is_looked_into() throws Exception {
        loadable.add(file("libcublasLt.so.12").toString());

        assertThat(libraries(Map.of()).cublasLt(folder, 13_000).name()).endsWith("/libcublasLt.so.12");
        assertThatThrownBy(() -> libraries(Map.of("WARMPATH_CUDA_DRIVER", folder.toString())).driver(null))
                .hasMessage(folder + ", named by WARMPATH_CUDA_DRIVER, holds no loadable libcuda.so.1");
    }

    @Test
    void library_of_a_later_major_version_than_the_drivers_is_not_asked_for() throws Exception {
        loadable.addAll(List.of("libcublasLt.so.13", "libcublasLt.so.12"));

        assertThat(libraries(Map.of()).cublasLt(null, 13_010).name()).isEqualTo("libcublasLt.so.13");
        assertThat(libraries(Map.of()).cublasLt(null, 12_080).name()).isEqualTo("libcublasLt.so.12");
    }

    @Test
    void missing_library_is_one_sentence_with_the_setting_and_the_variable_that_would_name_it() {
        assertThatThrownBy(() -> libraries(Map.of(), Path.of("/usr/lib64")).driver(null))
                .isInstanceOf(CudaUnavailableException.class)
                .hasMessage("libcuda.so.1: found neither by the loader nor in [/usr/lib64]; install NVIDIA's driver, "
                        + "or name it by warmpath.compute.cuda.driver or WARMPATH_CUDA_DRIVER");
        assertThatThrownBy(() -> libraries(Map.of()).cublasLt(null, 13_000))
                .isInstanceOf(CudaUnavailableException.class)
                .hasMessageStartingWith("libcublasLt.so.13, libcublasLt.so.12, libcublasLt.so: found neither ")
                .hasMessageEndingWith(" or name it by warmpath.compute.cuda.cublas-lt or WARMPATH_CUBLASLT");
    }

    @Test
    void only_a_driver_that_nobody_has_installed_or_named_is_no_want_of_something_else() throws Exception {
        assertThat(forWantOfDevice(() -> libraries(Map.of()).driver(null))).isTrue();
        assertThat(forWantOfDevice(() -> libraries(Map.of()).driver(Path.of("/nowhere/libcuda.so.1")))).isFalse();
        assertThat(forWantOfDevice(() -> libraries(Map.of()).cublasLt(null, 13_000))).isFalse();
    }

    private static boolean forWantOfDevice(ThrowingCallable search) {
        return catchThrowableOfType(CudaUnavailableException.class, search).isForWantOfDevice();
    }

    @Test
    void file_that_is_no_library_is_told_from_one_that_is_absent() throws Exception {
        Path text = file("libcuda.so.1");

        assertThatThrownBy(() -> libraries(Map.of()).driver(text))
                .isInstanceOf(CudaUnavailableException.class)
                .hasMessageStartingWith(text + ", named by warmpath.compute.cuda.driver, cannot be loaded");
        assertThatThrownBy(() -> CudaLibraries.ofThisMachine().driver(folder.resolve("absent.so")))
                .isInstanceOf(CudaUnavailableException.class)
                .hasMessageEndingWith("does not exist");
    }

    @Test
    void missing_function_is_named() throws Exception {
        loadable.add("libcuda.so.1");
        SharedLibrary library = libraries(Map.of()).driver(null);

        assertThat(library.function("cuInit", JAVA_INT, JAVA_INT).name()).isEqualTo("cuInit");
        assertThatThrownBy(() -> CudaDriver.bind(library))
                .isInstanceOf(CudaUnavailableException.class)
                .hasMessage("libcuda.so.1 has no function cuDriverGetVersion: it is not the library it is taken for, "
                        + "or older than CUDA 12.0");
        assertThatThrownBy(() -> CublasLt.bind(library)).hasMessageContaining("has no function cublasLtCreate");
    }

    @Test
    void chosen_toolkit_is_looked_into_first_and_then_the_newest() throws Exception {
        for (String version : List.of("cuda-12.4", "cuda-13.0", "cuda", "lib")) {
            Files.createDirectory(folder.resolve(version));
        }

        assertThat(CudaLibraries.toolkits(folder)).containsExactly(folder.resolve("cuda/lib64"),
                folder.resolve("cuda-13.0/lib64"), folder.resolve("cuda-12.4/lib64"));
        assertThat(CudaLibraries.toolkits(folder.resolve("absent"))).isEmpty();
    }
}
