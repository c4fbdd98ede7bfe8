package dev.warmpath.router.openai;

import dev.warmpath.router.KeptConnection.Answer;
import java.util.List;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** An answer that blames the request, as clients may rely on it. */
record Refusal(int status, String message, @Nullable String param, String code) {

    /** A value is shown with 100 characters, a path may have as many; the rest is ours. */
    static final int LONGEST_MESSAGE = 500;
    private static final List<String> MEMBERS = List.of("message", "type", "param", "code");
    /** Of classes, packages, settings and stack traces. */
    private static final Pattern INNARDS = Pattern.compile("[a-z]\\.[A-Z]|Exception|Error\\b|\\tat |\\.java"
            + "|(java|dev|org|tools|com|reactor|io)\\.[a-z]+\\.|StreamRead|JsonToken");

    /** @throws AssertionError if it is no 4xx with OpenAI's error object and nothing else, or shows our inside */
    static Refusal of(Answer answer) {
        require(answer.status() >= 400 && answer.status() < 500, answer, "is no 4xx");
        require("application/json".equals(answer.headers().get("content-type")), answer, "is not application/json");
        require(answer.headers().containsKey("x-request-id"), answer, "has no x-request-id");
        require(!answer.headers().containsKey("connection"), answer, "is about its connection");
        JsonNode body = parse(answer);
        JsonNode error = body.path("error");
        require(List.copyOf(body.propertyNames()).equals(List.of("error")), answer, "is more than an error");
        require(List.copyOf(error.propertyNames()).equals(MEMBERS), answer, "has other members than " + MEMBERS);
        require(error.path("type").asString("").equals("invalid_request_error"), answer, "has another type");
        require(error.path("code").asString("").matches("[a-z_]+"), answer, "has no code");
        require(error.path("param").isNull() || error.path("param").isString(), answer, "has no param");
        String message = error.path("message").asString("");
        require(!message.isBlank() && message.length() <= LONGEST_MESSAGE, answer,
                "has a message of " + message.length() + " characters");
        require(!INNARDS.matcher(message).find(), answer, "shows what is inside");
        return new Refusal(answer.status(), message, error.path("param").asString(null),
                error.path("code").asString());
    }

    private static JsonNode parse(Answer answer) {
        try {
            return JsonMapper.shared().readTree(answer.text());
        } catch (JacksonException e) {
            throw new AssertionError(answer.text(), e);
        }
    }

    private static void require(boolean holds, Answer answer, String otherwise) {
        if (!holds) {
            throw new AssertionError("the answer " + otherwise + ": " + answer.status() + " " + answer.headers() + " "
                    + answer.text());
        }
    }
}
