package dev.warmpath.cli.build;

import dev.warmpath.cli.fleet.Pause;
import dev.warmpath.cli.terminal.Screen;
import java.io.PrintStream;
import java.util.function.Supplier;

/**
 * What a command that takes long is doing: on a terminal one line that moves and is gone when it is done; elsewhere, as
 * in a log of CI, a line for each thing that begins.
 */
public final class Progress implements AutoCloseable {

    private static final String[] FRAMES = {"|", "/", "-", "\\"};
    private static final String CLEAR = "\r\033[K";
    private static final int FRAME_MILLIS = 150;
    private static final int MOST_COLUMNS = 79;
    private static final Supplier<String> NOTHING = () -> "";

    private final PrintStream out;
    private final boolean isTerminal;
    private final int columns;
    private Supplier<String> doing = NOTHING;
    private long beganNanos;
    private int frame;
    private boolean isDrawn;
    private boolean isClosed;

    /**
     * @param isTerminal whether somebody sees the line move
     * @param width      of the terminal; a line that fills it would begin a second one
     */
    public Progress(PrintStream out, boolean isTerminal, int width) {
        this.out = out;
        this.isTerminal = isTerminal;
        this.columns = Math.max(1, Math.min(width - 1, MOST_COLUMNS));
        if (isTerminal) {
            Thread.ofVirtual().start(this::move);
        }
    }

    /** On this program's standard output. */
    public static Progress here() {
        Screen screen = Screen.standard();
        return new Progress(System.out, screen.isTerminal(), screen.width());
    }

    /** On its standard error, where what it writes to standard output is for other programs. */
    public static Progress aside() {
        return new Progress(System.err, false, MOST_COLUMNS);
    }

    public boolean isTerminal() {
        return isTerminal;
    }

    /** A line that stays. */
    public synchronized void say(String line) {
        clear();
        out.println(line);
        draw();
    }

    /**
     * Begins something that takes long.
     *
     * @param what  in a few words
     * @param where how far it is, asked again and again; it may be empty
     */
    public synchronized void begin(String what, Supplier<String> where) {
        end();
        if (isTerminal) {
            doing = () -> {
                String now = where.get();                          // a look at a log, so once for each frame
                return now.isEmpty() ? what : what + ": " + now;
            };
            beganNanos = System.nanoTime();
            draw();
        } else {
            out.println(what + " ...");
        }
    }

    /** What was begun is done, or given up. */
    public synchronized void end() {
        clear();
        doing = NOTHING;
    }

    @Override
    public synchronized void close() {
        end();
        isClosed = true;
    }

    private void move() {
        while (drawNext()) {
            Pause.millis(FRAME_MILLIS);
        }
    }

    private synchronized boolean drawNext() {
        if (isClosed) {
            return false;
        }
        frame = (frame + 1) % FRAMES.length;
        draw();
        return true;
    }

    private void draw() {
        if (doing != NOTHING) {
            String line = FRAMES[frame] + " " + (System.nanoTime() - beganNanos) / 1_000_000_000L + " s  "
                    + doing.get();
            out.print(CLEAR + line.substring(0, Math.min(line.length(), columns)));
            out.flush();
            isDrawn = true;
        }
    }

    private void clear() {
        if (isDrawn) {
            out.print(CLEAR);
            out.flush();
            isDrawn = false;
        }
    }
}
