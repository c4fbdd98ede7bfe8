/**
 * Carries a request to a worker and its tokens back. {@code WorkerClient} has the connections, {@code WorkerExchange} is
 * one request on one of them, {@code AnswerCheck} holds the answer against the request; {@code Attempts}, which the
 * {@code Dispatcher} begins, go to the next worker as long as nothing was shown, and report broken connections. A
 * worker is asked on its client's event loop ({@code HomeLoop}).
 * <p>Uses {@code protocol.generate}, {@code routing}'s answer about where to go, {@code fleet}, {@code health},
 * which it tells how workers answer, and {@code metrics}. Used by {@code completion}, and by {@code http}
 * to say which loop that is.
 */
@NullMarked
package dev.warmpath.router.dispatch;

import org.jspecify.annotations.NullMarked;
