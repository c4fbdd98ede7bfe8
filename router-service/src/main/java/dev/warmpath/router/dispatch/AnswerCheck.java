package dev.warmpath.router.dispatch;

import dev.warmpath.protocol.generate.FailureReason;
import dev.warmpath.protocol.generate.FinishReason;
import dev.warmpath.protocol.generate.GenerateEvent;
import dev.warmpath.protocol.generate.GenerateEvent.Scores;
import dev.warmpath.protocol.generate.GenerateEvent.Usage;
import dev.warmpath.protocol.generate.GenerateRequest;
import java.util.BitSet;
import org.jspecify.annotations.Nullable;

/**
 * Holds what a worker sends against what it was asked for: a worker that is broken, or none at all, must not be able to
 * make the router fail or a client pay. One answer, one thread.
 */
final class AnswerCheck {

    /** Float32 may add probabilities up to a little more than 1. */
    private static final float MOST_LOGPROB = 1e-3f;

    private final GenerateRequest request;
    private final int vocabularySize;
    private final int alternatives;
    /** Of each choice. */
    private final int[] tokens;
    private final BitSet finished = new BitSet();
    private int promptScores;
    private boolean over;

    /** @param vocabularySize ids are below it */
    AnswerCheck(GenerateRequest request, int vocabularySize) {
        this.request = request;
        this.vocabularySize = vocabularySize;
        this.alternatives = Math.min(request.alternatives(), vocabularySize);
        this.tokens = new int[request.choices()];
    }

    /** @return what is wrong with the next event, or null; never the worker's own words */
    @Nullable String faultOf(GenerateEvent event) {
        if (over) {
            return "it sent something after the end of its answer";
        }
        return switch (event) {
            case GenerateEvent.Prompt(Scores scores, int[] ranks) -> faultOfPrompt(scores, ranks);
            case GenerateEvent.Tokens(int index, int[] ids, @Nullable Scores scores) -> faultOf(index, ids, scores);
            case GenerateEvent.Finished(int index, FinishReason reason, Usage usage) -> {
                String fault = faultOf(index, reason, usage);
                finished.set(fault == null ? index : 0);
                over = fault != null || finished.cardinality() == request.choices();
                yield fault;
            }
            case GenerateEvent.Failed(FailureReason reason, String message) -> {
                over = true;
                yield faultOf(reason, message);
            }
        };
    }

    /** True from the worker's last word on. */
    boolean isOver() {
        return over;
    }

    /** Likewise of one choice. */
    boolean isOver(int choice) {
        return over || finished.get(choice);
    }

    /** True if of all choices only these have not ended yet, and some have not. */
    boolean waitsOnlyFor(BitSet choices) {
        for (int choice = 0; choice < request.choices(); choice++) {
            if (!finished.get(choice) && !choices.get(choice)) {
                return false;
            }
        }
        return !over;
    }

    private @Nullable String faultOfPrompt(@Nullable Scores scores, int @Nullable [] ranks) {
        int left = request.promptLogprobs() ? request.promptTokens().length - 1 - promptScores : 0;
        if (scores == null || scores.logprobs() == null || scores.logprobs().length == 0
                || scores.logprobs().length > left || anyTokens()) {
            return "it told of " + (scores == null || scores.logprobs() == null ? 0 : scores.logprobs().length)
                    + " tokens of the prompt, and " + left + " were to be told, before any other";
        }
        promptScores += scores.logprobs().length;
        if (ranks == null || ranks.length != scores.logprobs().length) {
            return "it told " + (ranks == null ? 0 : ranks.length) + " ranks of " + scores.logprobs().length + " tokens";
        }
        return faultOf(scores, scores.logprobs().length);
    }

    private boolean anyTokens() {
        for (int count : tokens) {
            if (count > 0) {
                return true;
            }
        }
        return false;
    }

    private @Nullable String faultOf(int index, int @Nullable [] ids, @Nullable Scores scores) {
        if (index < 0 || index >= tokens.length || finished.get(index) || ids == null || ids.length == 0) {
            return "it sent tokens of choice " + index + ", " + (ids == null ? 0 : ids.length) + " of them; "
                    + tokens.length + " choices were asked for, and at least one token a time until a choice ends";
        }
        if (ids.length > request.stop().maxTokens() - tokens[index]) {
            return "it sent " + ((long) tokens[index] + ids.length) + " tokens, at most " + request.stop().maxTokens()
                    + " were asked for";
        }
        tokens[index] += ids.length;
        for (int id : ids) {
            if (isOutside(id)) {
                return "it sent token " + id + ", the model has 0 to " + (vocabularySize - 1);
            }
        }
        if (request.logprobs() != (scores != null)) {
            return "it sent tokens " + (scores == null ? "without" : "with") + " log-probabilities";
        }
        return scores == null ? null : faultOf(scores, ids.length);
    }

    private boolean isOutside(int id) {
        return id < 0 || id >= vocabularySize;
    }

    private @Nullable String faultOf(Scores scores, int count) {
        int most = count * alternatives;
        if (isNot(scores.logprobs(), count) || isNot(scores.topLogprobs(), most) || scores.topIds() == null
                || scores.topIds().length != most) {
            return "it did not send one log-probability, 0 at most, of each of " + count + " tokens and of each of "
                    + alternatives + " alternatives";
        }
        for (int id : scores.topIds()) {
            if (isOutside(id)) {
                return "it sent alternative " + id + ", the model has 0 to " + (vocabularySize - 1);
            }
        }
        return null;
    }

    private static boolean isNot(float @Nullable [] logprobs, int count) {
        if (logprobs == null || logprobs.length != count) {
            return true;
        }
        for (float logprob : logprobs) {
            if (!(logprob >= GenerateEvent.LEAST_LOGPROB && logprob <= MOST_LOGPROB)) {
                return true;
            }
        }
        return false;
    }

    /** Absent fields are null here, whatever their declaration says. */
    private static @Nullable String faultOf(@Nullable FailureReason reason, @Nullable String message) {
        return reason == null || message == null
                ? "it failed without " + (reason == null ? "a reason" : "a message") : null;
    }

    private @Nullable String faultOf(int index, @Nullable FinishReason reason, @Nullable Usage usage) {
        if (index < 0 || index >= tokens.length || finished.get(index)) {
            return "it finished choice " + index + ", " + tokens.length + " were asked for, each to finish once";
        }
        if (reason == null || usage == null) {
            return "it finished without " + (reason == null ? "a reason" : "usage");
        }
        int promptTokens = request.promptTokens().length;
        if (request.promptLogprobs() && promptScores != promptTokens - 1) {
            return "it finished, and told of " + promptScores + " tokens of the prompt, " + (promptTokens - 1)
                    + " were asked for";
        }
        boolean plausible = usage.promptTokens() == promptTokens && usage.completionTokens() == tokens[index]
                && usage.cachedTokens() >= 0 && usage.cachedTokens() <= promptTokens;
        return plausible ? null : "it counted " + usage.promptTokens() + " prompt tokens, " + usage.cachedTokens()
                + " of them cached, and " + usage.completionTokens() + " of the answer; it was sent " + promptTokens
                + " and gave " + tokens[index];
    }
}
