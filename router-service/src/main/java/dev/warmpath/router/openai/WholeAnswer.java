package dev.warmpath.router.openai;

import dev.warmpath.router.completion.CompletionEvent;
import dev.warmpath.router.completion.CompletionEvent.Finished;
import dev.warmpath.router.completion.CompletionEvent.Parts;
import dev.warmpath.router.completion.CompletionEvent.Routed;
import dev.warmpath.router.completion.CompletionEvent.Text;
import org.jspecify.annotations.Nullable;

/** Gathers the events of one answer that is sent in one piece. */
final class WholeAnswer {

    private WholeMessage message = new WholeMessage();
    private String revision = "";
    private @Nullable Finished finished;

    void add(CompletionEvent event) {
        switch (event) {
            case Routed routed -> {
                revision = routed.revision();
                message = new WholeMessage();
            }
            case Text more -> message.add(more.text());
            case Parts more -> more.parts().forEach(message::add);
            case Finished last -> {
                last.rest().forEach(message::add);
                finished = last;
            }
        }
    }

    AnswerBody body(AnswerFormat format, AnswerFormat.HeadOf headOf) {
        if (finished == null) {
            throw new IllegalStateException("the completion ended without its last event");
        }
        return format.whole(headOf.revision(revision), finished.choice(), message, finished.reason(), finished.usage());
    }
}
