package dev.warmpath.router.answer.dialect;

import java.util.List;
import java.util.Set;
import java.util.function.Predicate;
import java.util.random.RandomGenerator;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** How a model writes what is not text in an answer. Harmony is a way for both, whichever of them names it. */
public record Dialect(ToolFormat tools, ReasoningFormat reasoning) {

    public Dialect {
        if (tools == ToolFormat.HARMONY || reasoning == ReasoningFormat.HARMONY) {
            tools = ToolFormat.HARMONY;
            reasoning = ReasoningFormat.HARMONY;
        }
    }

    /** All is text. */
    public static final Dialect PLAIN = new Dialect(ToolFormat.NONE, ReasoningFormat.NONE);

    /** How much of a prompt's end {@link #newParser} looks at, in tokens. */
    public static final int PROMPT_END = 16;

    /** @param template a chat template; null: the model has none */
    public static Dialect of(@Nullable String template) {
        return template == null ? PLAIN : new Dialect(ToolFormat.of(template), ReasoningFormat.of(template));
    }

    public boolean canCall() {
        return tools != ToolFormat.NONE;
    }

    /** Whether an answer may be more than text. */
    public boolean hasParts(boolean mayCall) {
        return reasoning != ReasoningFormat.NONE || mayCall && canCall();
    }

    /** The marks that an answer is read by: where a model has special tokens for them, these are part of its text. */
    public List<String> marks(boolean mayCall) {
        return Stream.concat(reasoning.marks().stream(), mayCall ? tools.marks().stream() : Stream.of()).distinct()
                .toList();
    }

    /**
     * For one choice of one answer.
     *
     * @param tools    names of the request's; empty: what looks like a call is text
     * @param maxCalls calls beyond are left out
     * @param promptEnd text of its last tokens, special ones included
     */
    public AnswerParser newParser(Set<String> tools, int maxCalls, String promptEnd, RandomGenerator random) {
        boolean mayCall = !tools.isEmpty();
        Predicate<String> isTool = tools::contains;
        var parts = new Parts(() -> this.tools.newCallId(random), maxCalls);
        if (reasoning == ReasoningFormat.HARMONY) {
            return new AnswerParser(new HarmonyStage(parts, mayCall), parts);
        }
        Stage calls = mayCall ? this.tools.newStage(parts, isTool) : parts;
        return new AnswerParser(reasoning.before(calls, reasoning.isBegunBy(promptEnd), parts), parts);
    }
}
