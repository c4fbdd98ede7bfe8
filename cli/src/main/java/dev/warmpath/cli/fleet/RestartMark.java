package dev.warmpath.cli.fleet;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** Says which process is being started again, and by which command: as long as that runs, the process may be gone. */
public final class RestartMark implements AutoCloseable {

    private static final String NAME = "restarting";

    private final Path file;

    /**
     * Sets it.
     *
     * @throws CommandException if another one is being started again: one after the other
     */
    public RestartMark(Path state, String id) throws IOException {
        file = state.resolve(NAME);
        String[] other = words(state);
        if (other.length == 3 && ProcessTable.isOurs(Long.parseLong(other[1]), other[2])) {
            throw new CommandException(other[0] + " is being restarted; wait until it is ready");
        }
        long self = ProcessHandle.current().pid();
        Files.writeString(file, id + " " + self + " " + ProcessTable.startedAt(self));
    }

    /** Whether this process is being started again. */
    public static boolean isOn(Path state, String id) {
        String[] words = words(state);
        return words.length == 3 && words[0].equals(id) && ProcessTable.isOurs(Long.parseLong(words[1]), words[2]);
    }

    private static String[] words(Path state) {
        try {
            return Files.readString(state.resolve(NAME)).split(" ");
        } catch (IOException e) {
            return new String[0];
        }
    }

    @Override
    public void close() throws IOException {
        Files.deleteIfExists(file);
    }
}
