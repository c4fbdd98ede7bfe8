package dev.warmpath.cli.start;

import dev.warmpath.cli.build.Ending;
import dev.warmpath.cli.build.Progress;
import dev.warmpath.cli.fleet.FleetFile;
import dev.warmpath.cli.fleet.FleetMember;
import dev.warmpath.cli.fleet.Installation;
import dev.warmpath.cli.fleet.LifeSigns;
import dev.warmpath.cli.fleet.Management;
import dev.warmpath.cli.fleet.Pause;
import dev.warmpath.cli.fleet.Readiness;
import dev.warmpath.cli.fleet.Role;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.function.BiPredicate;
import java.util.function.BooleanSupplier;
import java.util.stream.Collectors;

/** Waits for processes as long as one of those that are waited for makes progress, and tells what they are doing. */
final class ReadyWait {

    /** Asking costs processor time that the starting processes need. */
    private static final int LOOK_AGAIN_MILLIS = 500;
    /** Between two reports of a start that takes long, where no line moves. */
    private static final Duration REPORT = Duration.ofSeconds(10);
    private static final String REFUSES = " refuses this worker:";

    private final Installation installation;
    private final Management management;
    private final Progress progress;
    private final Ending ending;
    private final Duration patience;
    private final long beganNanos = System.nanoTime();
    private long toldNanos = beganNanos;
    private String said = "";

    ReadyWait(Installation installation, Management management, Progress progress, Ending ending, Duration patience) {
        this.installation = installation;
        this.management = management;
        this.progress = progress;
        this.ending = ending;
        this.patience = patience;
    }

    /**
     * @param fleet     all of it, for its routers
     * @param awaited   who is to be ready
     * @param isReady   whether one is
     * @param isStopped whether somebody else has stopped the fleet, asked when a process has ended
     * @return whether all are ready; else the fleet was stopped meanwhile
     */
    boolean await(FleetFile fleet, List<FleetMember> awaited, BiPredicate<Readiness, FleetMember> isReady,
            BooleanSupplier isStopped) throws StartFailedException {
        var signs = new LifeSigns(patience, System.nanoTime());
        while (true) {
            Readiness readiness = Readiness.look(fleet, management);
            ending.pass();
            for (FleetMember member : awaited) {
                if (!member.isRunning()) {
                    ending.pass();
                    if (isStopped.getAsBoolean()) {
                        return false;
                    }
                    throw new StartFailedException(member.id() + " ended before it was ready", log(member));
                }
            }
            List<FleetMember> waiting = awaited.stream().filter(member -> !isReady.test(readiness, member)).toList();
            if (waiting.isEmpty()) {
                progress.end();
                return true;
            }
            requireHope(readiness, waiting);
            tell(waiting);
            if (signs.stalls(waiting.stream().map(member -> member.id() + "=" + LifeSigns.of(member.pid(), log(member)))
                    .collect(Collectors.joining(" ")), System.nanoTime())) {
                throw new StartFailedException("not ready, and without any progress for "
                        + "" + patience.toSeconds() + " s: "
                        + ids(waiting), log(waiting.getLast()));
            }
            Pause.millis(LOOK_AGAIN_MILLIS);
        }
    }

    private void requireHope(Readiness readiness, List<FleetMember> waiting) throws StartFailedException {
        for (FleetMember member : waiting) {
            String message = LifeSigns.lastMessage(log(member));
            if (member.role() == Role.WORKER && message.contains(REFUSES)) {
                throw new StartFailedException(LifeSigns.wholeLastMessage(log(member)), null);
            }
        }
        String refusal = readiness.refusal();
        if (refusal != null) {
            throw new StartFailedException("the model cannot be served: " + refusal, null);
        }
    }

    private void tell(List<FleetMember> waiting) {
        String ids = ids(waiting);
        if (!ids.equals(said)) {
            said = ids;
            toldNanos = System.nanoTime();
            FleetMember last = waiting.getLast();
            progress.begin("waiting for " + ids, () -> LifeSigns.lastMessage(log(last)));
        } else if (!progress.isTerminal() && System.nanoTime() - toldNanos >= REPORT.toNanos()) {
            toldNanos = System.nanoTime();
            progress.say("after " + Duration.ofNanos(toldNanos - beganNanos).toSeconds() + " s:");
            waiting.forEach(member -> progress.say("  " + member.id() + ": " + LifeSigns.lastMessage(log(member))));
        }
    }

    private Path log(FleetMember member) {
        return installation.log(member.id());
    }

    private static String ids(List<FleetMember> members) {
        return members.stream().map(FleetMember::id).collect(Collectors.joining(" "));
    }
}
