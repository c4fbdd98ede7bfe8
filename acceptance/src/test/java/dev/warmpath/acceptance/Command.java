package dev.warmpath.acceptance;

import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/** Programs of this machine that are run to their end. */
final class Command {

    /** Where they are looked for: administrators' folders, too. */
    static final String PATH = System.getenv("PATH") + ":/usr/sbin:/sbin";

    private Command() {}

    static boolean isInstalled(String program) {
        return places(program).findAny().isPresent();
    }

    /** Where a program lies that is installed. */
    static Path find(String program) {
        return places(program).findFirst().orElseThrow();
    }

    private static Stream<Path> places(String program) {
        return Stream.of(PATH.split(File.pathSeparator)).map(folder -> Path.of(folder, program))
                .filter(Files::isExecutable);
    }

    /**
     * Runs it.
     * @param environment beside this process's own
     * @return what it says, errors among it
     * @throws AssertionError if it does not end with 0; the message has what it said
     */
    static String run(Map<String, String> environment, List<String> command) {
        try {
            Path output = Files.createTempFile("said", ".log");
            var builder = new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(output.toFile());
            builder.environment().putAll(environment);
            int status = builder.start().waitFor();
            String said = Files.readString(output);
            Files.delete(output);
            if (status != 0) {
                throw new AssertionError(command + " ends with " + status + " and says: " + said);
            }
            return said;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted while waiting for " + command, e);
        }
    }
}
