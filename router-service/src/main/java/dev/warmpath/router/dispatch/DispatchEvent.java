package dev.warmpath.router.dispatch;

import dev.warmpath.protocol.generate.FinishReason;
import dev.warmpath.protocol.generate.GenerateEvent.Usage;
import dev.warmpath.router.routing.RouteDecision;

/** What happens to a request on its way: workers chosen, then tokens of the last one chosen, then the end. */
public sealed interface DispatchEvent {

    /** The request goes to this worker now; again after one that failed: its tokens do not count. */
    record Chosen(RouteDecision.Routed decision) implements DispatchEvent {}

    /**
     * @param choice which of the request's, from 0
     * @param ids    one or more in order; a stop token is the last
     */
    record Tokens(int choice, int[] ids) implements DispatchEvent {}

    /** The worker is done. */
    record Finished(FinishReason reason, Usage usage) implements DispatchEvent {}
}
