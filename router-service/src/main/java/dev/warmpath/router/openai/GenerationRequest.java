package dev.warmpath.router.openai;

import dev.warmpath.protocol.generate.LogitRules;
import dev.warmpath.protocol.generate.SamplingParameters;
import dev.warmpath.router.completion.BadRequestException;
import dev.warmpath.router.completion.BadRequestException.Fault;
import dev.warmpath.router.completion.CompletionRequest;
import dev.warmpath.router.completion.CompletionRequest.OutputLimit;
import dev.warmpath.router.completion.CompletionRequest.ToolUse;
import dev.warmpath.router.completion.LogitOverrides;
import dev.warmpath.router.completion.Prompt;
import dev.warmpath.router.completion.SamplingOverrides;
import dev.warmpath.router.fields.Field;
import dev.warmpath.router.fields.FieldReader;
import dev.warmpath.router.fields.FieldValues;
import dev.warmpath.router.fields.Place;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.Objects;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/**
 * A chat or a text completion, as its body asks for it.
 *
 * @param usage what a stream tells of it
 */
record GenerationRequest(CompletionRequest completion, StreamUsage usage) {

    /** What a stream tells of the tokens that it takes. */
    enum StreamUsage {
        NOTHING,
        /** A last chunk without choices. */
        AT_END,
        /** Each chunk also tells what it has been so far. */
        ALL_ALONG
    }

    /**
     * Takes what chats and text completions have in common.
     *
     * @param prompt read from the body before
     * @param limit  likewise
     * @param tools  likewise
     * @param seeds  for a request without a seed, so that two equal ones differ as they do at OpenAI
     */
    static GenerationRequest read(FieldValues body, String requestId, String endpoint, Prompt prompt, OutputLimit limit,
            ToolUse tools, RandomGenerator seeds) {
        boolean stream = body.flag(OpenAiFields.STREAM);
        var completion = new CompletionRequest(requestId, endpoint, body.requiredText(OpenAiFields.MODEL), prompt,
                readSampling(body, seeds), limit, body.texts(OpenAiFields.STOP), body.flag(OpenAiFields.INCLUDE_STOP),
                body.ids(OpenAiFields.STOP_TOKEN_IDS), body.flag(OpenAiFields.IGNORE_EOS),
                Objects.requireNonNullElse(body.integer(OpenAiFields.MIN_TOKENS), 0), readLogits(body), stream,
                body.value(OpenAiFields.CACHE_SALT), tools);
        return new GenerationRequest(completion, readUsage(body, stream));
    }

    private static SamplingOverrides readSampling(FieldValues body, RandomGenerator seeds) {
        @Nullable Float temperature = body.number(OpenAiFields.TEMPERATURE);
        @Nullable Float topP = body.number(OpenAiFields.TOP_P);
        @Nullable Integer topK = body.integer(OpenAiFields.TOP_K);
        @Nullable Long seed = body.integer(OpenAiFields.SEED);
        return new SamplingOverrides(temperature == null ? null : drawable(temperature),
                topK == null ? null : Math.max(topK, 0), topP, seed == null ? seeds.nextLong() : seed);
    }

    private static LogitOverrides readLogits(FieldValues body) {
        LogitBias bias = Objects.requireNonNullElse(body.value(OpenAiFields.LOGIT_BIAS), LogitBias.NONE);
        return new LogitOverrides(number(body, OpenAiFields.MIN_P, 0f), number(body, OpenAiFields.PRESENCE_PENALTY, 0f),
                number(body, OpenAiFields.FREQUENCY_PENALTY, 0f), number(body, OpenAiFields.REPETITION_PENALTY, 1f),
                bias.tokens(), bias.values(),
                Objects.requireNonNullElse(body.value(OpenAiFields.ALLOWED_TOKEN_IDS), new int[0]),
                body.texts(OpenAiFields.BAD_WORDS));
    }

    private static float number(FieldValues body, Field.Real field, float absent) {
        return Objects.requireNonNullElse(body.number(field), absent);
    }

    static int[] readAllowed(FieldReader json, Place place) {
        int[] allowed = json.ids(LogitRules.MAX_ALLOWED_TOKENS, place);
        if (allowed.length == 0) {
            throw FieldReader.invalid(place, "'" + place + "' is empty");
        }
        return allowed;
    }

    /** A temperature so low that only the likeliest token is left is greedy, and is sent as such. */
    private static float drawable(float temperature) {
        return temperature < SamplingParameters.MIN_TEMPERATURE ? 0f : temperature;
    }

    /** @return its digest, as workers and index know it: the secret itself goes no further */
    static String readSalt(FieldReader json, Place place) {
        String salt = json.text(place);
        if (salt.isEmpty() || salt.length() > OpenAiFields.MAX_SALT_CHARS) {
            throw FieldReader.invalid(place, "'" + place + "' has " + salt.length() + " characters, 1 to "
                    + OpenAiFields.MAX_SALT_CHARS + " are taken");
        }
        try {
            byte[] digest = MessageDigest.getInstance("SHA-256").digest(salt.getBytes(StandardCharsets.UTF_8));
            return "s:" + HexFormat.of().formatHex(digest);
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every Java platform has SHA-256", e);
        }
    }

    private static StreamUsage readUsage(FieldValues body, boolean stream) {
        @Nullable FieldValues options = body.object(OpenAiFields.STREAM_OPTIONS);
        if (options == null) {
            return StreamUsage.NOTHING;
        }
        if (!stream) {
            throw new BadRequestException(Fault.INVALID_VALUE, "stream_options",
                    "'stream_options' is only taken with 'stream': true");
        }
        // as vLLM: without the one at the end there is none
        return !options.flag(OpenAiFields.INCLUDE_USAGE) ? StreamUsage.NOTHING
                : options.flag(OpenAiFields.CONTINUOUS_USAGE) ? StreamUsage.ALL_ALONG : StreamUsage.AT_END;
    }
}
