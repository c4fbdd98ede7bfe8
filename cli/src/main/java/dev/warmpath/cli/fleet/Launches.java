package dev.warmpath.cli.fleet;

import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.json.JsonMapper;

/**
 * How the processes of a fleet were started, so that one can be started again as it was. It has their environment, in
 * which there are secrets: only its owner may read the file, and it goes with the fleet.
 *
 * @param fleet       tells this fleet from the next one of the same folder
 * @param folder      in which all processes were started: settings may name files by paths from there
 * @param environment of all processes
 */
public record Launches(String fleet, String folder, Map<String, String> environment, List<Launch> launches) {

    private static final String NAME = "launches.json";
    private static final JsonMapper JSON = JsonMapper.builder().build();

    /**
     * How one process is started.
     *
     * @param command program and arguments
     */
    public record Launch(Role role, String id, int port, URI url, List<String> command) {}

    /** @return null if there is no fleet */
    public static @Nullable Launches read(Path state) {
        try {
            return JSON.readValue(Files.readAllBytes(state.resolve(NAME)), Launches.class);
        } catch (NoSuchFileException e) {
            return null;
        } catch (IOException | JacksonException e) {
            throw new CommandException("cannot read " + state.resolve(NAME) + ": " + e.getMessage());
        }
    }

    /** A new fleet, started from here. */
    public static Launches of(Map<String, String> environment, List<Launch> launches) {
        return new Launches(UUID.randomUUID().toString(), Path.of("").toAbsolutePath().toString(), environment,
                launches);
    }

    /** @return null if there is none of this id */
    public @Nullable Launch of(String id) {
        return launches.stream().filter(launch -> launch.id().equals(id)).findFirst().orElse(null);
    }

    /** Whether the fleet that is there now is this one. */
    public boolean isStillThere(Path state) {
        Launches now = read(state);
        return now != null && now.fleet.equals(fleet) && FleetFile.read(state) != null;
    }

    public void write(Path state) throws IOException {
        OwnersFile.write(state.resolve(NAME), JSON.writeValueAsString(this));
    }

    static void delete(Path state) throws IOException {
        Files.deleteIfExists(state.resolve(NAME));
    }
}
