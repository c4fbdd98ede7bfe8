package dev.warmpath.router.openai;

import dev.warmpath.router.completion.BadRequestException;
import dev.warmpath.router.completion.BadRequestException.Fault;
import dev.warmpath.router.completion.CompletionRequest.OutputLimit;
import dev.warmpath.router.completion.Prompt;
import dev.warmpath.router.fields.FieldReader;
import dev.warmpath.router.fields.FieldValues;
import dev.warmpath.router.fields.Place;
import dev.warmpath.router.openai.GenerationRequest.Own;
import dev.warmpath.tokenization.template.ChatMessage;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/** The body of {@code POST /v1/chat/completions}. */
final class ChatRequest {

    private static final String ENDPOINT = "chat";
    private static final Set<String> ROLES = Set.of("system", "developer", "user", "assistant", "tool");

    private ChatRequest() {}

    static GenerationRequest read(FieldValues body, String requestId, RandomGenerator seeds) {
        return GenerationRequest.read(body, requestId, new Own(ENDPOINT, List.of(readPrompt(body)), readLimit(body),
                ToolFields.readUse(body), readLogprobs(body), /* bestOf */ null, /* echo */ false), seeds);
    }

    private static @Nullable Integer readLogprobs(FieldValues body) {
        @Nullable Integer alternatives = body.integer(OpenAiFields.TOP_LOGPROBS);
        boolean wanted = body.flag(OpenAiFields.LOGPROBS);
        if (!wanted && alternatives != null && alternatives > 0) {
            throw new BadRequestException(Fault.INVALID_VALUE, OpenAiFields.TOP_LOGPROBS.name(),
                    "'top_logprobs' is only taken with 'logprobs': true");
        }
        return wanted ? Objects.requireNonNullElse(alternatives, 0) : null;
    }

    /** Messages, and what else the template gets. */
    static Prompt.Chat readPrompt(FieldValues body) {
        List<ChatMessage> messages = body.objects(OpenAiFields.MESSAGES).stream().map(ChatRequest::readMessage).toList();
        boolean continued = body.flag(OpenAiFields.CONTINUE_FINAL_MESSAGE);
        boolean generation = body.flag(OpenAiFields.ADD_GENERATION_PROMPT);
        if (continued && generation && body.has(OpenAiFields.ADD_GENERATION_PROMPT)) {
            throw new BadRequestException(Fault.INVALID_VALUE, OpenAiFields.CONTINUE_FINAL_MESSAGE.name(),
                    "'continue_final_message' and 'add_generation_prompt' are both true: the last message either goes on or "
                            + "has ended");
        }
        return new Prompt.Chat(messages, generation && !continued, continued, readVariables(body));
    }

    private static Map<String, ?> readVariables(FieldValues body) {
        @Nullable Map<String, @Nullable Object> given = body.value(OpenAiFields.CHAT_TEMPLATE_KWARGS);
        @Nullable String effort = body.text(OpenAiFields.REASONING_EFFORT);
        @Nullable List<?> tools = body.value(OpenAiFields.TOOLS);
        boolean hasTools = tools != null && !tools.isEmpty();
        if (given == null && effort == null && !hasTools) {
            return Map.of();
        }
        var variables = new LinkedHashMap<String, @Nullable Object>();
        if (effort != null) {
            variables.put("reasoning_effort", effort);
            if (effort.equals("none")) {
                variables.put("enable_thinking", false);           // as Qwen's templates and others call it
            }
        }
        if (given != null) {
            variables.putAll(given);
        }
        if (hasTools) {
            variables.put("tools", tools);
        }
        return variables;
    }

    private static ChatMessage readMessage(FieldValues message) {
        String role = message.requiredText(OpenAiFields.ROLE);
        if (!ROLES.contains(role)) {
            String path = message.path(OpenAiFields.ROLE);
            throw new BadRequestException(Fault.INVALID_VALUE, path, "'" + path + "' is '"
                    + BadRequestException.shown(role) + "', served are system, developer, user, assistant and tool");
        }
        var fields = new LinkedHashMap<String, Object>();
        putIfPresent(fields, "name", message.text(OpenAiFields.NAME));
        putIfPresent(fields, "tool_call_id", message.text(OpenAiFields.TOOL_CALL_ID));
        @Nullable String reasoning = message.text(message.has(OpenAiFields.REASONING_CONTENT)
                ? OpenAiFields.REASONING_CONTENT : OpenAiFields.REASONING);
        putIfPresent(fields, "reasoning_content", reasoning);
        @Nullable List<?> calls = message.value(OpenAiFields.TOOL_CALLS);
        boolean hasCalls = role.equals("assistant") && calls != null && !calls.isEmpty();
        if (hasCalls) {
            fields.put("tool_calls", calls);
        }
        if (!hasCalls || !message.has(OpenAiFields.CONTENT)) {
            putIfPresent(fields, "thinking", reasoning);           // gpt-oss' name; beside calls, or content, not both
        }
        // OpenAI's newer name of the same role; templates know the older one
        String templateRole = role.equals("developer") ? "system" : role;
        return new ChatMessage(templateRole, hasCalls ? message.value(OpenAiFields.CONTENT)
                : message.required(OpenAiFields.CONTENT), fields);
    }

    private static void putIfPresent(Map<String, Object> fields, String name, @Nullable String value) {
        if (value != null) {
            fields.put(name, value);
        }
    }

    /** A string, or text parts: the chat template says in which form they reach it. */
    static List<String> readContent(FieldReader json, Place place) {
        if (json.isText()) {
            return List.of(json.text());
        }
        if (!json.isList()) {
            throw json.wrongType(place, "a string or an array of text parts");
        }
        return json.objects(OpenAiFields.PARTS, place).stream().map(ChatRequest::readPart).toList();
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
