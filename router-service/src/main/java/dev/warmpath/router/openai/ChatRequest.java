package dev.warmpath.router.openai;

import static dev.warmpath.router.openai.RequestFields.invalid;
import static dev.warmpath.router.openai.RequestFields.wrongType;

import dev.warmpath.router.completion.BadRequestException;
import dev.warmpath.router.completion.BadRequestException.Fault;
import dev.warmpath.router.completion.CompletionRequest;
import dev.warmpath.router.completion.CompletionRequest.OutputLimit;
import dev.warmpath.router.completion.Prompt;
import dev.warmpath.router.tokenization.template.ChatMessage;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/**
 * The body of {@code POST /v1/chat/completions}.
 *
 * @param prompt messages as the template gets them
 * @param limit  absent: as much as the context holds
 */
record ChatRequest(GenerationFields generation, Prompt.Chat prompt, OutputLimit limit) {

    static final String ENDPOINT = "chat";
    static final int MAX_MESSAGES = 4_096;
    /** Those that need tools are refused with them. */
    private static final Set<String> ROLES = Set.of("system", "developer", "user", "assistant");

    static ChatRequest read(RequestFields body, RandomGenerator seeds) {
        var request = new ChatRequest(GenerationFields.read(body, seeds), readPrompt(body), readLimit(body));
        body.refuseUnread(UnservedFields.OF_CHAT);
        return request;
    }

    CompletionRequest toCompletion(String requestId) {
        return new CompletionRequest(requestId, ENDPOINT, generation.model(), prompt, generation.sampling(), limit,
                generation.stopStrings(), generation.stopTokenIds(), generation.ignoreEos(), generation.stream());
    }

    static Prompt.Chat readPrompt(RequestFields body) {
        List<ChatMessage> messages = new ArrayList<>();
        for (RequestFields message : body.requiredObjects("messages", MAX_MESSAGES)) {
            messages.add(readMessage(message));
        }
        return new Prompt.Chat(List.copyOf(messages), body.flag("add_generation_prompt", true));
    }

    private static ChatMessage readMessage(RequestFields message) {
        String role = message.requiredText("role");
        if (!ROLES.contains(role)) {
            throw invalid(message.path("role"), "'" + message.path("role") + "' is '"
                    + BadRequestException.shown(role) + "', served are system, developer, user and assistant");
        }
        String content = readContent(message);
        @Nullable String name = message.text("name");
        message.refuseUnread(UnservedFields.OF_MESSAGE);
        // OpenAI's newer name of the same role; templates know the older one
        String templateRole = role.equals("developer") ? "system" : role;
        return new ChatMessage(templateRole, content, name == null ? Map.of() : Map.of("name", name));
    }

    /** A string, or text parts, which are joined by line breaks as vLLM joins them for templates that take strings. */
    private static String readContent(RequestFields message) {
        @Nullable JsonNode content = message.value("content");
        String path = message.path("content");
        if (content == null) {
            throw message.missing("content");
        }
        if (content.isString()) {
            return content.stringValue();
        }
        if (!content.isArray()) {
            throw wrongType(path, "a string or an array of text parts", content);
        }
        List<String> texts = new ArrayList<>();
        for (RequestFields part : message.requiredObjects("content", MAX_MESSAGES)) {
            String type = part.requiredText("type");
            if (!type.equals("text")) {
                throw new BadRequestException(Fault.UNSUPPORTED_PARAMETER, part.path("type"),
                        "'" + part.path("type") + "' is '" + BadRequestException.shown(type)
                                + "', only text is supported");
            }
            texts.add(part.requiredText("text"));
            part.refuseUnread(UnservedFields.NOTHING);
        }
        return String.join("\n", texts);
    }

    /** {@code max_completion_tokens} is the newer name and wins. */
    private static OutputLimit readLimit(RequestFields body) {
        @Nullable Integer newer = body.integer("max_completion_tokens", 1, Integer.MAX_VALUE);
        @Nullable Integer older = body.integer("max_tokens", 1, Integer.MAX_VALUE);
        if (newer != null) {
            return new OutputLimit.Exactly(newer, "max_completion_tokens");
        }
        return older == null
                ? new OutputLimit.AtMost(Integer.MAX_VALUE)
                : new OutputLimit.Exactly(older, "max_tokens");
    }
}
