package dev.warmpath.worker.engine;

import dev.warmpath.protocol.generate.FailureReason;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;

/**
 * What other threads want of the engine, in one line: a cancellation can never overtake its submission.
 *
 * <p>Bounded by the generations that are alive: each enters once to begin and at most once to be cancelled, and an
 * unfinished one more than {@code capacity} is refused.
 */
final class CommandQueue {

    sealed interface Command {

        record Submit(Generation generation) implements Command {}

        record Cancel(Generation generation) implements Command {}

        /** @param done true if it was reset, false if some sequence holds blocks */
        record ResetPrefixCache(CompletableFuture<Boolean> done) implements Command {}
    }

    private final Queue<Command> commands = new ConcurrentLinkedQueue<>();
    private final AtomicInteger alive = new AtomicInteger();
    private final int capacity;
    private boolean closed;

    /** @param capacity most generations that are neither finished nor failed nor cancelled */
    CommandQueue(int capacity) {
        this.capacity = capacity;
    }

    /**
     * Takes all of them, in order, or none.
     *
     * @throws RefusedException if more than {@code capacity} generations would be alive, or the queue is closed
     */
    void submit(List<Generation> generations) {
        if (alive.addAndGet(generations.size()) > capacity) {
            alive.addAndGet(-generations.size());
            throw new RefusedException(FailureReason.QUEUE_FULL,
                    capacity + " requests are running or waiting here, no more are taken");
        }
        if (!addAll(generations)) {
            throw new RefusedException(FailureReason.SHUTTING_DOWN, "this worker is going away");
        }
    }

    private synchronized boolean addAll(List<Generation> generations) {
        for (Generation generation : generations) {
            if (!add(new Command.Submit(generation))) {
                return false;
            }
        }
        return true;
    }

    /** @return false if the queue is closed: nobody would read the command */
    synchronized boolean add(Command command) {
        return !closed && commands.add(command);
    }

    /** Takes nothing more; what is in it can still be drained. */
    synchronized void close() {
        closed = true;
    }

    /** One generation is over. */
    void release() {
        alive.decrementAndGet();
    }

    boolean isEmpty() {
        return commands.isEmpty();
    }

    /** Hands over at most {@code limit} commands, in order. */
    void drain(Consumer<Command> consumer, int limit) {
        for (int i = 0; i < limit; i++) {
            Command command = commands.poll();
            if (command == null) {
                return;
            }
            consumer.accept(command);
        }
    }
}
