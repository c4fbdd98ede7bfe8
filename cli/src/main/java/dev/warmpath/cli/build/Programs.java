package dev.warmpath.cli.build;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.warmpath.cli.fleet.Environments;
import dev.warmpath.cli.fleet.Installation;
import dev.warmpath.cli.fleet.Pause;
import dev.warmpath.cli.fleet.ProcessStart;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/** Programs that a command runs to their end. They end with it. */
public final class Programs {

    private static final int LOOK_AGAIN_MILLIS = 100;

    private final Ending ending;
    private final Path folder;
    private final Map<String, String> environment;

    private Programs(Ending ending, Path folder, Map<String, String> environment) {
        this.ending = ending;
        this.folder = folder;
        this.environment = Map.copyOf(environment);
    }

    /** In the folder and with the environment of this program's caller. */
    public static Programs here(Ending ending, Installation installation) {
        return new Programs(ending, Path.of("").toAbsolutePath(), installation.environment());
    }

    /** The same with another environment. */
    public Programs with(Map<String, String> environment) {
        return new Programs(ending, folder, environment);
    }

    /** The same in another folder. */
    Programs in(Path folder) {
        return new Programs(ending, folder, environment);
    }

    /** Runs one whose output is this program's. @return its exit status */
    public int show(List<String> command) throws IOException {
        return await(start(builder(command).inheritIO()));
    }

    /**
     * Runs one whose errors are this program's.
     *
     * @return its output; null if it fails, and has said why
     */
    public @Nullable String capture(List<String> command) throws IOException {
        Process program = start(builder(command).redirectError(ProcessBuilder.Redirect.INHERIT));
        String said = new String(program.getInputStream().readAllBytes(), UTF_8);
        return await(program) == 0 ? said : null;
    }

    /** Runs one into a log. @return its exit status */
    public int log(List<String> command, Path log) throws IOException {
        return await(begin(command, log, null));
    }

    /**
     * Starts one, which ends when this program is ended, and not by the terminal before. Who starts it awaits it.
     *
     * @param errors null: with the rest
     */
    public Process begin(List<String> command, Path log, @Nullable Path errors) throws IOException {
        ProcessBuilder builder = builder(ProcessStart.ignoringTerminal(command))
                .redirectOutput(log.toFile()).redirectInput(new File("/dev/null"));
        return start(errors == null ? builder.redirectErrorStream(true) : builder.redirectError(errors.toFile()));
    }

    /** @return its exit status */
    public int await(Process program) {
        try {
            int status = program.waitFor();
            ending.pass();
            return status;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted while waiting for a program", e);
        }
    }

    /** Waits until something is so. */
    public void until(BooleanSupplier condition) {
        while (!condition.getAsBoolean()) {
            ending.pass();
            Pause.millis(LOOK_AGAIN_MILLIS);
        }
        ending.pass();
    }

    private ProcessBuilder builder(List<String> command) {
        var builder = new ProcessBuilder(command).directory(folder.toFile());
        Environments.make(builder, environment);
        return builder;
    }

    private Process start(ProcessBuilder builder) throws IOException {
        Process program = builder.start();
        Runnable end = program::destroy;
        ending.add(end);
        program.onExit().thenRun(() -> ending.remove(end));
        return program;
    }

    /** @return null if it is nowhere on the PATH */
    public @Nullable String installed(String program) {
        for (String place : environment.getOrDefault("PATH", "").split(File.pathSeparator)) {
            Path file = Path.of(place, program);
            if (Files.isExecutable(file) && !Files.isDirectory(file)) {
                return file.toString();
            }
        }
        return null;
    }
}
