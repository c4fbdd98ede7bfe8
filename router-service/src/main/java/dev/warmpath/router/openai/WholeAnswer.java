package dev.warmpath.router.openai;

import dev.warmpath.router.completion.CompletionEvent;
import dev.warmpath.router.completion.CompletionEvent.Finished;
import dev.warmpath.router.completion.CompletionEvent.Routed;
import dev.warmpath.router.completion.CompletionEvent.Text;
import org.jspecify.annotations.Nullable;

/** Gathers the events of one answer that is sent in one piece. */
final class WholeAnswer {

    private final StringBuilder text = new StringBuilder();
    private String revision = "";
    private @Nullable Finished finished;

    void add(CompletionEvent event) {
        switch (event) {
            case Routed routed -> {
                revision = routed.revision();
                text.setLength(0);
            }
            case Text more -> text.append(more.text());
            case Finished last -> {
                text.append(last.rest());
                finished = last;
            }
        }
    }

    AnswerBody body(AnswerFormat format, AnswerFormat.HeadOf headOf) {
        if (finished == null) {
            throw new IllegalStateException("the completion ended without its last event");
        }
        return format.whole(headOf.revision(revision), finished.choice(), text.toString(), finished.reason(),
                finished.usage());
    }
}
