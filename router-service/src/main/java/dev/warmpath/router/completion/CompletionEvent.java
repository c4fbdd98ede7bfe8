package dev.warmpath.router.completion;

import dev.warmpath.protocol.generate.FinishReason;
import dev.warmpath.protocol.generate.GenerateEvent.Usage;
import dev.warmpath.router.routing.RouteDecision;

/** An answer on its way to the client: where it comes from, its text, its end. */
public sealed interface CompletionEvent {

    /**
     * Once per worker that is tried. Text that came before it is no part of the answer; of a streamed one there is none.
     *
     * @param revision what answers, for the client to tell answers of different models apart
     */
    record Routed(String revision, RouteDecision.Routed decision) implements CompletionEvent {}

    /** @param text whole characters that are certain to be part of the answer; never empty */
    record Text(String text) implements CompletionEvent {}

    /**
     * The last one.
     *
     * @param rest         the answer's last text, often empty
     * @param usage        completion tokens are those the worker had drawn by then
     * @param toldByWorker false: the answer ended at a stop string, and the worker did not tell what it had found in its
     *                     cache: {@code usage} has the prediction in its place
     */
    record Finished(String rest, FinishReason reason, Usage usage, boolean toldByWorker) implements CompletionEvent {}
}
