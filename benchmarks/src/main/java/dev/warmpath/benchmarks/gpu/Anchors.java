package dev.warmpath.benchmarks.gpu;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * What {@code anchor.py} measured on the same card in the same run: PyTorch's FlashAttention-2 on contiguous keys and
 * values.
 * @param flashMedianNanos by the name of the shape
 * @param absence          why shapes may be missing, in words
 */
record Anchors(Map<String, Double> flashMedianNanos, String absence) {

    /** A missing or broken file is no anchor, and says so. */
    static Anchors read(@Nullable Path file) {
        if (file == null) {
            return new Anchors(Map.of(), "no anchors were measured");
        }
        try {
            return parse(JsonMapper.shared().readTree(Files.readAllBytes(file)));
        } catch (IOException | JacksonException e) {
            return new Anchors(Map.of(), "the anchors cannot be read: " + e.getMessage());
        }
    }

    private static Anchors parse(JsonNode json) {
        Map<String, Double> medians = new HashMap<>();
        json.path("cases").properties().forEach(shape -> {
            JsonNode median = shape.getValue().path("flash").path("median_us");
            if (median.isNumber()) {
                medians.put(shape.getKey(), median.doubleValue() * 1e3);
            }
        });
        return new Anchors(medians, "no anchor: " + json.path("error").asString("PyTorch brought none"));
    }

    /** @return nanoseconds, or null if there is none */
    @Nullable Double flash(AttentionShape shape) {
        return flashMedianNanos.get(shape.name());
    }
}
