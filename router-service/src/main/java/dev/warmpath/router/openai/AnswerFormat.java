package dev.warmpath.router.openai;

import dev.warmpath.protocol.generate.FinishReason;
import dev.warmpath.protocol.generate.GenerateEvent.Usage;
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

    AnswerBody whole(Head head, int choice, String text, FinishReason reason, Usage usage);

    /** What the stream of a choice begins with, or null. */
    @Nullable AnswerBody first(Head head, int choice);

    AnswerBody text(Head head, int choice, String text);

    AnswerBody finish(Head head, int choice, FinishReason reason);

    /** The chunk without choices that ends a stream whose client asked for usage. */
    AnswerBody usage(Head head, Usage usage);
}
