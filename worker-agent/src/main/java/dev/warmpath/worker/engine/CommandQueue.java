package dev.warmpath.worker.engine;

import dev.warmpath.protocol.generate.FailureReason;
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

    /** @param capacity most generations that are neither finished nor failed nor cancelled */
    CommandQueue(int capacity) {
        this.capacity = capacity;
    }

    /** @throws RefusedException if {@code capacity} generations are alive */
    void submit(Generation generation) {
        if (alive.incrementAndGet() > capacity) {
            alive.decrementAndGet();
            throw new RefusedException(FailureReason.QUEUE_FULL,
                    capacity + " requests are running or waiting here, no more are taken");
        }
        commands.add(new Command.Submit(generation));
    }

    void add(Command command) {
        commands.add(command);
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
