package dev.warmpath.tokenization.template;

import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * One message of a conversation, as the template sees it.
 *
 * @param parts  what it says, in the parts that the client made, each a text; null where it has no content, as beside
 *               tool calls
 * @param fields what else the message carries, as {@code name} or {@code tool_calls}: null, Boolean, Number, String,
 *               List and Map of such; {@code role} and {@code content} win over entries of the same name
 */
public record ChatMessage(String role, @Nullable List<String> parts, Map<String, ?> fields) {
    public ChatMessage {
        parts = parts == null ? null : List.copyOf(parts);
        fields = Collections.unmodifiableMap(new LinkedHashMap<>(fields));   // keeps order and nulls
    }

    public ChatMessage(String role, String content) {
        this(role, List.of(content), Map.of());
    }

    /** The parts, joined by line breaks; null where there is no content. */
    public @Nullable String content() {
        return parts == null ? null : parts.size() == 1 ? parts.getFirst() : String.join("\n", parts);
    }
}
