package dev.warmpath.router.dispatch;

import dev.warmpath.protocol.generate.FailureReason;
import dev.warmpath.protocol.generate.FinishReason;
import dev.warmpath.protocol.generate.GenerateEvent;
import dev.warmpath.protocol.generate.GenerateEvent.Usage;
import dev.warmpath.protocol.generate.GenerateRequest;
import org.jspecify.annotations.Nullable;

/**
 * Holds what a worker sends against what it was asked for: a worker that is broken, or none at all, must not be able to
 * make the router fail or a client pay. One answer, one thread.
 */
final class AnswerCheck {

    private final int vocabularySize;
    private final int promptTokens;
    private final int maxTokens;
    private int tokens;
    private boolean over;

    /** @param vocabularySize ids are below it */
    AnswerCheck(GenerateRequest request, int vocabularySize) {
        this.vocabularySize = vocabularySize;
        this.promptTokens = request.promptTokens().length;
        this.maxTokens = request.stop().maxTokens();
    }

    /** @return what is wrong with the next event, or null; never the worker's own words */
    @Nullable String faultOf(GenerateEvent event) {
        if (over) {
            return "it sent something after the end of its answer";
        }
        return switch (event) {
            case GenerateEvent.Tokens(int index, int[] ids, var _) -> faultOf(index, ids);
            case GenerateEvent.Prompt _ -> "it told of a prompt that it was not asked about";
            case GenerateEvent.Finished(int _, FinishReason reason, Usage usage) -> {
                over = true;
                yield faultOf(reason, usage);
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

    private @Nullable String faultOf(int index, int @Nullable [] ids) {
        if (index != 0 || ids == null || ids.length == 0) {
            return "it sent tokens of choice " + index + ", " + (ids == null ? 0 : ids.length)
                    + " of them; one choice was asked for, and at least one token a time";
        }
        if (ids.length > maxTokens - tokens) {
            return "it sent " + ((long) tokens + ids.length) + " tokens, at most " + maxTokens + " were asked for";
        }
        tokens += ids.length;
        for (int id : ids) {
            if (id < 0 || id >= vocabularySize) {
                return "it sent token " + id + ", the model has 0 to " + (vocabularySize - 1);
            }
        }
        return null;
    }

    /** Absent fields are null here, whatever their declaration says. */
    private static @Nullable String faultOf(@Nullable FailureReason reason, @Nullable String message) {
        return reason == null || message == null
                ? "it failed without " + (reason == null ? "a reason" : "a message") : null;
    }

    private @Nullable String faultOf(@Nullable FinishReason reason, @Nullable Usage usage) {
        if (reason == null || usage == null) {
            return "it finished without " + (reason == null ? "a reason" : "usage");
        }
        boolean plausible = usage.promptTokens() == promptTokens && usage.completionTokens() == tokens
                && usage.cachedTokens() >= 0 && usage.cachedTokens() <= promptTokens;
        return plausible ? null : "it counted " + usage.promptTokens() + " prompt tokens, " + usage.cachedTokens()
                + " of them cached, and " + usage.completionTokens() + " of the answer; it was sent " + promptTokens
                + " and gave " + tokens;
    }
}
