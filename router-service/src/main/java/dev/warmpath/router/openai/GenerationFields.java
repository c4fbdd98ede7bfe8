package dev.warmpath.router.openai;

import static dev.warmpath.router.openai.RequestFields.invalid;
import static dev.warmpath.router.openai.RequestFields.textOf;
import static dev.warmpath.router.openai.RequestFields.wrongType;

import dev.warmpath.protocol.generate.SamplingParameters;
import dev.warmpath.protocol.generate.StopConditions;
import dev.warmpath.router.completion.SamplingOverrides;
import java.util.ArrayList;
import java.util.List;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/**
 * The fields that chats and text completions share.
 *
 * @param model        as written
 * @param stream       true: server-sent events
 * @param includeUsage true: a stream ends with a chunk of usage
 * @param sampling     without a seed one is drawn, so that two equal requests differ as they do at OpenAI
 * @param stopStrings  at most {@link #MAX_STOP_STRINGS}
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

    static final int MAX_STOP_STRINGS = 16;
    static final int MAX_STOP_CHARS = 256;
    private static final float SMALLEST_TOP_P = Float.MIN_NORMAL;

    static GenerationFields read(RequestFields body, RandomGenerator seeds) {
        String model = body.requiredText("model");
        boolean stream = body.flag("stream", false);
        return new GenerationFields(model, stream, readIncludeUsage(body, stream), readSampling(body, seeds),
                readStopStrings(body), readStopTokenIds(body), body.flag("ignore_eos", false));
    }

    private static SamplingOverrides readSampling(RequestFields body, RandomGenerator seeds) {
        @Nullable Float temperature = body.number("temperature", 0f, SamplingParameters.MAX_TEMPERATURE);
        @Nullable Float topP = body.number("top_p", 0f, 1f);
        if (topP != null && topP < SMALLEST_TOP_P) {
            throw invalid("top_p", "'top_p' is " + body.value("top_p") + ", it must be above 0 and at most 1");
        }
        // -1 is vLLM's way to say "all"
        @Nullable Integer topK = body.integer("top_k", -1, Integer.MAX_VALUE);
        @Nullable Long seed = body.longInteger("seed");
        return new SamplingOverrides(temperature == null ? null : drawable(temperature),
                topK == null ? null : Math.max(topK, 0), topP, seed == null ? seeds.nextLong() : seed);
    }

    /** A temperature so low that only the likeliest token is left is greedy, and is sent as such. */
    private static float drawable(float temperature) {
        return temperature < SamplingParameters.MIN_TEMPERATURE ? 0f : temperature;
    }

    private static boolean readIncludeUsage(RequestFields body, boolean stream) {
        @Nullable RequestFields options = body.object("stream_options");
        if (options == null) {
            return false;
        }
        if (!stream) {
            throw invalid("stream_options", "'stream_options' is only taken with 'stream': true");
        }
        boolean includeUsage = options.flag("include_usage", false);
        options.refuseUnread(UnservedFields.OF_STREAM_OPTIONS);
        return includeUsage;
    }

    private static List<String> readStopStrings(RequestFields body) {
        @Nullable JsonNode stop = body.value("stop");
        if (stop == null) {
            return List.of();
        }
        if (stop.isString()) {
            return List.of(stopString(stop, "stop"));
        }
        if (!stop.isArray()) {
            throw wrongType("stop", "a string or an array of strings", stop);
        }
        if (stop.size() > MAX_STOP_STRINGS) {
            throw invalid("stop", "'stop' has " + stop.size() + " strings, at most " + MAX_STOP_STRINGS + " are taken");
        }
        List<String> strings = new ArrayList<>();
        for (int i = 0; i < stop.size(); i++) {
            strings.add(stopString(stop.get(i), "stop[" + i + "]"));
        }
        return List.copyOf(strings);
    }

    private static String stopString(JsonNode value, String path) {
        String text = textOf(value, path);
        if (text.isEmpty() || text.length() > MAX_STOP_CHARS) {
            throw invalid(path, "'" + path + "' has " + text.length() + " characters, 1 to " + MAX_STOP_CHARS
                    + " are taken");
        }
        return text;
    }

    private static int[] readStopTokenIds(RequestFields body) {
        int @Nullable [] ids = body.integers("stop_token_ids", 0, Integer.MAX_VALUE, StopConditions.MAX_STOP_TOKEN_IDS);
        return ids == null ? new int[0] : ids;
    }
}
