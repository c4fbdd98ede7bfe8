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
import java.util.Objects;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/**
 * A chat or a text completion, as its body asks for it.
 *
 * @param includeUsage true: a stream ends with a chunk of usage
 */
record GenerationRequest(CompletionRequest completion, boolean includeUsage) {

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
                readSampling(body, seeds), limit, body.texts(OpenAiFields.STOP),
                body.ids(OpenAiFields.STOP_TOKEN_IDS), body.flag(OpenAiFields.IGNORE_EOS),
                Objects.requireNonNullElse(body.integer(OpenAiFields.MIN_TOKENS), 0), readLogits(body), stream, tools);
        return new GenerationRequest(completion, readIncludeUsage(body, stream));
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

    private static boolean readIncludeUsage(FieldValues body, boolean stream) {
        @Nullable FieldValues options = body.object(OpenAiFields.STREAM_OPTIONS);
        if (options == null) {
            return false;
        }
        if (!stream) {
            throw new BadRequestException(Fault.INVALID_VALUE, "stream_options",
                    "'stream_options' is only taken with 'stream': true");
        }
        return options.flag(OpenAiFields.INCLUDE_USAGE);
    }
}
