package dev.warmpath.cli;

import dev.warmpath.cli.build.Build;
import dev.warmpath.cli.build.Programs;
import dev.warmpath.cli.build.Progress;
import dev.warmpath.cli.build.Service;
import dev.warmpath.cli.fleet.CommandException;
import dev.warmpath.cli.fleet.LogTail;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;
import tools.jackson.databind.json.JsonMapper;

/** {@code images}: has podman or docker build the images of both services. */
@Command(name = "images", description = "Build the container images of router and worker, by podman or docker.")
final class ImagesCommand implements Callable<Integer> {

    private static final String KERNELS = "worker-agent/target/classes/dev/warmpath/worker/compute/cuda/kernels.fatbin";
    private static final String LOCAL = "localhost";
    private static final int LAST_LINES = 25;

    private final Call call;
    private final List<String> built = new ArrayList<>();

    @Spec
    CommandSpec spec;

    @Option(names = "--registry", paramLabel = "R", description = "Where they are to be: the part of their names "
            + "before /warmpath-router (default: ${DEFAULT-VALUE}).")
    String registry = LOCAL;

    @Option(names = "--tag", paramLabel = "T", description = "Default: the project's version, which is the chart's, "
            + "too.")
    String tag = "";

    @Option(names = "--cuda", description = "The worker for NVIDIA's cards, too, tagged T-cuda.")
    boolean withCuda;

    @Option(names = "--push", description = "Push them when all are built.")
    boolean isPushing;

    @Option(names = "--base", paramLabel = "NAME=IMAGE", description = "Build on another image: JDK_IMAGE, "
            + "RUNTIME_IMAGE or CUDA_IMAGE of images/*.Dockerfile; again for more.")
    List<String> bases = new ArrayList<>();

    @Option(names = "--json", description = "As JSON: the images' names.")
    boolean isJson;

    ImagesCommand(Call call) {
        this.call = call;
    }

    @Override
    public Integer call() throws IOException {
        requireSense();
        Programs programs = call.programs();
        String podman = programs.installed("podman");
        String builder = podman != null ? podman : programs.installed("docker");
        if (builder == null) {
            throw new CommandException("images needs podman or docker; install one of them");
        }
        call.installation().makeFolders();
        try (var progress = isJson ? Progress.aside() : Progress.here()) {
            new Build(call.installation(), programs, progress).ifNeeded(Service.FLEET);
            if (withCuda && !Files.exists(call.installation().home().resolve(KERNELS))) {
                throw new CommandException("there are no kernels for --cuda: they are compiled where nvcc is; "
                        + "docs/operations.md, On a GPU");
            }
            build(programs, progress, builder, "warmpath-router", tag, "router", List.of());
            build(programs, progress, builder, "warmpath-worker", tag, "worker", List.of("--target", "worker"));
            if (withCuda) {
                build(programs, progress, builder, "warmpath-worker", tag + "-cuda", "worker",
                        List.of("--target", "cuda"));
            }
            for (String image : isPushing ? built : List.<String>of()) {
                run(programs, progress, "pushing " + image, List.of(builder, "push", image),
                        call.installation().log("push-" + image.substring(registry.length() + 1).replace(':', '-')));
            }
            if (!isJson) {
                progress.say("built:");
                built.forEach(image -> progress.say("  " + image));
            }
        }
        if (isJson) {
            spec.commandLine().getOut().println(
                    JsonMapper.builder().build().writeValueAsString(Map.of("images", built)));
        }
        return 0;
    }

    private void requireSense() throws IOException {
        registry = registry.replaceFirst("/$", "");
        for (String base : bases) {
            require(base.matches("(JDK_IMAGE|RUNTIME_IMAGE|CUDA_IMAGE)=.+"),
                    "--base takes JDK_IMAGE=…, RUNTIME_IMAGE=… or CUDA_IMAGE=…, not '" + base + "'");
        }
        require(!isPushing || !registry.equals(LOCAL), "--push needs a --registry to push to");
        tag = tag.isEmpty() ? VersionProvider.projectVersion(call.installation()) : tag;
        require(tag.matches("[A-Za-z0-9_][A-Za-z0-9_.-]{0,122}"),
                "--tag takes letters, digits, '_', '.' and '-', not '" + tag + "'");
    }

    private void require(boolean isSo, String sentence) {
        if (!isSo) {
            throw new ParameterException(spec.commandLine(), sentence);
        }
    }

    /** What its steps run needs no network. */
    private void build(Programs programs, Progress progress, String builder, String name, String tag, String dockerfile,
            List<String> options) throws IOException {
        String image = registry + "/" + name + ":" + tag;
        Path log = call.installation().log("image-" + name + "-" + tag);
        Path home = call.installation().home();
        List<String> command = new ArrayList<>(List.of(builder, "build", "--network", "none"));
        bases.forEach(base -> command.addAll(List.of("--build-arg", base)));
        command.addAll(options);
        command.addAll(List.of("--tag", image, "--file",
                home.resolve("images").resolve(dockerfile + ".Dockerfile").toString(), home.toString()));
        run(programs, progress, "building " + image, command, log);
        built.add(image);
    }

    private static void run(Programs programs, Progress progress, String what, List<String> command, Path log)
            throws IOException {
        progress.begin(what, () -> "");
        int status = programs.log(command, log);
        progress.end();
        if (status != 0) {
            LogTail.lines(log, LAST_LINES).forEach(System.err::println);
            throw new CommandException(what + " failed; the whole output is in " + log);
        }
    }
}
