package dev.warmpath.cli.start;

import dev.warmpath.cli.build.Ending;
import dev.warmpath.cli.build.Progress;
import dev.warmpath.cli.fleet.FleetFile;
import dev.warmpath.cli.fleet.FleetMember;
import dev.warmpath.cli.fleet.Installation;
import dev.warmpath.cli.fleet.Launches;
import dev.warmpath.cli.fleet.Pause;
import dev.warmpath.cli.fleet.Role;
import dev.warmpath.cli.fleet.StateLock;
import java.util.HashSet;
import java.util.Set;

/** Watches a running fleet from the foreground, and tells which process has ended, until somebody stops the fleet. */
final class Watch {

    private static final int LOOK_AGAIN_MILLIS = 1000;
    private static final int SOON_MILLIS = 100;

    private final Installation installation;
    private final Launches launches;
    private final Progress progress;
    private final Ending ending;
    private final Set<Long> told = new HashSet<>();

    Watch(Installation installation, Launches launches, Progress progress, Ending ending) {
        this.installation = installation;
        this.launches = launches;
        this.progress = progress;
        this.ending = ending;
    }

    /** Returns when somebody else has stopped the fleet. */
    void untilStopped() throws StartFailedException {
        while (true) {
            FleetFile fleet = FleetFile.read(installation.state());
            if (fleet == null || hasBeenStopped(fleet)) {
                return;
            }
            pause(LOOK_AGAIN_MILLIS);
        }
    }

    private boolean hasBeenStopped(FleetFile fleet) throws StartFailedException {
        for (FleetMember member : fleet.members()) {
            if (member.isRunning() || told.contains(member.pid())) {
                continue;
            }
            if (isStopped()) {
                return true;
            }
            if (StateLock.isAt(installation.state(), StateLock.restart(member.id()))) {
                continue;
            }
            if (member.role() == Role.ROUTER && fleet.of(Role.ROUTER).stream().noneMatch(FleetMember::isRunning)) {
                throw new StartFailedException(member.id() + ", the last router, ended; stopping the workers",
                        installation.log(member.id()));
            }
            told.add(member.pid());
            progress.say(member.id() + " ended; its log is " + installation.log(member.id())
                    + ", and ./warmpath restart " + member.id() + " brings it back");
        }
        return !launches.isStillThere(installation.state());
    }

    /** Waits for the end of a stop that is under way. @return whether there was one */
    private boolean isStopped() {
        ending.pass();
        while (StateLock.isAt(installation.state(), StateLock.DOWN) && launches.isStillThere(installation.state())) {
            pause(SOON_MILLIS);
        }
        return !launches.isStillThere(installation.state());
    }

    private void pause(int millis) {
        ending.pass();
        Pause.millis(millis);
        ending.pass();
    }
}
