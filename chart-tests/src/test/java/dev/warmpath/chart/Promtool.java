package dev.warmpath.chart;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.stream.Stream;

/** Prometheus' own checks of rules and queries; left out aloud where they are not installed. */
final class Promtool {

    private Promtool() {}

    /** @param tests as promtool reads them from a file */
    static void test(Path folder, Map<String, ?> tests) throws IOException, InterruptedException {
        Path file = folder.resolve("tests.yaml");
        Files.writeString(file, new ObjectMapper().writeValueAsString(tests));
        assertThat(run("test", "rules", file.toString())).contains("SUCCESS").doesNotContain("FAILED");
    }

    /** @return what it said */
    static String run(String... arguments) throws IOException, InterruptedException {
        assumeInstalled();
        Process process = new ProcessBuilder(
                Stream.concat(Stream.of("promtool"), Stream.of(arguments)).toList()).redirectErrorStream(true).start();
        String said = new String(process.getInputStream().readAllBytes());
        assertThat(process.waitFor()).as(said).isZero();
        return said;
    }

    private static void assumeInstalled() {
        boolean isThere = Stream.of(System.getenv("PATH").split(File.pathSeparator))
                .anyMatch(folder -> Files.isExecutable(Path.of(folder, "promtool")));
        if (!isThere) {
            System.err.println("LEFT OUT: what promtool would check, for there is none on the PATH");
        }
        assumeTrue(isThere, "no promtool on the PATH");
    }
}
