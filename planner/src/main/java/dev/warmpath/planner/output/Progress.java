package dev.warmpath.planner.output;

import java.io.Console;
import java.io.PrintStream;
import java.util.Locale;

/** A line on a terminal that moves while something long goes on, and is gone when it has ended. Elsewhere nothing. */
public final class Progress implements AutoCloseable {

    private static final long EACH_NANOS = 200_000_000;
    private static final String CLEAR = "\r\033[K";

    private final PrintStream out;
    private final boolean isTerminal;
    private long drawnNanos;
    private boolean isOver;

    /** @param isTerminal whether the stream is one */
    public Progress(PrintStream out, boolean isTerminal) {
        this.out = out;
        this.isTerminal = isTerminal;
    }

    /** On standard error, if a person sits before it. */
    public static Progress standard() {
        Console console = System.console();
        return new Progress(System.err, console != null && console.isTerminal());
    }

    /** @param what is done. @param share of it, 0 to 1 */
    public synchronized void tell(String what, double share) {
        long now = System.nanoTime();
        if (isTerminal && !isOver && now - drawnNanos >= EACH_NANOS) {
            drawnNanos = now;
            out.print(CLEAR + what + String.format(Locale.ROOT, " %3.0f %%", 100 * Math.clamp(share, 0, 1)));
            out.flush();
        }
    }

    /** May be called again. */
    @Override
    public synchronized void close() {
        if (isTerminal && !isOver) {
            out.print(CLEAR);
            out.flush();
        }
        isOver = true;
    }
}
