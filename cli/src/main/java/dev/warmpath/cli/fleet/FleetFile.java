package dev.warmpath.cli.fleet;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The processes that were started from a state folder, a line each: role, id, pid, start time, port, URL. It is there
 * from the first start to the end of the last process, and whoever wants to know about the fleet begins here.
 *
 * @param members in the order of their start
 */
public record FleetFile(List<FleetMember> members) {

    private static final String NAME = "fleet";

    public FleetFile {
        members = List.copyOf(members);
    }

    /**
     * @param state the state folder
     * @return null if nothing has been started from there, or all of it has been stopped
     * @throws CommandException if the file cannot be read, or is none
     */
    public static @Nullable FleetFile read(Path state) {
        Path file = state.resolve(NAME);
        try {
            return new FleetFile(Files.readAllLines(file).stream().map(FleetMember::of).toList());
        } catch (NoSuchFileException e) {
            return null;
        } catch (IOException | IllegalArgumentException e) {
            throw new CommandException("cannot read " + file + ": " + e.getMessage());
        }
    }

    /** @throws CommandException if there is no fleet of this state folder, or none of its processes runs */
    public static FleetFile require(Path state) {
        FleetFile fleet = read(state);
        if (fleet == null || fleet.members.stream().noneMatch(FleetMember::isRunning)) {
            throw new CommandException("no fleet is running; start one by ./warmpath up");
        }
        return fleet;
    }

    public List<FleetMember> of(Role role) {
        return members.stream().filter(member -> member.role() == role).toList();
    }

    /** @return null if there is none of this id */
    public @Nullable FleetMember member(String id) {
        return members.stream().filter(member -> member.id().equals(id)).findFirst().orElse(null);
    }

    /** Adds a process that has just been started; the first one begins the file. */
    static void add(Path state, FleetMember member) throws IOException {
        Files.writeString(state.resolve(NAME), member.line(), StandardOpenOption.CREATE, StandardOpenOption.APPEND);
    }

    /** Puts a process in the place of the one of the same id. Readers see the one or the other. */
    static void replace(Path state, FleetMember member) throws IOException {
        FleetFile before = read(state);
        if (before == null) {
            throw new CommandException("the fleet was stopped meanwhile");
        }
        List<FleetMember> after = new ArrayList<>(before.members);
        after.replaceAll(old -> old.id().equals(member.id()) ? member : old);
        StringBuilder lines = new StringBuilder();
        after.forEach(each -> lines.append(each.line()));
        Path written = state.resolve(NAME + ".new");
        Files.writeString(written, lines);
        Files.move(written, state.resolve(NAME), StandardCopyOption.ATOMIC_MOVE);
    }

    static void delete(Path state) throws IOException {
        Files.deleteIfExists(state.resolve(NAME));
    }
}
