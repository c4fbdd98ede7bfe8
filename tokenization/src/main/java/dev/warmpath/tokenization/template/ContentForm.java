package dev.warmpath.tokenization.template;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * In which form a template takes what a message says. Where it takes both, one part is a string and several are a list:
 * many a template that goes through parts writes the system message as it is.
 *
 * @param text  a string: the parts joined by line breaks
 * @param parts a list of {@code {"type": "text", "text": …}}; of a tool it is a string none the less, as vLLM has it
 * @param none  the template asks whether content is None, as it is beside calls; else it is empty there
 */
record ContentForm(boolean text, boolean parts, boolean none) {
    private static final Text TYPE = Text.trusted("type");
    private static final Text TEXT = Text.trusted("text");
    private static final String TOOL = "tool";

    Value of(ChatMessage message, RenderContext context) {
        @Nullable List<String> said = message.parts();
        if (said == null) {
            return none ? Value.NONE : text ? Text.EMPTY : Value.list(List.of());
        }
        boolean whole = !parts || message.role().equals(TOOL) || text && said.size() == 1;
        return whole ? Value.of(message.content(), context)
                : Value.list(said.stream().<Value>map(part -> part(part, context)).toList());
    }

    private static Value part(String text, RenderContext context) {
        Map<Value, Value> entries = new LinkedHashMap<>();
        entries.put(TYPE, TEXT);
        entries.put(TEXT, Value.of(text, context));
        return new Value.Dict(entries);
    }
}
