package dev.warmpath.cli.terminal;

import java.io.IOException;
import java.io.InputStream;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Keys as they are typed, without Enter and without being shown, until this is closed; Ctrl-C stays what it is. Where
 * there is no terminal, nothing is typed.
 */
public final class Keys implements AutoCloseable {

    private static final long EACH_MILLIS = 50;

    private final InputStream input;
    /** The terminal's own settings; null: it has none of ours. */
    private @Nullable String before;

    private Keys(InputStream input, @Nullable String before) {
        this.input = input;
        this.before = before;
    }

    /** Of this process. */
    public static Keys begin() {
        @Nullable String before = Stty.run("-g");
        return new Keys(System.in, before != null && Stty.run("-icanon", "-echo") != null ? before : null);
    }

    /** Of a stream that is no terminal. */
    static Keys of(InputStream input) {
        return new Keys(input, "");
    }

    /** Waits so long. @return whether this letter, small or not, was typed meanwhile: it waits no longer then */
    public boolean typed(char letter, long millis) throws InterruptedException {
        long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(millis);
        while (true) {
            try {
                while (before != null && input.available() > 0) {
                    if (Character.toLowerCase(input.read()) == letter) {
                        return true;
                    }
                }
            } catch (IOException e) {
                // nobody types any more, then
            }
            long left = TimeUnit.NANOSECONDS.toMillis(end - System.nanoTime());
            if (left <= 0) {
                return false;
            }
            Thread.sleep(Math.min(left, EACH_MILLIS));
        }
    }

    /** May be called again. */
    @Override
    public synchronized void close() {
        if (before != null && !before.isEmpty()) {
            Stty.run(before);
            before = null;
        }
    }
}
