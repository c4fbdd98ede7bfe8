package dev.warmpath.planner.command;

import dev.warmpath.planner.output.Progress;
import java.util.function.Consumer;
import java.util.function.Function;

/**
 * Tells a result once: all of it when it is done, or what there is when the program is interrupted before; nothing if
 * it is closed without that, since then something has failed, and that is told.
 */
final class Telling<V> implements AutoCloseable {

    private final Function<Boolean, V> result;
    private final Consumer<V> show;
    private final Progress progress;
    private boolean isOver;

    /**
     * @param result what there is, given whether it was interrupted; it may be asked for while others still compute
     * @param show   prints it
     */
    Telling(Progress progress, Function<Boolean, V> result, Consumer<V> show) {
        this.progress = progress;
        this.result = result;
        this.show = show;
        Runtime.getRuntime().addShutdownHook(new Thread(() -> tell(/* interrupted */ true)));
    }

    /** All is there. */
    void done() {
        tell(/* interrupted */ false);
    }

    private synchronized void tell(boolean interrupted) {          // who comes second finds all of it printed
        if (!isOver) {
            isOver = true;
            progress.close();
            show.accept(result.apply(interrupted));
        }
    }

    @Override
    public synchronized void close() {
        isOver = true;
    }
}
