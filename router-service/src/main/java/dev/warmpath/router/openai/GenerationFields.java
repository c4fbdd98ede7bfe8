package dev.warmpath.router.openai;

import static dev.warmpath.router.fields.FieldReader.invalid;

import dev.warmpath.protocol.generate.SamplingParameters;
import dev.warmpath.router.completion.SamplingOverrides;
import dev.warmpath.router.fields.FieldReader;
import java.util.List;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/**
 * The fields that chats and text completions share.
 *
 * @param model        as written
 * @param stream       true: server-sent events
 * @param includeUsage true: a stream ends with a chunk of usage
 * @param sampling     without a seed one is drawn, so that two equal requests differ as they do at OpenAI
 * @param stopStrings  text that ends the answer
 * @param stopTokenIds vLLM's extra
 * @param ignoreEos    vLLM's extra
 */
record GenerationFields(
        String model,
        boolean stream,
        boolean includeUsage,
        SamplingOverrides sampling,
        List<String> stopStrings,
        int[] stopTokenIds,
        boolean ignoreEos) {

    static GenerationFields read(FieldReader body, RandomGenerator seeds) {
        String model = body.requiredText(OpenAiFields.MODEL);
        boolean stream = body.flag(OpenAiFields.STREAM);
        return new GenerationFields(model, stream, readIncludeUsage(body, stream), readSampling(body, seeds),
                body.texts(OpenAiFields.STOP), body.ids(OpenAiFields.STOP_TOKEN_IDS),
                body.flag(OpenAiFields.IGNORE_EOS));
    }

    private static SamplingOverrides readSampling(FieldReader body, RandomGenerator seeds) {
        @Nullable Float temperature = body.number(OpenAiFields.TEMPERATURE);
        @Nullable Float topP = body.number(OpenAiFields.TOP_P);
        @Nullable Integer topK = body.integer(OpenAiFields.TOP_K);
        @Nullable Long seed = body.integer(OpenAiFields.SEED);
        return new SamplingOverrides(temperature == null ? null : drawable(temperature),
                topK == null ? null : Math.max(topK, 0), topP, seed == null ? seeds.nextLong() : seed);
    }

    /** A temperature so low that only the likeliest token is left is greedy, and is sent as such. */
    private static float drawable(float temperature) {
        return temperature < SamplingParameters.MIN_TEMPERATURE ? 0f : temperature;
    }

    private static boolean readIncludeUsage(FieldReader body, boolean stream) {
        @Nullable FieldReader options = body.object(OpenAiFields.STREAM_OPTIONS);
        if (options == null) {
            return false;
        }
        if (!stream) {
            throw invalid("stream_options", "'stream_options' is only taken with 'stream': true");
        }
        boolean includeUsage = options.flag(OpenAiFields.INCLUDE_USAGE);
        options.refuseOthers();
        return includeUsage;
    }
}
