package dev.warmpath.worker.foreign.generate;

import dev.warmpath.protocol.generate.FailureReason;
import dev.warmpath.protocol.generate.GenerateRequest;
import dev.warmpath.worker.engine.RefusedException;
import java.io.ByteArrayOutputStream;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JsonGenerator;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * How one kind of engine is asked for tokens, and what its answers say. Has no state: safe on any thread.
 *
 * <p>Every value that decides what is drawn is written out, for engines have different defaults, and some take them
 * from the model's files.
 */
sealed interface Dialect permits Completions, TextCompletions, VllmTokens, SglangTokens {

    JsonMapper JSON = JsonMapper.builder().build();

    /** Where {@link #body} is posted to. */
    String path();

    /** @throws RefusedException naming what this engine would not do, or do otherwise, without saying so */
    void requireServed(Ask ask);

    byte[] body(Ask ask);

    /** A body that asks for one token, greedily and in one answer: whoever tries an engine sends it. */
    byte[] trial(int[] prompt);

    /** False: the answer comes in one piece. */
    default boolean streams(Ask ask) {
        return true;
    }

    /**
     * @param piece JSON of one event of a stream, or of the whole answer
     * @param told  tokens of this answer that were told before
     */
    Chunk read(JsonNode piece, Ask ask, int told) throws UnreadableAnswerException;

    /** False: its ids are made of text, so that there may be more of them than the engine has drawn. */
    default boolean tellsIds() {
        return true;
    }

    /** Whether a request may be given a name. */
    default boolean takesRequestId() {
        return true;
    }

    /** Tokens of the prompt as this engine counts them. */
    default int promptTokens(GenerateRequest request) {
        return request.promptTokens().length;
    }

    /** Most bytes of one piece of an answer that is right. */
    long mostBytes(Ask ask);

    /** Posted when nobody wants an answer any more; null if the closed connection says it as soon. */
    default @Nullable Farewell farewell(Ask ask) {
        return null;
    }

    record Farewell(String path, byte[] body) {}

    static RefusedException unsupported(String what, String why) {
        return new RefusedException(FailureReason.UNSUPPORTED, what + " is not served: " + why);
    }

    static void refuse(boolean asked, String what, String why) {
        if (asked) {
            throw unsupported(what, why);
        }
    }

    /** A JSON object of what is written. */
    static byte[] object(Consumer<JsonGenerator> members) {
        var bytes = new ByteArrayOutputStream();
        try (JsonGenerator json = JSON.createGenerator(bytes)) {
            json.writeStartObject();
            members.accept(json);
            json.writeEndObject();
        }
        return bytes.toByteArray();
    }

    /** As OpenAI has it: usage comes behind the answer. */
    static void stream(JsonGenerator json, boolean streams) {
        json.writeBooleanProperty("stream", streams);
        if (streams) {
            json.writeObjectPropertyStart("stream_options");
            json.writeBooleanProperty("include_usage", true);
            json.writeEndObject();
        }
    }

    static void array(JsonGenerator json, String name, int[] values) {
        json.writeName(name);
        json.writeArray(values, 0, values.length);
    }

    static void biases(JsonGenerator json, int[] tokens, float[] biases) {
        json.writeObjectPropertyStart("logit_bias");
        for (int i = 0; i < tokens.length; i++) {
            json.writeNumberProperty(Integer.toString(tokens[i]), biases[i]);
        }
        json.writeEndObject();
    }

    /** @throws UnreadableAnswerException if it is no array of ids */
    static int[] ids(JsonNode array) throws UnreadableAnswerException {
        int[] ids = new int[array.size()];
        for (int i = 0; i < ids.length; i++) {
            JsonNode id = array.get(i);
            if (!id.canConvertToInt() || !id.isIntegralNumber() || id.intValue() < 0) {
                throw new UnreadableAnswerException("it told '" + brief(id) + "' for a token's id");
            }
            ids[i] = id.intValue();
        }
        return ids;
    }

    /** Natural logarithm of a probability; an engine may write none as null, or far below what a float holds. */
    static float logprob(JsonNode value) throws UnreadableAnswerException {
        float logprob = value.isNumber() ? value.floatValue() : Float.NaN;
        if (Float.isNaN(logprob)) {
            throw new UnreadableAnswerException("it told '" + brief(value) + "' for a log-probability");
        }
        return logprob;
    }

    static String brief(JsonNode node) {
        String text = node.toString();
        return text.length() <= 40 ? text : text.substring(0, 40) + "…";
    }
}
