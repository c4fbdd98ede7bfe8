package dev.warmpath.router.dispatch;

import dev.warmpath.protocol.generate.FinishReason;
import dev.warmpath.protocol.generate.GenerateEvent;
import dev.warmpath.protocol.generate.GenerateEvent.Scores;
import dev.warmpath.protocol.generate.GenerateEvent.Usage;
import dev.warmpath.router.routing.RouteDecision;
import org.jspecify.annotations.Nullable;

/** What happens to a request on its way: workers chosen, then tokens of the last one chosen, then the end. */
public sealed interface DispatchEvent {

    /** The request goes to this worker now; again after one that failed: its tokens do not count. */
    record Chosen(RouteDecision.Routed decision) implements DispatchEvent {}

    /** More of how likely the prompt's tokens were, as of {@link GenerateEvent.Prompt}. */
    record Prompt(Scores scores, int[] ranks) implements DispatchEvent {}

    /**
     * @param choice which of the request's, from 0
     * @param ids    one or more in order; a stop token is the last
     * @param scores of these, where the request asks for them
     */
    record Tokens(int choice, int[] ids, @Nullable Scores scores) implements DispatchEvent {}

    /** The worker is done with one of the choices; after the last of them, with all. */
    record Finished(int choice, FinishReason reason, Usage usage) implements DispatchEvent {}
}
