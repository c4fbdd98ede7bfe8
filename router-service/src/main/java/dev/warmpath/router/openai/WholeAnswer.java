package dev.warmpath.router.openai;

import dev.warmpath.protocol.generate.GenerateEvent.Usage;
import dev.warmpath.router.completion.CompletionEvent;
import dev.warmpath.router.completion.CompletionEvent.Finished;
import dev.warmpath.router.completion.CompletionEvent.Parts;
import dev.warmpath.router.completion.CompletionEvent.Prompt;
import dev.warmpath.router.completion.CompletionEvent.Routed;
import dev.warmpath.router.completion.CompletionEvent.Text;
import java.util.ArrayList;
import java.util.List;

/** Gathers the events of one answer that is sent in one piece. */
final class WholeAnswer {

    /** Tokens that are told; each may have twenty others beside it. */
    private static final int LARGE = 1_024;

    private final List<WholePrompt> prompts = new ArrayList<>();
    private final int drawnChoices;
    private final int shownChoices;
    private String revision = "";

    /**
     * @param promptCount  at least 1
     * @param drawnChoices of each
     * @param shownChoices of each the best, at most as many
     */
    WholeAnswer(int promptCount, int drawnChoices, int shownChoices) {
        this.drawnChoices = drawnChoices;
        this.shownChoices = shownChoices;
        for (int i = 0; i < promptCount; i++) {
            prompts.add(new WholePrompt());
        }
    }

    void add(CompletionEvent event) {
        switch (event) {
            case Routed routed -> {
                revision = routed.revision();
                prompt(routed.firstChoice()).begin(routed.promptTokens(), drawnChoices);
            }
            case Prompt more -> prompt(more.firstChoice()).add(more.scores());
            case Text more -> {
                choice(more.choice()).add(more.text());
                choice(more.choice()).add(more.told());
            }
            case Parts more -> {
                more.parts().forEach(choice(more.choice())::add);
                choice(more.choice()).add(more.told());
            }
            case Finished last -> {
                WholeChoice choice = choice(last.choice());
                last.rest().forEach(choice::add);
                choice.add(last.told());
                choice.finish(last.reason());
                if (last.last()) {
                    prompt(last.choice()).finish(last.usage());
                }
            }
        }
    }

    private WholePrompt prompt(int choice) {
        return prompts.get(choice / drawnChoices);
    }

    private WholeChoice choice(int index) {
        return prompt(index).choice(index % drawnChoices);
    }

    /** True if wording it takes more than a moment, so that no event loop should. */
    boolean isLarge() {
        int scores = 0;
        for (WholePrompt prompt : prompts) {
            scores += prompt.scores().size();
            for (WholeChoice choice : prompt.choices()) {
                scores += choice.scores().size();
            }
        }
        return scores > LARGE;
    }

    AnswerBody body(AnswerFormat format, AnswerFormat.HeadOf headOf) {
        var total = new Usage(0, 0, 0);
        for (WholePrompt prompt : prompts) {
            total = StreamUsages.sum(total, prompt.usage());
            prompt.keepBest(shownChoices);
        }
        return format.whole(headOf.revision(revision), prompts, total);
    }
}
