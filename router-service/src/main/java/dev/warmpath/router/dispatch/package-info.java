/**
 * Carries a request to a worker and its tokens back. {@code WorkerClient} has the connections, {@code WorkerExchange} is
 * one request on one of them, {@code AnswerCheck} holds the answer against the request; {@code Dispatcher} goes to the next
 * worker as long as nothing was shown, and reports broken connections.
 * <p>Uses {@code protocol.generate}, {@code routing}'s answer about where to go, {@code fleet}, {@code health},
 * which it tells how workers answer, and {@code metrics}. Used by {@code completion}.
 */
@NullMarked
package dev.warmpath.router.dispatch;

import org.jspecify.annotations.NullMarked;
