package dev.warmpath.router.answer.dialect;

import dev.warmpath.router.answer.dialect.JsonCallStage.Style;
import java.util.Arrays;
import java.util.List;
import java.util.function.Predicate;
import java.util.random.RandomGenerator;
import java.util.stream.Stream;

/** How a model family writes calls of tools. Sources: the families' chat templates and model cards. */
public enum ToolFormat {

    /** It does not, or they are to be left in the text. */
    NONE,
    /** gpt-oss: messages to {@code functions.f}. */
    HARMONY("<|channel|>"),
    /** DeepSeek V3 and later. */
    DEEPSEEK(DeepSeekStage.CALLS),
    /** {@code [TOOL_CALLS][{…}, {…}]}, newer ones {@code [TOOL_CALLS]f[ARGS]{…}}. */
    MISTRAL("[TOOL_CALLS]"),
    /** Phi 4 mini: {@code <|tool_call|>[{…}]<|/tool_call|>} or {@code functools[{…}]}. */
    PHI4("<|/tool|>"),
    /** Granite 3: {@code <|tool_call|>[{…}]}. */
    GRANITE("<|tool_call|>"),
    /** Hermes, Qwen 2.5 and 3, Granite 4: {@code <tool_call>{…}</tool_call>}. */
    HERMES("<tool_call>"),
    /** Llama 3.2 and 4 where the template asks for it: {@code [f(a=1), g()]}. */
    PYTHONIC("[func_name1(params_name1="),
    /** Llama 3.1 to 4: an answer that is {@code {"name": …, "parameters": {…}}}. */
    LLAMA3_JSON("<|python_tag|>", "<|python_start|>", "\"parameters\": dictionary of argument name");

    private static final Style HERMES_STYLE =
            new Style(List.of("<tool_call>"), List.of("</tool_call>"), /* bare */ false, /* named */ false);
    private static final Style GRANITE_STYLE =
            new Style(List.of("<|tool_call|>", "<tool_call>"), List.of("</tool_call>"), false, false);
    private static final Style PHI4_STYLE =
            new Style(List.of("<|tool_call|>", "functools"), List.of("<|/tool_call|>"), false, false);
    private static final Style LLAMA3_STYLE = new Style(List.of("<|python_tag|>"), List.of(), /* bare */ true, false);
    private static final Style MISTRAL_STYLE = new Style(List.of("[TOOL_CALLS]"), List.of(), false, /* named */ true);
    private static final List<String> PYTHON_OPENING = List.of("<|python_start|>", "<|python_tag|>");
    private static final List<String> PYTHON_CLOSING = List.of("<|python_end|>");

    private static final String LETTERS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    private static final int ID_CHARS = 24;
    /** Mistral's templates refuse any other length. */
    private static final int MISTRAL_ID_CHARS = 9;

    private final List<String> inTemplate;

    /** @param inTemplate each of them tells the format */
    ToolFormat(String... inTemplate) {
        this.inTemplate = List.of(inTemplate);
    }

    /** By how a chat template writes the calls of earlier answers; NONE if it knows no tools. */
    static ToolFormat of(String template) {
        if (!template.contains("tools")) {
            return NONE;
        }
        return Arrays.stream(values()).filter(format -> format.inTemplate.stream().anyMatch(template::contains))
                .findFirst().orElse(NONE);
    }

    /** Special tokens among them have to be shown. */
    List<String> marks() {
        return switch (this) {
            case NONE -> List.of();
            case HARMONY -> HarmonyStage.MARKS;
            case DEEPSEEK -> DeepSeekStage.MARKS;
            case MISTRAL -> List.of("[TOOL_CALLS]", "[ARGS]", "[CALL_ID]");
            case PHI4 -> marksOf(PHI4_STYLE);
            case GRANITE -> marksOf(GRANITE_STYLE);
            case HERMES -> marksOf(HERMES_STYLE);
            case PYTHONIC -> both(PYTHON_OPENING, PYTHON_CLOSING);
            case LLAMA3_JSON -> marksOf(LLAMA3_STYLE);
        };
    }

    private static List<String> marksOf(Style style) {
        return both(style.opening(), style.closing());
    }

    private static List<String> both(List<String> some, List<String> others) {
        return Stream.concat(some.stream(), others.stream()).toList();
    }

    /** @param isTool whether the request has a tool of this name */
    Stage newStage(Parts parts, Predicate<String> isTool) {
        return switch (this) {
            case NONE, HARMONY -> parts;
            case DEEPSEEK -> new DeepSeekStage(parts);
            case MISTRAL -> new JsonCallStage(MISTRAL_STYLE, parts, isTool);
            case PHI4 -> new JsonCallStage(PHI4_STYLE, parts, isTool);
            case GRANITE -> new JsonCallStage(GRANITE_STYLE, parts, isTool);
            case HERMES -> new JsonCallStage(HERMES_STYLE, parts, isTool);
            case PYTHONIC -> new PythonicStage(PYTHON_OPENING, PYTHON_CLOSING, parts, isTool);
            case LLAMA3_JSON -> new JsonCallStage(LLAMA3_STYLE, parts, isTool);
        };
    }

    /** A name for a call that no other one has. */
    String newCallId(RandomGenerator random) {
        var id = new StringBuilder(this == MISTRAL ? "" : "call_");
        random.ints(this == MISTRAL ? MISTRAL_ID_CHARS : ID_CHARS, 0, LETTERS.length())
                .forEach(letter -> id.append(LETTERS.charAt(letter)));
        return id.toString();
    }
}
