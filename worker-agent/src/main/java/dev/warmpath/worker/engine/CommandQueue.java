package dev.warmpath.worker.engine;

import dev.warmpath.protocol.generate.FailureReason;
import java.util.ArrayDeque;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * What other threads want of the engine, in one line: a cancellation can never overtake its submission.
 *
 * <p>Bounded by the generations that are alive: each enters once to begin and at most once to be ended, one more
 * than {@code capacity} is refused, and there are at most one reset and {@link #MOST_LOOKS} looks. Here alone it is
 * decided that the worker is full.
 */
final class CommandQueue {

    sealed interface Command {
        record Submit(Generation generation) implements Command {}

        /** Its listener hears nothing more. */
        record Cancel(Generation generation) implements Command {}

        /** Its listener hears that it finished. */
        record Stop(Generation generation) implements Command {}

        /** @param done true if all was forgotten, false if some sequence holds blocks, which stay */
        record ResetPrefixCache(CompletableFuture<Boolean> done) implements Command {}

        /** Somebody reads the engine's books, and changes nothing. */
        record Look(EngineLook<?> look) implements Command {}
    }

    static final int MOST_LOOKS = 64;

    private final ArrayDeque<Command> commands = new ArrayDeque<>();
    private final int capacity;
    private int alive;
    /** The one in the queue. */
    private @Nullable CompletableFuture<Boolean> reset;
    /** In the queue. */
    private int looks;
    private boolean closed;

    /** @param capacity most generations that are neither finished nor failed nor cancelled */
    CommandQueue(int capacity) {
        this.capacity = capacity;
    }

    /**
     * @param count of generations that are to be submitted together
     * @throws RefusedException if there would be no room for so many even if nobody else were here
     */
    void requireFitting(int count) {
        if (count > capacity) {
            throw new RefusedException(FailureReason.INVALID_REQUEST,
                    count + " choices are asked for, this worker takes " + capacity + " at a time");
        }
    }

    /**
     * Takes all of them, in order, or none.
     *
     * @throws RefusedException if more than {@code capacity} generations would be alive, or the queue is closed
     */
    synchronized void submit(List<Generation> generations) {
        if (closed) {
            throw new RefusedException(FailureReason.SHUTTING_DOWN, "this worker is going away");
        }
        if (alive + generations.size() > capacity) {
            throw new RefusedException(FailureReason.QUEUE_FULL, generations.size() == 1
                    ? capacity + " requests are running or waiting here, no more are taken"
                    : alive + " requests are running or waiting here, of " + capacity + " that may: there is no room for "
                            + generations.size() + " more");
        }
        alive += generations.size();
        for (Generation generation : generations) {
            commands.add(new Command.Submit(generation));
        }
    }

    /** Does nothing for a generation that is over or was asked for before. */
    void cancel(Generation generation) {
        if (generation.close()) {
            add(new Command.Cancel(generation));
        }
    }

    /** Does nothing for a generation that is over or was asked for before. */
    void stop(Generation generation) {
        if (generation.close()) {
            add(new Command.Stop(generation));
        }
    }

    /** @return completed by whoever drains; the same one for all who ask until then; cancelled if the queue is closed */
    synchronized CompletableFuture<Boolean> resetPrefixCache() {
        if (reset != null) {
            return reset;
        }
        var done = new CompletableFuture<Boolean>();
        if (add(new Command.ResetPrefixCache(done))) {
            reset = done;
        } else {
            done.cancel(false);
        }
        return done;
    }

    /** Cancels the look if the queue is closed. @throws RefusedException if too many wait */
    synchronized void look(EngineLook<?> look) {
        if (looks == MOST_LOOKS) {
            throw new RefusedException(FailureReason.QUEUE_FULL,
                    MOST_LOOKS + " others wait for a look at the engine, between two steps: look again later");
        }
        if (add(new Command.Look(look))) {
            looks++;
        } else {
            look.cancel();
        }
    }

    /** @return false if the queue is closed: nobody would read the command */
    private synchronized boolean add(Command command) {
        return !closed && commands.add(command);
    }

    /** Takes nothing more; what is in it can still be drained. */
    synchronized void close() {
        closed = true;
    }

    /** A generation is over. */
    synchronized void release(Generation generation) {
        generation.close();
        alive--;
    }

    synchronized boolean isEmpty() {
        return commands.isEmpty();
    }

    synchronized int size() {
        return commands.size();
    }

    /** Hands over at most {@code limit} commands, in order. */
    void drain(Consumer<Command> consumer, int limit) {
        for (int i = 0; i < limit; i++) {
            Command command = poll();
            if (command == null) {
                return;
            }
            consumer.accept(command);
        }
    }

    private synchronized @Nullable Command poll() {
        Command command = commands.poll();
        if (command instanceof Command.ResetPrefixCache) {
            reset = null;
        } else if (command instanceof Command.Look) {
            looks--;
        }
        return command;
    }
}
