package dev.warmpath.cli.look;

import dev.warmpath.cli.fleet.Installation;
import dev.warmpath.cli.terminal.Screen;
import java.util.concurrent.Callable;
import java.util.function.LongSupplier;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** {@code workers}: who is in the fleet, once. */
@Command(name = "workers", description = "Show the workers: state, health, load, and how the index follows each.")
final class WorkersCommand implements Callable<Integer> {

    private final Installation installation;
    private final Screen screen;
    private final LongSupplier nanoTime;

    @Mixin
    FleetOptions options = new FleetOptions();

    @Option(names = "--json", description = "The same as JSON.")
    boolean json;

    WorkersCommand(Installation installation, Screen screen, LongSupplier nanoTime) {
        this.installation = installation;
        this.screen = screen;
        this.nanoTime = nanoTime;
    }

    @Override
    public Integer call() {
        FleetReading reading = new FleetReader(options.fleet(installation), nanoTime).read();
        screen.print(json ? Json.lines(reading) : FleetPage.workers(reading.workers(), screen, screen.width()));
        return 0;
    }
}
