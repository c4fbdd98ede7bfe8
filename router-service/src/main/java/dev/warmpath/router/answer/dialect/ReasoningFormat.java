package dev.warmpath.router.answer.dialect;

import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;

/** How a model family writes what it thinks before it answers. */
public enum ReasoningFormat {

    /** It does not, or it is to be left in the text. */
    NONE(List.of(), List.of()),
    /** OpenAI's gpt-oss: a channel of its own. */
    HARMONY(List.of(), List.of()),
    /** Mistral's Magistral. */
    MISTRAL(List.of("[THINK]"), List.of("[/THINK]")),
    /** Granite 3.2. */
    GRANITE(List.of("Here is my thought process:", "Here's my thought process:"),
            List.of("Here is my response:", "Here's my response:")),
    /** DeepSeek R1, V3.1, Qwen 3, QwQ, Phi 4 and most others. */
    THINK(List.of("<think>"), List.of("</think>"));

    private final List<String> opening;
    private final List<String> closing;

    ReasoningFormat(List<String> opening, List<String> closing) {
        this.opening = opening;
        this.closing = closing;
    }

    /** By what a chat template does with the reasoning of earlier answers. */
    static ReasoningFormat of(String template) {
        if (template.contains(HarmonyStage.CHANNEL)) {
            return HARMONY;
        }
        return Arrays.stream(values()).filter(format -> format.closing.stream().anyMatch(template::contains))
                .findFirst().orElse(NONE);
    }

    /** Special tokens among them have to be shown. */
    List<String> marks() {
        return this == HARMONY ? HarmonyStage.MARKS
                : Stream.concat(opening.stream(), closing.stream()).toList();
    }

    /** Whether a prompt with this end has begun the reasoning. */
    boolean isBegunBy(String promptEnd) {
        String end = promptEnd.stripTrailing();
        return opening.stream().anyMatch(end::endsWith);
    }

    /** @param begun as of {@link #isBegunBy} */
    Stage before(Stage next, boolean begun, Parts parts) {
        return opening.isEmpty() ? next : new ReasoningStage(opening, closing, begun, parts, next);
    }
}
