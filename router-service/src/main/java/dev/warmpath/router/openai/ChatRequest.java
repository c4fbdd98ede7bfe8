package dev.warmpath.router.openai;

import static dev.warmpath.router.fields.FieldReader.invalid;
import static dev.warmpath.router.fields.FieldReader.wrongType;

import dev.warmpath.router.completion.BadRequestException;
import dev.warmpath.router.completion.BadRequestException.Fault;
import dev.warmpath.router.completion.CompletionRequest.OutputLimit;
import dev.warmpath.router.completion.Prompt;
import dev.warmpath.router.fields.FieldReader;
import dev.warmpath.router.tokenization.template.ChatMessage;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/** The body of {@code POST /v1/chat/completions}. */
final class ChatRequest {

    private static final String ENDPOINT = "chat";
    /** Those that need tools are refused with them. */
    private static final Set<String> ROLES = Set.of("system", "developer", "user", "assistant");

    private ChatRequest() {}

    static GenerationRequest read(JsonNode json, String requestId, RandomGenerator seeds) {
        FieldReader body = FieldReader.ofBody(json, OpenAiFields.CHAT);
        return GenerationRequest.read(body, requestId, ENDPOINT, readPrompt(body), readLimit(body), seeds);
    }

    /** Messages as the template gets them. */
    static Prompt.Chat readPrompt(FieldReader body) {
        List<ChatMessage> messages = new ArrayList<>();
        for (FieldReader message : body.objects(OpenAiFields.MESSAGES)) {
            messages.add(readMessage(message));
        }
        return new Prompt.Chat(List.copyOf(messages), body.flag(OpenAiFields.ADD_GENERATION_PROMPT));
    }

    private static ChatMessage readMessage(FieldReader message) {
        String role = message.requiredText(OpenAiFields.ROLE);
        if (!ROLES.contains(role)) {
            String path = message.path(OpenAiFields.ROLE);
            throw invalid(path, "'" + path + "' is '" + BadRequestException.shown(role)
                    + "', served are system, developer, user and assistant");
        }
        String content = readContent(message);
        @Nullable String name = message.text(OpenAiFields.NAME);
        message.refuseOthers();
        // OpenAI's newer name of the same role; templates know the older one
        String templateRole = role.equals("developer") ? "system" : role;
        return new ChatMessage(templateRole, content, name == null ? Map.of() : Map.of("name", name));
    }

    /** A string, or text parts, which are joined by line breaks as vLLM joins them for templates that take strings. */
    private static String readContent(FieldReader message) {
        @Nullable JsonNode content = message.value(OpenAiFields.CONTENT);
        String path = message.path(OpenAiFields.CONTENT);
        if (content == null) {
            throw message.missing(OpenAiFields.CONTENT);
        }
        if (content.isString()) {
            return content.stringValue();
        }
        if (!content.isArray()) {
            throw wrongType(path, "a string or an array of text parts", content);
        }
        List<String> texts = new ArrayList<>();
        for (FieldReader part : FieldReader.objectsOf(content, path, OpenAiFields.PARTS)) {
            String type = part.requiredText(OpenAiFields.PART_TYPE);
            if (!type.equals("text")) {
                String typePath = part.path(OpenAiFields.PART_TYPE);
                throw new BadRequestException(Fault.UNSUPPORTED_PARAMETER, typePath, "'" + typePath + "' is '"
                        + BadRequestException.shown(type) + "', only text is supported");
            }
            texts.add(part.requiredText(OpenAiFields.PART_TEXT));
            part.refuseOthers();
        }
        return String.join("\n", texts);
    }

    /** Without a number of the client, as much as the context holds. */
    private static OutputLimit readLimit(FieldReader body) {
        @Nullable Integer newer = body.integer(OpenAiFields.MAX_COMPLETION_TOKENS);
        @Nullable Integer older = body.integer(OpenAiFields.MAX_TOKENS);
        if (newer != null) {
            return new OutputLimit.Exactly(newer, OpenAiFields.MAX_COMPLETION_TOKENS.name());
        }
        return older == null
                ? new OutputLimit.AtMost(Integer.MAX_VALUE)
                : new OutputLimit.Exactly(older, OpenAiFields.MAX_TOKENS.name());
    }
}
