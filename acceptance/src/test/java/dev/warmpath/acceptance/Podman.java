package dev.warmpath.acceptance;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/**
 * podman with images, containers and configuration of the tests' own, below {@code target}: nothing of this machine's is
 * used or changed. It asks no registry; what images are built on is made here.
 */
final class Podman {

    /** What is on the PATH where these tests run. */
    static final List<String> TOOLS = List.of("podman", "runc", "ldconfig");
    /** Images to build on. */
    static final List<String> BASES =
            List.of("--base", "JDK_IMAGE=localhost/bases/jdk", "--base", "RUNTIME_IMAGE=localhost/bases/runtime");

    private static final Path HOME = Path.of("target", "podman").toAbsolutePath();
    private static final Path SCRIPTS = Path.of("src", "test", "containers").toAbsolutePath();

    /** Works where there is neither systemd nor a journal, and asks for no limits that root of a container may not have. */
    private static final String CONFIGURATION = """
            [containers]
            default_ulimits = ["nofile=16384:16384", "nproc=16384:16384"]
            log_driver = "k8s-file"
            [engine]
            runtime = "runc"
            cgroup_manager = "cgroupfs"
            events_logger = "file"
            """;

    private final Map<String, String> environment;

    /** Makes the images that ours are built on. */
    Podman() throws IOException {
        Files.createDirectories(HOME);
        Path configuration = Files.writeString(HOME.resolve("containers.conf"), CONFIGURATION);
        Path storage = Files.writeString(HOME.resolve("storage.conf"), """
                [storage]
                driver = "overlay"
                graphroot = "%s/images"
                runroot = "%s/run"
                """.formatted(HOME, HOME));
        environment = Map.of("CONTAINERS_CONF", configuration.toString(), "CONTAINERS_STORAGE_CONF", storage.toString());
        run(SCRIPTS.resolve("local-bases.sh").toString(), System.getProperty("java.home"), "localhost/bases");
    }

    /** @return why these tests cannot run here; empty if they can */
    static String missing() {
        List<String> missing = new ArrayList<>(TOOLS);
        missing.removeIf(Podman::isInstalled);
        if (!System.getProperty("user.name").equals("root")) {
            missing.add("root's rights");
        }
        return missing.isEmpty() ? "" : "images are not built and run here: missing are " + missing;
    }

    static boolean isInstalled(String tool) {
        return Stream.of((System.getenv("PATH") + ":/usr/sbin:/sbin").split(File.pathSeparator))
                .anyMatch(folder -> Files.isExecutable(Path.of(folder, tool)));
    }

    /** {@code ./warmpath images} as a person runs it, with this podman. */
    String buildImages(Path state, String... options) {
        List<String> command = new ArrayList<>(List.of("env", "WARMPATH_STATE=" + state,
                LocalFleet.ROOT.resolve("warmpath").toString(), "images"));
        command.addAll(BASES);
        command.addAll(List.of(options));
        return run(command.toArray(String[]::new));
    }

    /** @return what {@code podman} says */
    String podman(String... arguments) {
        List<String> command = new ArrayList<>(List.of("podman"));
        command.addAll(List.of(arguments));
        return run(command.toArray(String[]::new));
    }

    private String run(String... command) {
        try {
            Path output = Files.createTempFile(HOME, "said", ".log");
            var builder = new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(output.toFile());
            builder.environment().putAll(environment);
            builder.environment().merge("PATH", "/usr/sbin:/sbin", (path, more) -> path + ":" + more);
            int status = builder.start().waitFor();
            String said = Files.readString(output);
            Files.delete(output);
            assertThat(status).as("%s says: %s", List.of(command), said).isZero();
            return said;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted while waiting for podman", e);
        }
    }
}
