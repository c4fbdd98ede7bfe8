package dev.warmpath.cli.look;

import dev.warmpath.cli.fleet.Installation;
import dev.warmpath.cli.look.Drains.Done;
import dev.warmpath.cli.terminal.Screen;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code undrain}: a worker gets requests again. */
@Command(name = "undrain", description = "Send a worker requests again, of every router.")
final class UndrainCommand implements Callable<Integer> {

    private final Installation installation;
    private final Screen screen;

    @Mixin
    FleetOptions options = new FleetOptions();

    @Parameters(paramLabel = "ID", description = "The worker's id.")
    String worker = "";

    @Option(names = "--json", description = "What was done, as JSON.")
    boolean json;

    UndrainCommand(Installation installation, Screen screen) {
        this.installation = installation;
        this.screen = screen;
    }

    @Override
    public Integer call() {
        Done done = new Done(worker, false, false, Drains.tell(options.fleet(installation), worker, "DELETE"));
        screen.print(json ? Json.lines(done) : done.lines(worker + " gets requests"));
        return done.status();
    }
}
