package dev.warmpath.acceptance;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Stream;
import org.junit.jupiter.api.Assumptions;

/**
 * Programs of another language, each of which uses the fleet by a client of that language. What they need is installed
 * in a folder of this user's cache, which the next run finds: its name has a digest of the versions.
 */
final class ClientPrograms {

    private static final Path SOURCES = Path.of("src/test/clients");
    private static final String INSTALLED = "installed";

    private final Path folder;

    private ClientPrograms(Path folder) {
        this.folder = folder;
    }

    /**
     * Installs what they need where it is not there yet. Where that can not be had, tests are left out, and say so.
     * @param language a folder of programs
     * @param needed   programs of this machine that it takes
     * @param pins     files of that folder which say what is installed
     * @param install  the commands that do so, given the folder in which the files lie
     */
    static ClientPrograms install(String language, List<String> needed, List<String> pins,
            Function<Path, List<List<String>>> install) {
        List<String> missing = needed.stream().filter(program -> !Command.isInstalled(program)).toList();
        if (!missing.isEmpty()) {
            leaveOut(language, "not on the PATH are " + missing);
        }
        Path folder = cache().resolve(language + "-" + digest(language, pins));
        try {
            copy(language, folder);
            if (!Files.exists(folder.resolve(INSTALLED))) {
                install.apply(folder).forEach(command -> Command.run(Map.of(), command));
                Files.createFile(folder.resolve(INSTALLED));
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (AssertionError e) {
            leaveOut(language, e.getMessage());
        }
        return new ClientPrograms(folder);
    }

    private static void leaveOut(String language, String reason) {
        System.out.println("LEFT OUT: clients in " + language + ", for " + reason);
        Assumptions.abort(reason);
    }

    Path folder() {
        return folder;
    }

    /** Runs one of a fleet's clients to its end, and prints what it says; see the other one. */
    void run(ClientsFleet fleet, Map<String, String> more, String interpreter, String program) {
        Map<String, String> environment = new HashMap<>(fleet.environment());
        environment.putAll(more);
        run(environment, interpreter, program);
    }

    /** Runs one to its end, and prints what it says. @throws AssertionError if it does not end with 0 */
    void run(Map<String, String> environment, String interpreter, String program, String... arguments) {
        List<String> command = new ArrayList<>(List.of(interpreter, folder.resolve(program).toString()));
        command.addAll(List.of(arguments));
        System.out.println(program + "\n" + Command.run(environment, command));
    }

    private static Path cache() {
        String own = System.getenv("XDG_CACHE_HOME");
        return Path.of(own == null || own.isEmpty() ? System.getProperty("user.home") + "/.cache" : own)
                .resolve("warmpath/clients");
    }

    /** Programs change more often than versions: they are copied for each run. */
    private static void copy(String language, Path folder) throws IOException {
        Path source = SOURCES.resolve(language);
        try (Stream<Path> files = Files.walk(source)) {
            for (Path file : files.filter(Files::isRegularFile).toList()) {
                Path copy = folder.resolve(source.relativize(file));
                Files.createDirectories(copy.getParent());
                Files.copy(file, copy, StandardCopyOption.REPLACE_EXISTING);
            }
        }
    }

    private static String digest(String language, List<String> pins) {
        try {
            var digest = MessageDigest.getInstance("SHA-256");
            for (String pin : pins) {
                digest.update(Files.readAllBytes(SOURCES.resolve(language).resolve(pin)));
            }
            return HexFormat.of().formatHex(digest.digest()).substring(0, 16);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every Java platform has SHA-256", e);
        }
    }
}
