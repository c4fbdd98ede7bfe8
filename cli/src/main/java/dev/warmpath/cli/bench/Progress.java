package dev.warmpath.cli.bench;

import dev.warmpath.cli.terminal.Screen;
import java.io.PrintStream;
import java.util.Locale;
import java.util.function.DoubleSupplier;

/** A line on a terminal that moves while a run goes on, and is gone when it has ended. Elsewhere nothing. */
final class Progress implements AutoCloseable {

    private static final long EACH_MILLIS = 200;
    private static final int BAR = 30;
    private static final String CLEAR = "\r\033[K";

    private final PrintStream out;
    private final Screen screen;
    private final Measurements measurements;
    private final DoubleSupplier done;
    private final int width;
    private boolean moving;

    /**
     * @param screen of the stream; the line is drawn if it is a terminal
     * @param done   share of the run, 0 to 1
     */
    Progress(PrintStream out, Screen screen, Measurements measurements, DoubleSupplier done) {
        this.out = out;
        this.screen = screen;
        this.measurements = measurements;
        this.done = done;
        this.width = screen.width();                               // once: asking takes a process each time
        this.moving = screen.isTerminal();
        if (moving) {
            Thread.startVirtualThread(this::move);
        }
    }

    private void move() {
        try {
            while (draw()) {
                Thread.sleep(EACH_MILLIS);
            }
        } catch (InterruptedException e) {
            // nobody interrupts it; the line stands still, then
        }
    }

    private synchronized boolean draw() {
        if (moving) {
            double share = done.getAsDouble();
            String line = String.format(Locale.ROOT, "%s %3.0f %%  %,d requests, %d failed", screen.bar(share, BAR),
                    100 * share, measurements.ended(), measurements.failures());
            out.print(CLEAR + line.substring(0, Math.min(line.length(), width - 1)));
            out.flush();
        }
        return moving;
    }

    /** May be called again. */
    @Override
    public synchronized void close() {
        if (moving) {
            moving = false;
            out.print(CLEAR);
            out.flush();
        }
    }
}
