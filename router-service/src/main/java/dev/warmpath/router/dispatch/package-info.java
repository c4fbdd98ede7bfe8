/**
 * Carries a request to a worker and its tokens back. {@code WorkerClient} speaks the generate protocol to one worker;
 * {@code Dispatcher} goes to the next one as long as nothing was answered, and reports broken connections.
 * <p>Uses {@code protocol.generate}, {@code routing}'s answer about where to go, {@code fleet} and {@code metrics}.
 * Used by {@code completion}.
 */
@NullMarked
package dev.warmpath.router.dispatch;

import org.jspecify.annotations.NullMarked;
