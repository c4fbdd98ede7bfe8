package dev.warmpath.router.openai;

import dev.warmpath.protocol.generate.FinishReason;
import dev.warmpath.protocol.generate.GenerateEvent.Usage;
import dev.warmpath.router.answer.TokenDetails.Told;
import dev.warmpath.router.answer.dialect.AnswerPart;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * How one endpoint words its answers: the whole one, and the chunks of a stream. Values in, JSON records out. A
 * {@code choice} is the index of one, from 0.
 */
interface AnswerFormat {

    /** Everything that each chunk of one answer repeats. */
    record Head(String id, long created, String model, String systemFingerprint) {}

    /** Completes an answer's head when the revision that answers is known. */
    interface HeadOf {
        Head revision(String revision);
    }

    /**
     * What is told of tokens beside their text.
     *
     * @param logprobs       those of drawn tokens, and of an echoed prompt's, each beside so many of the likeliest;
     *                       {@link #NONE}: not even these
     * @param tokenIds       of prompt and answer
     * @param promptLogprobs likewise those of the prompt by themselves; of whole answers only
     */
    record Shown(int logprobs, boolean tokenIds, int promptLogprobs) {

        static final int NONE = -1;
        static final Shown NOTHING = new Shown(NONE, false, NONE);
    }

    String idPrefix();

    /** @param prompts one at least, all of their choices finished */
    AnswerBody whole(Head head, List<WholePrompt> prompts, Usage usage);

    /**
     * What the stream of a choice begins with, or null.
     *
     * @param promptTokens not to be written to
     */
    @Nullable AnswerBody first(Head head, int choice, int[] promptTokens);

    /**
     * @param part nothing but text where answers are not read for more
     * @param told of its tokens
     */
    AnswerBody part(Head head, int choice, AnswerPart part, Told told);

    /**
     * @param hasCalls the choice called tools
     * @param told     of its last tokens
     */
    AnswerBody finish(Head head, int choice, FinishReason reason, boolean hasCalls, Told told);

    /** The chunk without choices that ends a stream whose client asked for usage. */
    AnswerBody usage(Head head, Usage usage);
}
