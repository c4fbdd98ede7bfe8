package dev.warmpath.cli.fleet;

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.function.Consumer;

/**
 * Stops a fleet. The routers go first: no new work reaches the workers while they finish theirs. Workers take their
 * leave of Redis, which goes last. Each is asked, waited for, and killed if that is of no use.
 */
public final class FleetStop {

    private static final String REDIS_SETTINGS = "redis";
    private static final Duration PATIENCE = Duration.ofSeconds(30);
    private static final int LOOK_AGAIN_MILLIS = 10;
    /** The names that workers give to what they share, and nothing else that somebody may keep there. */
    private static final String SHARED = "{*.panels,*.panels.*.part,panels.lock}";

    private final Installation installation;

    public FleetStop(Installation installation) {
        this.installation = installation;
    }

    /** Waits for a stop that is under way, and ends a start that is; for all but who holds the lock. */
    public void stopLocked() throws IOException {
        try (var _ = StateLock.takeFromWhoStarts(installation.state())) {
            stop();
        }
    }

    /** Of whoever holds the lock. Also removes what is left where there is no fleet. */
    public void stop() throws IOException {
        for (Role role : Role.values()) {
            FleetFile fleet = FleetFile.read(installation.state());
            if (fleet != null) {
                end(fleet.of(role));
            }
        }
        forget();
    }

    /** Removes what a fleet leaves of which no process is there any more. */
    public void forget() throws IOException {
        Path state = installation.state();
        FleetFile.delete(state);
        Launches.delete(state);
        Files.deleteIfExists(state.resolve(REDIS_SETTINGS));
        removeSharedWeights();
    }

    /** Asks, waits, insists. */
    public static void end(List<FleetMember> members) {
        members.forEach(member -> signal(member, ProcessHandle::destroy));
        long deadline = System.nanoTime() + PATIENCE.toNanos();
        while (members.stream().anyMatch(FleetMember::isRunning)) {
            if (System.nanoTime() - deadline > 0) {
                members.forEach(member -> signal(member, ProcessHandle::destroyForcibly));
                return;
            }
            Pause.millis(LOOK_AGAIN_MILLIS);
        }
    }

    private static void signal(FleetMember member, Consumer<ProcessHandle> signal) {
        if (member.isRunning()) {
            ProcessHandle.of(member.pid()).ifPresent(signal);
        }
    }

    private void removeSharedWeights() throws IOException {
        Path folder = installation.sharedWeights();
        if (!Files.isDirectory(folder)) {
            return;
        }
        try (DirectoryStream<Path> shared = Files.newDirectoryStream(folder, SHARED)) {
            for (Path file : shared) {
                Files.deleteIfExists(file);
            }
        }
        if (isEmpty(folder)) {
            Files.deleteIfExists(folder);
        }
    }

    private static boolean isEmpty(Path folder) throws IOException {
        try (DirectoryStream<Path> files = Files.newDirectoryStream(folder)) {
            return !files.iterator().hasNext();
        }
    }
}
