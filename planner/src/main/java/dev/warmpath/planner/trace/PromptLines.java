package dev.warmpath.planner.trace;

import dev.warmpath.workload.Prompt;
import dev.warmpath.workload.Turn;
import java.nio.charset.StandardCharsets;
import java.time.DateTimeException;
import java.time.OffsetDateTime;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/**
 * Prompts as lines: {@code prompt} as a text or an array of token ids, {@code prompt_token_ids} or {@code tokens}, or
 * {@code messages}; in a batch file of OpenAI's these stand in {@code body}. A text has a token for each four bytes of
 * its UTF-8, rounded up: whose tokenizer it will meet is not known, and what prompts share does not depend on it.
 *
 * <p>How long the answer is: {@code output_length}, {@code output_tokens}, {@code max_completion_tokens} or
 * {@code max_tokens}, the first that is there. When it came: {@code timestamp} in milliseconds, {@code arrival_time} in
 * seconds, or {@code at} in seconds or ISO 8601.
 */
final class PromptLines implements LineFormat {

    private static final int BYTES_PER_TOKEN = 4;
    private static final String[] PROMPTS = {"prompt", "prompt_token_ids", "tokens", "messages"};

    private final int blockTokens;
    private final int answerTokens;
    private boolean hasText;

    PromptLines(TraceSettings settings) {
        blockTokens = settings.blockTokens() == 0 ? TraceSettings.USUAL_BLOCK : settings.blockTokens();
        answerTokens = settings.answerTokens();
    }

    @Override
    public String name() {
        return hasText ? "prompts, a token for each " + BYTES_PER_TOKEN + " bytes of text" : "prompts";
    }

    @Override
    public boolean isOwn(JsonNode line) {
        return !line.has("hash_ids") && !line.has("decisions") && Fields.first(body(line), PROMPTS) != null;
    }

    private static JsonNode body(JsonNode line) {
        return line.path("body").isObject() ? line.path("body") : line;
    }

    /** Of token ids; how many bytes an answer has is not known. */
    @Override
    public boolean hasAnswers() {
        return !hasText;
    }

    @Override
    public RequestLine parse(JsonNode line) {
        JsonNode body = body(line);
        String field = Fields.first(body, PROMPTS);
        if (field == null) {
            throw new Fields.WrongException("prompt is missing");
        }
        JsonNode prompt = body.path(field);
        Prompt made = field.equals("messages") ? ofText(messages(prompt))
                : prompt.isString() && field.equals("prompt") ? ofText(prompt.asString()) : ofTokens(prompt, field);
        return new RequestLine(millis(line, body), new Turn(made, answer(body)));
    }

    private int answer(JsonNode body) {
        String field = Fields.first(body, "output_length", "output_tokens", "max_completion_tokens", "max_tokens");
        return field == null ? answerTokens : Math.max(1, Fields.count(body, field, 0, Integer.MAX_VALUE));
    }

    private static double millis(JsonNode line, JsonNode body) {
        JsonNode where = Fields.first(line, "timestamp", "arrival_time", "at") == null ? body : line;
        String field = Fields.first(where, "timestamp", "arrival_time", "at");
        if (field == null) {
            return Double.NaN;
        }
        JsonNode value = where.path(field);
        return field.equals("at") && value.isString() ? instant(value.asString())
                : Fields.millis(value, field, field.equals("timestamp") ? 1 : 1_000);
    }

    /** @param text in ISO 8601 */
    static double instant(String text) {
        try {
            return OffsetDateTime.parse(text).toInstant().toEpochMilli()
                    + OffsetDateTime.parse(text).getNano() % 1_000_000 / 1e6;
        } catch (DateTimeException e) {
            throw new Fields.WrongException("at is a time as 2026-11-24T09:30:00Z, not '"
                    + (text.length() <= 40 ? text : text.substring(0, 40) + "…") + "'");
        }
    }

    private static String messages(JsonNode messages) {
        if (!messages.isArray() || messages.isEmpty()) {
            throw new Fields.WrongException("messages is an array of messages, not " + Fields.shown(messages));
        }
        var text = new StringBuilder();
        for (JsonNode message : messages) {
            JsonNode role = Fields.required(message, "role");
            text.append(role.isString() ? role.asString() : "").append('\n');
            append(text, message.path("content"));
            text.append('\n');
        }
        return text.toString();
    }

    private static void append(StringBuilder text, @Nullable JsonNode content) {
        if (content == null || content.isMissingNode() || content.isNull()) {
            return;                                                // of a message that only calls tools
        }
        if (content.isString()) {
            text.append(content.asString());
        } else if (content.isArray()) {
            content.forEach(part -> text.append(part.path("text").asString("")));
        } else {
            throw new Fields.WrongException("content is a text or an array of parts, not " + Fields.shown(content));
        }
    }

    private Prompt ofText(String text) {
        hasText = true;
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        if (bytes.length == 0) {
            throw new Fields.WrongException("the prompt is empty");
        }
        int length = Math.ceilDiv(bytes.length, BYTES_PER_TOKEN);
        return new Prompt(Pieces.chained(bytes.length, blockTokens * BYTES_PER_TOKEN, i -> bytes[i]), blockTokens,
                length);
    }

    private Prompt ofTokens(JsonNode array, String field) {
        if (!array.isArray() || array.isEmpty() || array.size() > Fields.MOST_TOKENS) {
            throw new Fields.WrongException(field + " is " + (field.equals("prompt") ? "a text or " : "")
                    + "an array of token ids, 1 to " + Fields.MOST_TOKENS + " of them, not "
                    + (array.isArray() ? "of " + array.size() : Fields.shown(array)));
        }
        int[] tokens = new int[array.size()];
        for (int i = 0; i < tokens.length; i++) {
            JsonNode id = array.get(i);
            if (!id.isIntegralNumber() || !id.canConvertToInt() || id.intValue() < 0) {
                throw new Fields.WrongException(field + " has token ids, whole numbers from 0 on, not "
                        + Fields.shown(id));
            }
            tokens[i] = id.intValue();
        }
        return new Prompt(Pieces.chained(tokens.length, blockTokens, i -> tokens[i]), blockTokens, tokens.length);
    }
}
