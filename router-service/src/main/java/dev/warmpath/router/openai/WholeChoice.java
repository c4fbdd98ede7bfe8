package dev.warmpath.router.openai;

import dev.warmpath.protocol.generate.FinishReason;
import dev.warmpath.router.answer.TokenDetails.Told;
import dev.warmpath.router.answer.TokenScore;
import dev.warmpath.router.answer.dialect.AnswerPart;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** One choice of a whole answer: its parts, each kind by itself, and what is told of its tokens. */
final class WholeChoice {

    private final StringBuilder text = new StringBuilder();
    private final StringBuilder reasoning = new StringBuilder();
    private final List<Call> calls = new ArrayList<>();
    private final List<TokenScore> scores = new ArrayList<>();
    private int[] ids = new int[8];
    private int idCount;
    private @Nullable FinishReason reason;

    /** @param arguments JSON, if the model wrote some */
    record Call(String id, String name, StringBuilder arguments) {}

    void add(String more) {
        text.append(more);
    }

    void add(AnswerPart part) {
        switch (part) {
            case AnswerPart.Text more -> text.append(more.text());
            case AnswerPart.Reasoning more -> reasoning.append(more.text());
            case AnswerPart.Call call -> calls.add(new Call(call.id(), call.name(), new StringBuilder()));
            case AnswerPart.Arguments more -> calls.getLast().arguments().append(more.json());
        }
    }

    void add(Told told) {
        if (told != Told.NOTHING) {
            scores.addAll(told.scores());
            int count = idCount + told.ids().length;
            if (count > ids.length) {
                ids = Arrays.copyOf(ids, Math.max(count, 2 * ids.length));
            }
            System.arraycopy(told.ids(), 0, ids, idCount, told.ids().length);
            idCount = count;
        }
    }

    void finish(FinishReason end) {
        reason = end;
    }

    /** Of its tokens; empty if they are not asked for, as the ids. */
    List<TokenScore> scores() {
        return scores;
    }

    int[] ids() {
        return Arrays.copyOf(ids, idCount);
    }

    FinishReason reason() {
        return Objects.requireNonNull(reason, "the choice has not ended");
    }

    /**
     * How likely its tokens were on the mean, by their logarithms: OpenAI's measure of the best of several choices.
     *
     * @param promptTokens if scores begin with an echoed prompt's, how many of them are the prompt's
     */
    double meanLogprob(int promptTokens) {
        boolean isEchoed = !scores.isEmpty() && Double.isNaN(scores.getFirst().logprob());
        return scores.stream().skip(isEchoed ? promptTokens : 0).mapToDouble(TokenScore::logprob).average()
                .orElse(Double.NEGATIVE_INFINITY);
    }

    /** Empty if there is none. */
    String text() {
        return text.toString();
    }

    /** Empty if there is none. */
    String reasoning() {
        return reasoning.toString();
    }

    List<Call> calls() {
        return calls;
    }
}
