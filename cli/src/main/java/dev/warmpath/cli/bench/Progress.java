package dev.warmpath.cli.bench;

import dev.warmpath.cli.terminal.Screen;
import java.io.PrintStream;
import java.util.Locale;
import java.util.function.DoubleSupplier;

/** A line on a terminal that moves while a run goes on, and is gone when it has ended. */
final class Progress implements AutoCloseable {

    private static final long EACH_MILLIS = 200;
    private static final int BAR = 30;
    private static final String CLEAR = "\r\033[K";

    private final PrintStream terminal;
    private final Thread drawing;

    /** @param done share of the run, 0 to 1 */
    Progress(PrintStream terminal, Screen screen, Measurements measurements, DoubleSupplier done) {
        this.terminal = terminal;
        this.drawing = Thread.ofVirtual().start(() -> {
            try {
                while (true) {
                    terminal.print(CLEAR + line(screen, measurements, done.getAsDouble()));
                    terminal.flush();
                    Thread.sleep(EACH_MILLIS);
                }
            } catch (InterruptedException e) {
                // it is over
            }
        });
    }

    private static String line(Screen screen, Measurements measurements, double done) {
        String line = String.format(Locale.ROOT, "%s %3.0f %%  %,d requests, %d failed", screen.bar(done, BAR),
                100 * done, measurements.ended(), measurements.failures());
        return line.substring(0, Math.min(line.length(), screen.width() - 1));
    }

    @Override
    public void close() {
        drawing.interrupt();
        try {
            drawing.join();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        terminal.print(CLEAR);
        terminal.flush();
    }
}
