package dev.warmpath.cli.fleet;

/** Waiting a moment before one looks again. Nobody interrupts a command. */
public final class Pause {

    private Pause() {}

    /** @throws IllegalStateException if this thread is interrupted all the same */
    public static void millis(long millis) {
        try {
            Thread.sleep(millis);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted while waiting", e);
        }
    }
}
