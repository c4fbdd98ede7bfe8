package dev.warmpath.router.dispatch;

import dev.warmpath.protocol.generate.FinishReason;
import dev.warmpath.protocol.generate.GenerateEvent.Usage;
import dev.warmpath.router.routing.RouteDecision;

/** What happens to a request on its way: workers chosen, then tokens of the last one chosen, then the end. */
public sealed interface DispatchEvent {

    /** The request goes to this worker now; again after one that failed: its tokens do not count. */
    record Chosen(RouteDecision.Routed decision) implements DispatchEvent {}

    /** One or more ids in order; a stop token is the last. */
    record Tokens(int[] ids) implements DispatchEvent {}

    /** The worker is done. */
    record Finished(FinishReason reason, Usage usage) implements DispatchEvent {}
}
