package dev.warmpath.router.openai;

import dev.warmpath.protocol.generate.GenerateEvent.Usage;
import dev.warmpath.router.answer.TokenScore;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** One prompt of a whole answer: what is told of it, and its choices. */
final class WholePrompt {

    private final List<WholeChoice> choices = new ArrayList<>();
    private final List<TokenScore> scores = new ArrayList<>();
    private int[] ids = new int[0];
    private @Nullable Usage usage;

    /** A worker is asked; what another one has told before does not count. */
    void begin(int[] tokens, int choiceCount) {
        ids = tokens;
        scores.clear();
        choices.clear();
        for (int i = 0; i < choiceCount; i++) {
            choices.add(new WholeChoice());
        }
    }

    void add(List<TokenScore> more) {
        scores.addAll(more);
    }

    void finish(Usage all) {
        usage = all;
    }

    WholeChoice choice(int index) {
        return choices.get(index);
    }

    List<WholeChoice> choices() {
        return choices;
    }

    /** Of its choices only those in which the model had most confidence, likeliest first. */
    void keepBest(int count) {
        if (count < choices.size()) {
            choices.sort(Comparator.comparingDouble((WholeChoice each) -> each.meanLogprob(ids.length)).reversed());
            choices.subList(count, choices.size()).clear();
        }
    }

    /** Not to be written to. */
    int[] ids() {
        return ids;
    }

    /** Of each token, the first among them; empty if none is asked for, and of a prompt of a single token. */
    List<TokenScore> scores() {
        return scores;
    }

    Usage usage() {
        return Objects.requireNonNull(usage, "the completion ended without its last event");
    }
}
