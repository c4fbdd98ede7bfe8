package dev.warmpath.worker.model.weights;

import static dev.warmpath.worker.model.weights.WeightFileException.NO_TENSOR;

import dev.warmpath.worker.compute.WeightFormat;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import tools.jackson.core.JacksonException;
import tools.jackson.core.StreamReadFeature;
import tools.jackson.databind.DeserializationFeature;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * The JSON header of a safetensors file, held to the format's rules: known types, shapes that fit their bytes, and
 * tensors that fill the data part without overlap or hole.
 */
final class SafetensorsHeader {

    /** Where one tensor lies; bounds in the file, the end exclusive. */
    record Entry(String name, WeightFormat format, List<Integer> shape, long start, long end) {
    }

    private static final String METADATA = "__metadata__";
    private static final JsonMapper JSON = JsonMapper.builder()
            .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
            .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
            .build();

    private final Path file;
    private final long dataStart;
    private final long fileSize;

    /** @param dataStart byte in the file from which the header's offsets count */
    SafetensorsHeader(Path file, long dataStart, long fileSize) {
        this.file = file;
        this.dataStart = dataStart;
        this.fileSize = fileSize;
    }

    /** @return the tensors in the order of the file */
    List<Entry> parse(byte[] header) {
        List<Entry> entries = new ArrayList<>();
        JsonNode root = readTree(header);
        for (var property : root.properties()) {
            if (!property.getKey().equals(METADATA)) {
                entries.add(entry(property.getKey(), property.getValue()));
            }
        }
        entries.sort(Comparator.comparingLong(Entry::start).thenComparingLong(Entry::end));
        requireGapless(entries);
        return entries;
    }

    private JsonNode readTree(byte[] header) {
        JsonNode root;
        try {
            root = JSON.readTree(header);
        } catch (JacksonException e) {
            long at = Math.max(0, e.getLocation() == null ? 0 : e.getLocation().getByteOffset());
            throw refused(NO_TENSOR, SafetensorsFile.LENGTH_BYTES + at,
                    "header is not JSON: " + e.getOriginalMessage());
        }
        if (!root.isObject()) {
            throw refused(NO_TENSOR, SafetensorsFile.LENGTH_BYTES, "header is not a JSON object");
        }
        return root;
    }

    private Entry entry(String name, JsonNode node) {
        JsonNode offsets = node.path("data_offsets");
        if (!offsets.isArray() || offsets.size() != 2 || !isCount(offsets.path(0)) || !isCount(offsets.path(1))) {
            throw refused(name, SafetensorsFile.LENGTH_BYTES, "data_offsets are not two whole numbers: " + offsets);
        }
        long begin = offsets.path(0).longValue();
        long end = offsets.path(1).longValue();
        if (begin > end || end > fileSize - dataStart) {
            throw refused(name, dataStart + Math.min(begin, fileSize),
                    "data_offsets [%d, %d] leave the data of %d bytes".formatted(begin, end, fileSize - dataStart));
        }
        WeightFormat format = format(name, dataStart + begin, node.path("dtype"));
        List<Integer> shape = shape(name, dataStart + begin, node.path("shape"));
        long elements = 1;
        for (int dimension : shape) {
            elements = dimension == 0 ? 0 : multiply(elements, dimension);
        }
        long bytes = format.bytes(elements);
        if (bytes != end - begin) {
            throw refused(name, dataStart + begin, "shape %s of %s takes %d bytes, has %d"
                    .formatted(shape, format, bytes, end - begin));
        }
        return new Entry(name, format, shape, dataStart + begin, dataStart + end);
    }

    private WeightFormat format(String name, long offset, JsonNode dtype) {
        return switch (dtype.isString() ? dtype.stringValue() : dtype.toString()) {
            case "F32" -> WeightFormat.F32;
            case "BF16" -> WeightFormat.BF16;
            case String other -> throw refused(name, offset, "dtype %s, takes F32 and BF16".formatted(other));
        };
    }

    private List<Integer> shape(String name, long offset, JsonNode node) {
        List<Integer> shape = new ArrayList<>();
        for (JsonNode dimension : node) {
            if (!isCount(dimension) || dimension.longValue() > Integer.MAX_VALUE) {
                throw refused(name, offset, "shape holds " + dimension);
            }
            shape.add(dimension.intValue());
        }
        if (!node.isArray()) {
            throw refused(name, offset, "shape is not a list: " + node);
        }
        return shape;
    }

    private void requireGapless(List<Entry> entries) {
        long expected = dataStart;
        for (Entry entry : entries) {
            if (entry.start() != expected) {
                throw refused(entry.name(), entry.start(), "%s before it: data is expected at byte %d"
                        .formatted(entry.start() < expected ? "overlaps the tensor" : "leaves a hole", expected));
            }
            expected = entry.end();
        }
        if (expected != fileSize) {
            throw refused(NO_TENSOR, expected, "%d bytes belong to no tensor".formatted(fileSize - expected));
        }
    }

    private static boolean isCount(JsonNode node) {
        return node.isIntegralNumber() && node.canConvertToLong() && node.longValue() >= 0;
    }

    /** Saturates, so that a product past 64 bits fits no file. */
    private static long multiply(long elements, int dimension) {
        return elements > Long.MAX_VALUE / dimension ? Long.MAX_VALUE : elements * dimension;
    }

    private WeightFileException refused(String tensor, long offset, String problem) {
        return new WeightFileException(file, tensor, offset, problem);
    }
}
