package dev.warmpath.router.completion;

import dev.warmpath.protocol.generate.FinishReason;
import dev.warmpath.protocol.generate.GenerateEvent.Usage;
import dev.warmpath.router.answer.TokenDetails.Told;
import dev.warmpath.router.answer.TokenScore;
import dev.warmpath.router.answer.dialect.AnswerPart;
import dev.warmpath.router.routing.RouteDecision;
import java.util.List;

/** An answer on its way to the client: where it comes from, its text, its end. */
public sealed interface CompletionEvent {

    /** The same of an answer whose choices follow so many others. */
    default CompletionEvent behind(int choices) {
        return switch (this) {
            case Routed it -> new Routed(it.firstChoice + choices, it.revision, it.promptTokens, it.decision);
            case Prompt it -> new Prompt(it.firstChoice + choices, it.scores);
            case Text it -> new Text(it.choice + choices, it.text, it.tokens, it.told);
            case Parts it -> new Parts(it.choice + choices, it.parts, it.tokens, it.told);
            case Finished it -> new Finished(it.choice + choices, it.rest, it.told, it.reason, it.usage,
                    it.toldByWorker, it.last);
        };
    }

    /**
     * Once per worker that is tried. Text that came before it is no part of the answer; of a streamed one there is none.
     *
     * @param firstChoice  of those that it is to give
     * @param revision     what answers, for the client to tell answers of different models apart
     * @param promptTokens those that that one's tokenizer makes of the prompt; not to be written to
     */
    record Routed(int firstChoice, String revision, int[] promptTokens, RouteDecision.Routed decision)
            implements CompletionEvent {}

    /**
     * More of what the prompt's tokens were to the model, all of it before any choice; only where it is asked for by
     * itself.
     *
     * @param firstChoice of those that continue this prompt
     */
    record Prompt(int firstChoice, List<TokenScore> scores) implements CompletionEvent {}

    /**
     * More of one choice.
     *
     * @param choice which of the answer's, from 0
     * @param text   whole characters that are certain to be part of it; never empty
     * @param tokens of the choice, so far
     * @param told   of its tokens
     */
    record Text(int choice, String text, int tokens, Told told) implements CompletionEvent {}

    /**
     * More of one choice of an answer that is read for more than text.
     *
     * @param choice which of the answer's, from 0
     * @param parts  in order; never empty
     * @param tokens of the choice, so far
     * @param told   of its tokens
     */
    record Parts(int choice, List<AnswerPart> parts, int tokens, Told told) implements CompletionEvent {}

    /**
     * The end of a choice; of the answer, when all have ended.
     *
     * @param choice       which of the answer's, from 0
     * @param rest         the choice's last parts, often none
     * @param told         of its last tokens
     * @param usage        completion tokens are those the worker had drawn by then, of all choices of its prompt that have
     *                     ended
     * @param toldByWorker false: the choice ended at a stop string, and the worker did not tell what it had found in its
     *                     cache: {@code usage} has the prediction in its place
     * @param last         it is the last of its prompt's
     */
    record Finished(int choice, List<AnswerPart> rest, Told told, FinishReason reason, Usage usage,
            boolean toldByWorker, boolean last) implements CompletionEvent {

        Finished withTotal(int completionTokens, boolean isLast) {
            return new Finished(choice, rest, told, reason,
                    new Usage(usage.promptTokens(), usage.cachedTokens(), completionTokens), toldByWorker, isLast);
        }
    }
}
