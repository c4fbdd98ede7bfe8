package dev.warmpath.router.openai;

import dev.warmpath.protocol.generate.FinishReason;
import dev.warmpath.protocol.generate.GenerateEvent.Usage;
import dev.warmpath.router.answer.dialect.AnswerPart;
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

    String idPrefix();

    AnswerBody whole(Head head, int choice, WholeMessage message, FinishReason reason, Usage usage);

    /** What the stream of a choice begins with, or null. */
    @Nullable AnswerBody first(Head head, int choice);

    /** @param part nothing but text where answers are not read for more */
    AnswerBody part(Head head, int choice, AnswerPart part);

    /** @param hasCalls the choice called tools */
    AnswerBody finish(Head head, int choice, FinishReason reason, boolean hasCalls);

    /** The chunk without choices that ends a stream whose client asked for usage. */
    AnswerBody usage(Head head, Usage usage);
}
