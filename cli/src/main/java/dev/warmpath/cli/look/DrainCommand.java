package dev.warmpath.cli.look;

import dev.warmpath.cli.fleet.CommandException;
import dev.warmpath.cli.fleet.Installation;
import dev.warmpath.cli.look.Drains.Done;
import dev.warmpath.cli.look.Drains.Told;
import dev.warmpath.cli.look.FleetReading.Worker;
import dev.warmpath.cli.terminal.Screen;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code drain}: nothing new for a worker, until {@code undrain}, or until its process or a router begins anew. */
@Command(name = "drain", description = {"Send a worker nothing new.",
        "Every router of the fleet is told. What the worker has is finished."})
final class DrainCommand implements Callable<Integer> {

    /** A worker's load is known by its heartbeats, one each second: two of them have to say so. */
    private static final Duration BETWEEN_LOOKS = Duration.ofMillis(1_500);

    private final Installation installation;
    private final Screen screen;

    @Mixin
    FleetOptions options = new FleetOptions();

    @Parameters(paramLabel = "ID", description = "The worker's id.")
    String worker = "";

    @Option(names = "--wait", description = "Return when it has no requests any more.")
    boolean wait;

    @Option(names = "--timeout", paramLabel = "SECONDS", defaultValue = "600",
            description = "Wait no longer (default: ${DEFAULT-VALUE}); status 1 then.")
    long timeoutSeconds;

    @Option(names = "--json", description = "What was done, as JSON.")
    boolean json;

    DrainCommand(Installation installation, Screen screen) {
        this.installation = installation;
        this.screen = screen;
    }

    @Override
    public Integer call() throws InterruptedException {
        Fleet fleet = options.fleet(installation);
        List<Told> told = Drains.tell(fleet, worker, "PUT");
        Done done = new Done(worker, true, wait && awaitIdle(fleet), told);
        screen.print(json ? Json.lines(done) : done.lines("nothing new goes to " + worker
                + (done.idle() ? ", and it has no requests any more" : "")));
        return done.status();
    }

    private boolean awaitIdle(Fleet fleet) throws InterruptedException {
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(timeoutSeconds);
        int idleLooks = 0;
        while (idleLooks < 2) {
            if (System.nanoTime() > deadline) {
                throw new CommandException(worker + " gets nothing new, and still has requests after " + timeoutSeconds
                        + " s; workers shows how many");
            }
            @Nullable Worker seen = FleetReader.known(fleet).stream().filter(each -> each.id().equals(worker))
                    .findFirst().orElse(null);
            if (seen == null) {
                return true;                                       // it has gone
            }
            idleLooks = seen.isIdle() ? idleLooks + 1 : 0;
            if (idleLooks < 2) {
                Thread.sleep(BETWEEN_LOOKS);
            }
        }
        return true;
    }
}
