package dev.warmpath.router.openai;

import dev.warmpath.protocol.generate.FinishReason;
import dev.warmpath.protocol.generate.GenerateEvent.Usage;
import org.jspecify.annotations.Nullable;

/** How one endpoint words its answers: the whole one, and the chunks of a stream. Values in, JSON records out. */
interface AnswerFormat {

    /** Everything that each chunk of one answer repeats. */
    record Head(String id, long created, String model, String systemFingerprint) {}

    /** Completes an answer's head when the revision that answers is known. */
    interface HeadOf {
        Head revision(String revision);
    }

    String idPrefix();

    AnswerBody whole(Head head, String text, FinishReason reason, Usage usage);

    /** What a stream begins with, or null. */
    @Nullable AnswerBody first(Head head);

    AnswerBody text(Head head, String text);

    AnswerBody finish(Head head, FinishReason reason);

    /** The chunk without choices that ends a stream whose client asked for usage. */
    AnswerBody usage(Head head, Usage usage);
}
