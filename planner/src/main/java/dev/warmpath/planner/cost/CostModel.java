package dev.warmpath.planner.cost;

import dev.warmpath.planner.simulation.ServiceModel;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.DeserializationFeature;
import tools.jackson.databind.PropertyNamingStrategies;
import tools.jackson.databind.SerializationFeature;
import tools.jackson.databind.json.JsonMapper;

/**
 * What a model costs on a worker, with where that is known from.
 *
 * @param name               as tables name it
 * @param source             where the figures are from, in a sentence
 * @param service            what a step takes
 * @param cacheBytesPerToken of keys and values; 0 if nobody knows
 * @param contextLength      most tokens of a sequence; 0 if nobody knows
 */
public record CostModel(String name, String source, ServiceModel service, long cacheBytesPerToken, int contextLength) {

    /** 80 layers of 8 key-value heads of 128 numbers in bfloat16: Llama 3.1 70B, by its {@code config.json}. */
    public static final CostModel LARGE_ON_FOUR_CARDS = new CostModel("large-on-four-cards",
            "an estimate for 70 billion parameters on four cards of 2024", ServiceModel.LARGE_ON_FOUR_CARDS, 327_680,
            131_072);
    public static final CostModel TINY_ON_A_PROCESSOR = new CostModel("tiny-on-a-processor",
            "measured by a worker of itself: warmpath-tiny on one thread of a processor of 2024",
            ServiceModel.TINY_ON_A_PROCESSOR, 0, 0);

    private static final List<CostModel> BUILT_IN = List.of(LARGE_ON_FOUR_CARDS, TINY_ON_A_PROCESSOR);
    /** A cost model is some hundred bytes: what is much longer is something else. */
    private static final long MOST_BYTES = 1 << 16;
    /** A quarter of an hour in microseconds; no step takes longer. */
    private static final double MOST_TIME = 1e9;
    private static final JsonMapper JSON = JsonMapper.builder()
            .propertyNamingStrategy(PropertyNamingStrategies.SNAKE_CASE)
            .enable(SerializationFeature.INDENT_OUTPUT)
            .enable(DeserializationFeature.FAIL_ON_NULL_CREATOR_PROPERTIES,
                    DeserializationFeature.FAIL_ON_MISSING_CREATOR_PROPERTIES,
                    DeserializationFeature.FAIL_ON_NULL_FOR_PRIMITIVES,
                    DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES)
            .build();

    /**
     * @param nameOrFile a built-in one's name, or a file as {@link #write} makes it
     * @throws CostException if it is neither, or the file has no cost model in it
     */
    public static CostModel named(String nameOrFile) throws IOException {
        String plain = nameOrFile.strip().toLowerCase(Locale.ROOT);
        for (CostModel each : BUILT_IN) {
            if (each.name.equals(plain)) {
                return each;
            }
        }
        Path file = Path.of(nameOrFile);
        if (!Files.isRegularFile(file)) {
            throw new CostException(nameOrFile, "is neither " + String.join(" nor ", names()) + " nor a file");
        }
        return read(file);
    }

    /** Of the built-in ones. */
    public static List<String> names() {
        return BUILT_IN.stream().map(CostModel::name).toList();
    }

    private static CostModel read(Path file) throws IOException {
        if (Files.size(file) > MOST_BYTES) {
            throw new CostException(file.toString(), "is no cost model: it has " + Files.size(file) + " bytes");
        }
        CostModel model;
        try {
            model = JSON.readValue(Files.readAllBytes(file), CostModel.class);
        } catch (JacksonException e) {
            throw new CostException(file.toString(), "is no cost model: " + e.getOriginalMessage());
        }
        model.check(file.toString());
        return model;
    }

    /** The same with other times. */
    public CostModel withService(ServiceModel other) {
        return new CostModel(name, source, other, cacheBytesPerToken, contextLength);
    }

    /** One small JSON object, with units in its fields' names. */
    public void write(Path file) throws IOException {
        Files.writeString(file, JSON.writeValueAsString(this) + '\n');
    }

    /** @throws CostException if a part is no time that a step can take, or all take none */
    void check(String where) throws CostException {
        time(where, "step_micros", service.stepMicros());
        time(where, "prompt_token_micros", service.promptTokenMicros());
        time(where, "pair_nanos", service.pairNanos());
        time(where, "row_micros", service.rowMicros());
        time(where, "context_token_nanos", service.contextTokenNanos());
        time(where, "request_micros", service.requestMicros());
        if (service.promptTokenMicros() == 0 && service.pairNanos() == 0) {
            throw new CostException(where, "a prompt's token takes no time at all");
        }
        if (cacheBytesPerToken < 0 || contextLength < 0) {
            throw new CostException(where, "cache_bytes_per_token " + cacheBytesPerToken + " and context_length "
                    + contextLength + " are 0 or more");
        }
    }

    private static void time(String where, String part, double value) throws CostException {
        if (!(value >= 0 && value <= MOST_TIME)) {
            throw new CostException(where, part + " is a time from 0 to " + (long) MOST_TIME + ", not " + value);
        }
    }
}
