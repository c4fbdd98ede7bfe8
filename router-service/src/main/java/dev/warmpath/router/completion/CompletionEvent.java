package dev.warmpath.router.completion;

import dev.warmpath.protocol.generate.FinishReason;
import dev.warmpath.protocol.generate.GenerateEvent.Usage;
import dev.warmpath.router.answer.dialect.AnswerPart;
import dev.warmpath.router.routing.RouteDecision;
import java.util.List;

/** An answer on its way to the client: where it comes from, its text, its end. */
public sealed interface CompletionEvent {

    /**
     * Once per worker that is tried. Text that came before it is no part of the answer; of a streamed one there is none.
     *
     * @param revision     what answers, for the client to tell answers of different models apart
     * @param promptTokens as many as that one's tokenizer makes of the prompt
     */
    record Routed(String revision, int promptTokens, RouteDecision.Routed decision) implements CompletionEvent {}

    /**
     * More of one choice.
     *
     * @param choice which of the answer's, from 0
     * @param text   whole characters that are certain to be part of it; never empty
     * @param tokens of the choice, so far
     */
    record Text(int choice, String text, int tokens) implements CompletionEvent {}

    /**
     * More of one choice of an answer that is read for more than text.
     *
     * @param choice which of the answer's, from 0
     * @param parts  in order; never empty
     * @param tokens of the choice, so far
     */
    record Parts(int choice, List<AnswerPart> parts, int tokens) implements CompletionEvent {}

    /**
     * The last one: the end of a choice, and of the answer.
     *
     * @param choice       which of the answer's, from 0
     * @param rest         the choice's last parts, often none
     * @param usage        completion tokens are those the worker had drawn by then
     * @param toldByWorker false: the answer ended at a stop string, and the worker did not tell what it had found in its
     *                     cache: {@code usage} has the prediction in its place
     */
    record Finished(int choice, List<AnswerPart> rest, FinishReason reason, Usage usage, boolean toldByWorker)
            implements CompletionEvent {}
}
