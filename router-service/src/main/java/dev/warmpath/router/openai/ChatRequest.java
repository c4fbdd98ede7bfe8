package dev.warmpath.router.openai;

import dev.warmpath.router.completion.BadRequestException;
import dev.warmpath.router.completion.BadRequestException.Fault;
import dev.warmpath.router.completion.CompletionRequest.OutputLimit;
import dev.warmpath.router.completion.Prompt;
import dev.warmpath.router.fields.FieldReader;
import dev.warmpath.router.fields.FieldValues;
import dev.warmpath.router.fields.Place;
import dev.warmpath.router.tokenization.template.ChatMessage;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.random.RandomGenerator;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** The body of {@code POST /v1/chat/completions}. */
final class ChatRequest {

    private static final String ENDPOINT = "chat";
    /** Those that need tools are refused with them. */
    private static final Set<String> ROLES = Set.of("system", "developer", "user", "assistant");

    private ChatRequest() {}

    static GenerationRequest read(FieldValues body, String requestId, RandomGenerator seeds) {
        return GenerationRequest.read(body, requestId, ENDPOINT, readPrompt(body), readLimit(body), seeds);
    }

    /** Messages as the template gets them. */
    static Prompt.Chat readPrompt(FieldValues body) {
        List<FieldValues> messages = body.objects(OpenAiFields.MESSAGES);
        return new Prompt.Chat(messages.stream().map(ChatRequest::readMessage).toList(),
                body.flag(OpenAiFields.ADD_GENERATION_PROMPT));
    }

    private static ChatMessage readMessage(FieldValues message) {
        String role = message.requiredText(OpenAiFields.ROLE);
        if (!ROLES.contains(role)) {
            String path = message.path(OpenAiFields.ROLE);
            throw new BadRequestException(Fault.INVALID_VALUE, path, "'" + path + "' is '"
                    + BadRequestException.shown(role) + "', served are system, developer, user and assistant");
        }
        @Nullable String name = message.text(OpenAiFields.NAME);
        // OpenAI's newer name of the same role; templates know the older one
        String templateRole = role.equals("developer") ? "system" : role;
        return new ChatMessage(templateRole, message.required(OpenAiFields.CONTENT),
                name == null ? Map.of() : Map.of("name", name));
    }

    /** A string, or text parts, which are joined by line breaks as vLLM joins them for templates that take strings. */
    static String readContent(FieldReader json, Place place) {
        if (json.isText()) {
            return json.text();
        }
        if (!json.isList()) {
            throw json.wrongType(place, "a string or an array of text parts");
        }
        return json.objects(OpenAiFields.PARTS, place).stream().map(ChatRequest::readPart)
                .collect(Collectors.joining("\n"));
    }

    private static String readPart(FieldValues part) {
        part.required(OpenAiFields.PART_TYPE);
        return part.requiredText(OpenAiFields.PART_TEXT);
    }

    /** Refused here, before what only another type has is met and not known. */
    static String readPartType(FieldReader json, Place place) {
        String type = json.text(place);
        if (!type.equals("text")) {
            throw new BadRequestException(Fault.UNSUPPORTED_PARAMETER, place.toString(), "'" + place + "' is '"
                    + BadRequestException.shown(type) + "', only text is supported");
        }
        return type;
    }

    /** Without a number of the client, as much as the context holds. */
    private static OutputLimit readLimit(FieldValues body) {
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
