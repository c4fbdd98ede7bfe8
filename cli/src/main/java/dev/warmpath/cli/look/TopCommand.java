package dev.warmpath.cli.look;

import dev.warmpath.cli.fleet.CommandException;
import dev.warmpath.cli.fleet.Installation;
import dev.warmpath.cli.terminal.Keys;
import dev.warmpath.cli.terminal.Screen;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/**
 * {@code top}: the fleet as it is now, drawn anew each second on a page of its own. A router that does not answer for a
 * while ends nothing: the page says so, and goes on asking.
 */
@Command(name = "top", description = {"Show the fleet live: requests, tokens, cache hits, workers.",
        "Without a terminal it is printed once. q or Ctrl-C ends it."})
final class TopCommand implements Callable<Integer> {

    private static final double SHORTEST = 0.2;
    private static final double LONGEST = 3_600;
    private static final long REDRAW_MILLIS = 1_000;

    private final Installation installation;
    private final Screen screen;
    private final LongSupplier nanoTime;

    @Spec
    CommandSpec spec = CommandSpec.create();

    @Mixin
    FleetOptions options = new FleetOptions();

    @Option(names = "--interval", paramLabel = "SECONDS", defaultValue = "1",
            description = "How often it is drawn, 0.2 to 3600 (default: ${DEFAULT-VALUE}).")
    double interval;

    @Option(names = "--once", description = "Print it once and end; rates are of one interval.")
    boolean once;

    @Option(names = "--json", description = "Once, as JSON.")
    boolean json;

    TopCommand(Installation installation, Screen screen, LongSupplier nanoTime) {
        this.installation = installation;
        this.screen = screen;
        this.nanoTime = nanoTime;
    }

    @Override
    public Integer call() throws InterruptedException {
        if (!(interval >= SHORTEST && interval <= LONGEST)) {
            throw new ParameterException(spec.commandLine(), "--interval is " + interval + ", and must be " + SHORTEST
                    + " to " + (int) LONGEST + " seconds");
        }
        Fleet fleet = options.fleet(installation);
        FleetReader reader = new FleetReader(fleet, nanoTime);
        FleetReading first = reader.read();
        if (once || json || !screen.isTerminal()) {
            TimeUnit.MILLISECONDS.sleep((long) (interval * 1_000));
            FleetReading second = reader.read();
            screen.print(json ? Json.lines(second) : FleetPage.top(second, fleet, 0, screen, screen.width()));
            return 0;
        }
        follow(fleet, reader, first);
        return 0;
    }

    /** Until it is ended; its last act is to give the user's page back, with the terminal as it was. */
    private void follow(Fleet fleet, FleetReader reader, FleetReading first) throws InterruptedException {
        Keys keys = Keys.begin();
        Runnable restore = () -> {
            screen.restore();
            keys.close();
        };
        Runtime.getRuntime().addShutdownHook(new Thread(restore));
        screen.begin();
        try {
            FleetReading shown = first;
            String problem = "";
            long read = nanoTime.getAsLong();
            while (true) {
                List<String> lines = new ArrayList<>(problem.isEmpty() ? List.of() : List.of("not of now: " + problem));
                lines.addAll(FleetPage.top(shown, fleet, interval, screen, screen.width()));
                screen.draw(lines);
                long left = (long) (interval * 1_000) - TimeUnit.NANOSECONDS.toMillis(nanoTime.getAsLong() - read);
                if (keys.typed('q', Math.clamp(left, 0, REDRAW_MILLIS))) {
                    return;
                }
                if (left > REDRAW_MILLIS) {
                    continue;                                      // the window may have another size by now
                }
                read = nanoTime.getAsLong();
                try {
                    shown = reader.read();
                    problem = "";
                } catch (CommandException e) {
                    problem = e.getMessage();
                }
            }
        } finally {
            restore.run();
        }
    }
}
