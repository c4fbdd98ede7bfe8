package dev.warmpath.cli.start;

import dev.warmpath.cli.build.Ending;
import dev.warmpath.cli.build.Progress;
import dev.warmpath.cli.fleet.CommandException;
import dev.warmpath.cli.fleet.FleetFile;
import dev.warmpath.cli.fleet.FleetMember;
import dev.warmpath.cli.fleet.FleetStop;
import dev.warmpath.cli.fleet.Installation;
import dev.warmpath.cli.fleet.Launches;
import dev.warmpath.cli.fleet.Launches.Launch;
import dev.warmpath.cli.fleet.Management;
import dev.warmpath.cli.fleet.ProcessStart;
import dev.warmpath.cli.fleet.Readiness;
import dev.warmpath.cli.fleet.Role;
import dev.warmpath.cli.fleet.StateLock;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.List;
import java.util.stream.Collectors;

/** Starts one process of a fleet again, by the same command line; the others go on serving. */
public final class Restart {

    private final Installation installation;
    private final Ending ending;
    private final Progress progress;
    private final Duration patience;
    private final Runnable interruption = this::interrupted;
    /** What is so if it ends now. Guarded by this, as launching is. */
    private String soFar = "nothing was changed";
    private boolean isInterrupted;

    /** @param patience for a start in which nothing moves */
    public Restart(Installation installation, Ending ending, Progress progress, Duration patience) {
        this.installation = installation;
        this.ending = ending;
        this.progress = progress;
        this.patience = patience;
    }

    /**
     * Returns when it is ready.
     *
     * @return the new process
     * @throws CommandException     if there is no such process
     * @throws StartFailedException if it does not come up again; the others have not been touched
     */
    public FleetMember run(String id) throws IOException, StartFailedException {
        FleetFile.require(installation.state());
        try (var _ = StateLock.take(installation.state(), StateLock.restart(id))) {
            ending.add(interruption);
            FleetMember after = runLocked(id);
            ending.pass();
            return after;
        } finally {
            ending.remove(interruption);
        }
    }

    private FleetMember runLocked(String id) throws IOException, StartFailedException {
        Path state = installation.state();
        FleetFile fleet = FleetFile.require(state);                // another one than before the lock, perhaps
        FleetMember before = fleet.member(id);
        if (before == null) {
            throw new CommandException("no process '" + id + "' in this fleet; there are "
                    + fleet.members().stream().map(FleetMember::id).collect(Collectors.joining(", ")));
        }
        Launches launches = Launches.read(state);
        Launch launch = launches == null ? null : launches.of(id);
        if (launches == null || launch == null) {
            throw new CommandException("how " + id + " was started has not been kept; ./warmpath down, then up, starts "
                    + "the whole fleet again");
        }
        long beganNanos = System.nanoTime();
        FleetMember after;
        try (var management = new Management()) {
            List<Long> earlier = Readiness.look(fleet, management).epochs(id);
            if (before.isRunning()) {
                progress.begin("stopping " + id, () -> "");
                say(id + " was told to end, and is not started again; ./warmpath restart " + id + " does that");
                FleetStop.end(List.of(before));
            }
            if (Files.exists(installation.log(id))) {
                Files.move(installation.log(id), installation.log(id + ".before"), StandardCopyOption.REPLACE_EXISTING);
            }
            after = launch(launches, launch);
            ending.pass();
            var wait = new ReadyWait(installation, management, progress, ending, patience);
            if (!wait.await(fleet, List.of(after), (readiness, member) -> isBack(readiness, fleet, member, earlier),
                    () -> !launches.isStillThere(state))) {
                throw new CommandException("the fleet was stopped meanwhile");
            }
        }
        progress.say(id + " is ready again after " + Duration.ofNanos(System.nanoTime() - beganNanos).toSeconds()
                + " s; what it said before is in " + installation.log(id + ".before"));
        return after;
    }

    /** A process that is not in the fleet file yet would be nobody's after an interruption. */
    private synchronized FleetMember launch(Launches launches, Launch launch) throws IOException {
        if (isInterrupted) {
            ending.pass();
        }
        FleetMember member = new ProcessStart(installation, launches).again(launch);
        soFar = member.id() + " goes on starting; ./warmpath status tells when it is ready";
        return member;
    }

    private synchronized void say(String soFar) {
        this.soFar = soFar;
    }

    private synchronized void interrupted() {
        isInterrupted = true;
        progress.say(soFar);
        progress.close();
    }

    /**
     * Routers may know a worker's life of before for a while, and a new router is of use when workers have found it.
     */
    private static boolean isBack(Readiness readiness, FleetFile fleet, FleetMember member, List<Long> earlier) {
        return readiness.isReady(member) && switch (member.role()) {
            case WORKER -> readiness.epochs(member.id()).stream().noneMatch(earlier::contains);
            case ROUTER -> readiness.hasReadyWorkers(member.id())
                    || fleet.of(Role.WORKER).stream().noneMatch(FleetMember::isRunning);
            case REDIS -> true;
        };
    }
}
