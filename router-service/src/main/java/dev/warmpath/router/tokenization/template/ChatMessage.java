package dev.warmpath.router.tokenization.template;

import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * One message of a conversation, as the template sees it.
 * @param content null where the message has none, as beside tool calls; the template sees None
 * @param fields what else the message carries, as {@code name} or {@code tool_calls}: null, Boolean, Number, String,
 *               List and Map of such; {@code role} and {@code content} win over entries of the same name
 */
public record ChatMessage(String role, @Nullable String content, Map<String, ?> fields) {
    public ChatMessage {
        fields = Collections.unmodifiableMap(new LinkedHashMap<>(fields));   // keeps order and nulls
    }

    public ChatMessage(String role, String content) {
        this(role, content, Map.of());
    }
}
