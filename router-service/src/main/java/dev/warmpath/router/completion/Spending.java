package dev.warmpath.router.completion;

import dev.warmpath.router.keys.Caller;
import org.jspecify.annotations.Nullable;

/**
 * What one request takes of its caller's tokens: the prompt before it is sent anywhere, what was drawn when all is
 * over, whole answer or not. A prompt that no worker got is given back. An answer that begins anew elsewhere counts as
 * its client gets it, once.
 */
final class Spending {

    private final Caller caller;
    /** Of these two, under this one's lock: what is taken when all is over would never be given back. */
    private boolean settled;
    private int promptTokens;
    private volatile boolean sentBefore;
    private volatile @Nullable AnswerEvents answer;

    Spending(Caller caller) {
        this.caller = caller;
    }

    /**
     * Further revisions that are tried get it for nothing.
     *
     * @throws dev.warmpath.router.keys.KeyException if the caller has not so many left
     */
    synchronized void takePrompt(int tokens) {
        if (promptTokens == 0 && !settled) {
            caller.takePrompt(tokens);
            promptTokens = tokens;
        }
    }

    /** These are drawn now, in place of those before. */
    void answeredBy(AnswerEvents next) {
        @Nullable AnswerEvents before = answer;
        sentBefore |= before != null && before.wasSent();
        answer = next;
    }

    /** All is over. From any thread, and more than once. */
    synchronized void settle() {
        if (settled) {
            return;
        }
        settled = true;
        if (promptTokens == 0) {
            return;
        }
        @Nullable AnswerEvents last = answer;
        if (sentBefore || last != null && last.wasSent()) {
            caller.used(promptTokens, last == null ? 0 : last.drawnTokens());
        } else {
            caller.giveBackPrompt(promptTokens);
        }
    }
}
