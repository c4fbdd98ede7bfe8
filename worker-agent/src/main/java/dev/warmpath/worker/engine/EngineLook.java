package dev.warmpath.worker.engine;

import java.util.concurrent.CompletableFuture;
import java.util.function.Function;

/**
 * A look at the engine's books, taken on its thread between two steps. One that fails, fails for itself.
 *
 * @param at   reads only, and quickly: everybody's tokens wait for it
 * @param seen what it has seen; cancelled if the engine stops before
 */
record EngineLook<T>(Function<EngineBooks, T> at, CompletableFuture<T> seen) {

    void take(EngineBooks books) {
        try {
            seen.complete(at.apply(books));
        } catch (RuntimeException e) {
            seen.completeExceptionally(e);
        }
    }

    void cancel() {
        seen.cancel(false);
    }
}
