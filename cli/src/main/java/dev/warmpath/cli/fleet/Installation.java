package dev.warmpath.cli.fleet;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;

/**
 * Where the command works.
 *
 * @param home        the checkout: sources, built services, models
 * @param state       pids, logs and secrets of one fleet; {@code WARMPATH_STATE} chooses another one
 * @param environment of the command's caller
 */
public record Installation(Path home, Path state, Map<String, String> environment) {

    /** Set by the launcher script, which runs a copy of the jar. */
    private static final String HOME = "warmpath.home";

    public Installation {
        environment = Map.copyOf(environment);
    }

    /** The one that this program belongs to; without the launcher script, the checkout in which its jar lies. */
    public static Installation here() {
        String home = System.getProperty(HOME);
        Path checkout = home != null ? Path.of(home) : above(Path.of(System.getProperty("java.class.path")));
        String state = System.getenv("WARMPATH_STATE");
        return new Installation(checkout, state == null || state.isEmpty() ? checkout.resolve(".warmpath")
                : Path.of(state).toAbsolutePath(), System.getenv());
    }

    /** From {@code cli/target/cli.jar}, or from classes beside it. */
    private static Path above(Path jar) {
        for (Path folder = jar.toAbsolutePath(); folder != null; folder = folder.getParent()) {
            if (Files.exists(folder.resolve("warmpath")) && Files.exists(folder.resolve("models"))) {
                return folder;
            }
        }
        return Path.of("").toAbsolutePath();
    }

    /** @return empty if it is not set */
    public String variable(String name) {
        return environment.getOrDefault(name, "");
    }

    /** @throws CommandException if they cannot be made or written */
    public void makeFolders() {
        try {
            Files.createDirectories(logs());
            Files.delete(Files.createTempFile(logs(), "write", ""));
        } catch (IOException e) {
            throw new CommandException("cannot write to " + state + "; make it writable, or choose another folder by "
                    + "WARMPATH_STATE");
        }
    }

    public Path logs() {
        return state.resolve("logs");
    }

    public Path log(String id) {
        return logs().resolve(id + ".log");
    }

    /** What workers of the fleet have in common; gone with it. */
    public Path sharedWeights() {
        return state.resolve("shared-weights");
    }

    /** A fleet's that others can reach: whoever has what is in this file may register as a worker. */
    public Path fleetToken() {
        return state.resolve("token");
    }

    /** Whoever has what is in this file may change things on management ports. */
    public Path managementToken() {
        return state.resolve("management-token");
    }
}
