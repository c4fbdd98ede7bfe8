package dev.warmpath.worker.foreign.generate;

import dev.warmpath.protocol.generate.FailureReason;
import dev.warmpath.protocol.process.ForeignText;
import java.nio.charset.StandardCharsets;
import java.util.Locale;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * What an engine's error means to routers: the same request may do better elsewhere, or nowhere.
 *
 * @param message a sentence, the engine's words in it bounded
 */
record EngineFailure(FailureReason reason, String message) {

    private static final int MAX_CHARS = 300;
    private static final int NO_STATUS = 0;
    private static final int SERVER_ERROR = 500;
    private static final int BAD_REQUEST = 400;

    static EngineFailure of(String message) {
        return new EngineFailure(FailureReason.ENGINE_FAILURE, message);
    }

    /** Of an answer other than 200. */
    static EngineFailure ofStatus(int status, byte[] body, JsonMapper json) {
        return of(status, wordsIn(body, json));
    }

    /**
     * Of the error object within a stream that began well, as {@code {"message","type","code"}}; vLLM's code is the
     * status, SGLang's a word or null.
     */
    static EngineFailure ofError(JsonNode error) {
        String words = error.path("message").asString(error.isString() ? error.stringValue() : "no reason given");
        int code = error.path("code").isIntegralNumber() ? error.path("code").intValue() : NO_STATUS;
        if (code == NO_STATUS) {
            String type = error.path("type").asString("").toLowerCase(Locale.ROOT).replace("_", "");
            code = type.contains("invalidrequest") || type.contains("badrequest") ? BAD_REQUEST : SERVER_ERROR;
        }
        return of(code, words);
    }

    /** @param status as of HTTP */
    static EngineFailure of(int status, String words) {
        String said = ForeignText.oneLine(words, MAX_CHARS);
        return switch (status) {
            case BAD_REQUEST, 413, 422 -> new EngineFailure(FailureReason.INVALID_REQUEST, said);
            case 429, 503 -> new EngineFailure(FailureReason.QUEUE_FULL, "the engine is busy: " + said);
            // its model, its key or its endpoints are not those it was asked by: nothing that a client did
            default -> of("the engine answered with status " + status + ": " + said);
        };
    }

    private static String wordsIn(byte[] body, JsonMapper json) {
        try {
            JsonNode answer = json.readTree(body);
            JsonNode error = answer.path("error");
            JsonNode message = error.isString() ? error : error.path("message");
            for (JsonNode words : new JsonNode[] {message, answer.path("message"), answer.path("detail")}) {
                if (words.isString()) {
                    return words.stringValue();
                }
            }
        } catch (JacksonException e) {
            // as it stands, then
        }
        return body.length == 0 ? "the engine refused it and did not say why"
                : new String(body, StandardCharsets.UTF_8);
    }
}
