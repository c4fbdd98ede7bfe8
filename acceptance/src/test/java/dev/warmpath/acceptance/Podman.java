package dev.warmpath.acceptance;

import java.io.IOException;
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
        environment = Map.of("CONTAINERS_CONF", configuration.toString(), "CONTAINERS_STORAGE_CONF", storage.toString(),
                "PATH", Command.PATH);
        run(SCRIPTS.resolve("local-bases.sh").toString(), System.getProperty("java.home"), "localhost/bases");
    }

    /** @return why these tests cannot run here; empty if they can */
    static String missing() {
        List<String> missing = new ArrayList<>(TOOLS);
        missing.removeIf(Command::isInstalled);
        if (!System.getProperty("user.name").equals("root")) {
            missing.add("root's rights");
        }
        return missing.isEmpty() ? "" : "images are not built and run here: missing are " + missing;
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

    /** An image of programs of this machine with the libraries that they need, for the user 65532. */
    void buildImageOf(String image, String... programs) {
        List<String> command = new ArrayList<>(List.of(SCRIPTS.resolve("program-image.sh").toString(), image,
                "localhost/bases/runtime"));
        command.addAll(List.of(programs));
        run(command.toArray(String[]::new));
    }

    /** An image on another one. @param lines of the Dockerfile, after {@code FROM} */
    void buildImageOn(String base, String image, Path context, String... lines) throws IOException {
        Path dockerfile = Files.createTempFile(HOME, "image", ".Dockerfile");
        Files.write(dockerfile, Stream.concat(Stream.of("FROM " + base), Stream.of(lines)).toList());
        podman("build", "--quiet", "--tag", image, "--file", dockerfile.toString(), context.toString());
        Files.delete(dockerfile);
    }

    /** @return a file with the image in it, below {@code target} */
    Path saved(String image) throws IOException {
        Path archive = HOME.resolve(image.replaceAll("\\W", "-") + ".tar");
        Files.deleteIfExists(archive);
        podman("save", "--quiet", "--format", "oci-archive", "--output", archive.toString(), image);
        return archive;
    }

    private String run(String... command) {
        return Command.run(environment, List.of(command));
    }
}
