package dev.warmpath.benchmarks.gpu;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.abort;

import dev.warmpath.worker.compute.cuda.CudaBackend;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** That the program runs, every case of it; how fast an emulated device is says nothing. */
class GpuTimingsTest {

    private static final List<String> ROWS = List.of(
            "decode 3 x 40", "decode 1 x 300, with its reduction", "decode 4 ragged, 1 to 50", "prefill 1 x 40",
            "prefill 20 on 40", "suffix 5 on 70", "fp8 keys and values, decode 3 x 40", "swap out", "swap in",
            "decode step of the 1B-class model, batch 1", "prefix hit, 96 tokens, 83 % shared",
            "qkv [256, 64], 1, 2, 4, 8 rows", "output [64, 128], 1, 2, 4, 8 rows",
            "gate and up [256, 64], 1, 2, 4, 8 rows", "down [64, 128], 1, 2, 4, 8 rows",
            "head [256, 64], 1, 2, 4, 8 rows", "gate and up [256, 64] in Q8_0, 1, 8, 32, 33 rows",
            "gate and up [256, 64] in Q4_0, 1, 8, 32, 33 rows", "sample of 256, 1, 3 rows");

    @TempDir
    private Path directory;

    @Test
    void every_case_brings_its_rows_on_an_emulated_device() throws IOException, InterruptedException {
        String library = emulatedDevice().toString();
        int exitCode = GpuTimings.run("--quick", "--driver", library, "--cublas-lt", library,
                "--output", directory.toString(), "--model", directory.resolve("model").toString());
        JsonNode rows = rows();
        assertThat(rows.findValuesAsString("name").subList(2, rows.size())).isEqualTo(ROWS);
        for (JsonNode row : rows) {
            assertThat(row.path("times").properties()).as(row.toString()).isNotEmpty()
                    .allSatisfy(times -> assertThat(times.getValue().path("median").longValue()).isPositive());
            assertThat(row.path("verdict").asString()).as(row.toString()).matches("–|not judged: .*");
        }
        assertThat(exitCode).isZero();
    }

    @Test
    void without_a_driver_every_row_says_so() throws IOException, InterruptedException {
        int exitCode = GpuTimings.run("--quick", "--driver", directory.resolve("libcuda.so.1").toString(),
                "--output", directory.toString(), "--model", directory.resolve("model").toString());
        assertThat(exitCode).isEqualTo(2);
        assertThat(rows().findValuesAsString("name")).isEqualTo(ROWS);
        assertThat(rows().findValuesAsString("verdict"))
                .allSatisfy(verdict -> assertThat(verdict).startsWith("not run: ").contains("libcuda.so.1"));
        assertThat(directory.resolve("timings.md")).content().contains("| swap in | – | – | – | ≥ 80 % of a plain");
    }

    private JsonNode rows() throws IOException {
        return JsonMapper.shared().readTree(Files.readAllBytes(directory.resolve("timings.json"))).path("rows");
    }

    /** The worker's own, built by its script if it is not there yet. */
    private static Path emulatedDevice() throws IOException, InterruptedException {
        String compiler = System.getenv().getOrDefault("CXX", "g++");
        if (CudaBackend.class.getResource("kernels.fatbin") == null) {
            leaveOut("this build has no kernels, for it had no nvcc");
        }
        if (Stream.of(System.getenv("PATH").split(":"))
                .noneMatch(folder -> Files.isExecutable(Path.of(folder).resolve(compiler)))) {
            leaveOut("the emulated device wants a C++17 compiler, and there is no " + compiler);
        }
        Path worker = Path.of("..", "worker-agent").toRealPath();
        Path library = worker.resolve("target/fake-cuda/libfakecuda.so");
        var build = new ProcessBuilder("bash", worker.resolve("src/test/cuda/build.sh").toString(),
                library.toString(), compiler).inheritIO().start();
        assertThat(build.waitFor()).isZero();
        return library;
    }

    private static void leaveOut(String reason) {
        System.out.println("GPU TIMINGS NOT TRIED: " + reason);
        abort(reason);
    }
}
