package dev.warmpath.worker.model.weights;

import static dev.warmpath.worker.model.weights.WeightFileException.HEADER;
import static dev.warmpath.worker.model.weights.WeightFileException.shown;

import dev.warmpath.worker.compute.WeightFormat;
import dev.warmpath.worker.model.weights.MappedFile.Entry;
import java.io.InputStream;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JacksonException;
import tools.jackson.core.JsonParser;
import tools.jackson.core.JsonToken;
import tools.jackson.core.StreamReadConstraints;
import tools.jackson.core.StreamReadFeature;
import tools.jackson.core.json.JsonFactory;
import tools.jackson.databind.json.JsonMapper;

/**
 * The JSON header of a safetensors file, held to the format's rules: known types, shapes that fit their bytes, and
 * tensors that fill the data part without overlap or hole. Read token by token: what is wrong costs no more memory than
 * what came before it.
 */
final class SafetensorsHeader {

    /** More than any published model has in one file, by far. */
    static final int MAX_TENSORS = 1 << 18;
    static final int MAX_DIMENSIONS = 8;

    private static final String METADATA = "__metadata__";
    private static final int MAX_CHARS = 1_024;
    static final JsonMapper JSON = JsonMapper.builder(JsonFactory.builder()
            .streamReadConstraints(StreamReadConstraints.builder().maxNameLength(MAX_CHARS).maxStringLength(MAX_CHARS)
                    .build()).build())
            .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
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
    List<Entry> parse(InputStream header) {
        List<Entry> entries = new ArrayList<>();
        try (JsonParser json = JSON.createParser(header)) {
            if (json.nextToken() != JsonToken.START_OBJECT) {
                throw refused(HEADER, SafetensorsFile.LENGTH_BYTES, "is not a JSON object");
            }
            while (json.nextToken() == JsonToken.PROPERTY_NAME) {
                addEntry(json, entries);
            }
            if (json.nextToken() != null) {
                throw refused(HEADER, at(json.currentLocation().getByteOffset()), "goes on after the JSON object");
            }
        } catch (JacksonException e) {
            throw refused(HEADER, at(e.getLocation() == null ? 0 : e.getLocation().getByteOffset()),
                    "is not JSON: " + shown(e.getOriginalMessage()));
        }
        entries.sort(Comparator.comparingLong(Entry::start).thenComparingLong(Entry::end));
        requireGapless(entries);
        return entries;
    }

    private static long at(long headerByte) {
        return SafetensorsFile.LENGTH_BYTES + Math.max(0, headerByte);
    }

    private void addEntry(JsonParser json, List<Entry> entries) {
        String name = json.currentName();
        json.nextToken();
        if (name.equals(METADATA)) {
            json.skipChildren();
        } else if (entries.size() == MAX_TENSORS) {
            throw refused(HEADER, SafetensorsFile.LENGTH_BYTES, "names more than %d tensors".formatted(MAX_TENSORS));
        } else {
            entries.add(entry(name, json));
        }
    }

    private Entry entry(String name, JsonParser json) {
        String part = WeightFileException.tensor(name);
        if (json.currentToken() != JsonToken.START_OBJECT) {
            throw refused(part, SafetensorsFile.LENGTH_BYTES, "is not described by a JSON object");
        }
        String dtype = null;
        long[] shape = null;
        long[] offsets = null;
        while (json.nextToken() == JsonToken.PROPERTY_NAME) {
            String key = json.currentName();
            json.nextToken();
            switch (key) {
                case "dtype" -> dtype = json.currentToken() == JsonToken.VALUE_STRING ? json.getString() : null;
                case "shape" -> shape = counts(part, key, json);
                case "data_offsets" -> offsets = counts(part, key, json);
                default -> throw refused(part, SafetensorsFile.LENGTH_BYTES, "has the unknown key " + shown(key));
            }
        }
        return checked(name, dtype, shape, offsets);
    }

    private long[] counts(String part, String key, JsonParser json) {
        if (json.currentToken() != JsonToken.START_ARRAY) {
            throw refused(part, SafetensorsFile.LENGTH_BYTES, key + " is not a list");
        }
        var counts = new long[MAX_DIMENSIONS];
        int size = 0;
        while (json.nextToken() != JsonToken.END_ARRAY) {
            boolean isCount = json.currentToken() == JsonToken.VALUE_NUMBER_INT
                    && json.getNumberType() != JsonParser.NumberType.BIG_INTEGER && json.getLongValue() >= 0;
            if (!isCount || size == MAX_DIMENSIONS) {
                throw refused(part, SafetensorsFile.LENGTH_BYTES, "%s holds %s, takes up to %d whole numbers"
                        .formatted(key, shown(json.getString()), MAX_DIMENSIONS));
            }
            counts[size++] = json.getLongValue();
        }
        return Arrays.copyOf(counts, size);
    }

    private Entry checked(String name, @Nullable String dtype, long @Nullable [] shape, long @Nullable [] offsets) {
        String part = WeightFileException.tensor(name);
        if (shape == null || offsets == null || offsets.length != 2) {
            throw refused(part, SafetensorsFile.LENGTH_BYTES,
                    "has no shape, or data_offsets are not two whole numbers");
        }
        long begin = offsets[0];
        long end = offsets[1];
        if (begin > end || end > fileSize - dataStart) {
            throw refused(part, dataStart + Math.min(begin, fileSize),
                    "data_offsets [%d, %d] leave the data of %d bytes".formatted(begin, end, fileSize - dataStart));
        }
        long start = dataStart + begin;
        WeightFormat format = format(part, start, dtype);
        List<Integer> dimensions = new ArrayList<>();
        long elements = 1;
        for (long dimension : shape) {
            if (dimension > Integer.MAX_VALUE) {
                throw refused(part, start, "shape holds " + dimension);
            }
            dimensions.add((int) dimension);
            elements = saturatedProduct(elements, dimension);
        }
        long bytes = format.bytes(elements);
        if (bytes != end - begin) {
            throw refused(part, start, "shape %s of %s takes %d bytes, has %d"
                    .formatted(dimensions, format, bytes, end - begin));
        }
        return new Entry(name, format, dimensions, start, bytes);
    }

    private WeightFormat format(String part, long offset, @Nullable String dtype) {
        return switch (dtype) {
            case "F32" -> WeightFormat.F32;
            case "F16" -> WeightFormat.F16;
            case "BF16" -> WeightFormat.BF16;
            case null -> throw refused(part, offset, "has no dtype");
            default -> throw refused(part, offset, "dtype %s, takes F32, F16 and BF16".formatted(shown(dtype)));
        };
    }

    private void requireGapless(List<Entry> entries) {
        long expected = dataStart;
        for (Entry entry : entries) {
            if (entry.start() != expected) {
                throw refused(WeightFileException.tensor(entry.name()), entry.start(),
                        "%s before it: data is expected at byte %d".formatted(
                                entry.start() < expected ? "overlaps the tensor" : "leaves a hole", expected));
            }
            expected = entry.end();
        }
        if (expected != fileSize) {
            throw refused(HEADER, expected, "%d bytes belong to no tensor".formatted(fileSize - expected));
        }
    }

    /** {@link Long#MAX_VALUE} where it would be past 64 bits: so much fits no file. */
    static long saturatedProduct(long elements, long dimension) {
        return dimension != 0 && elements > Long.MAX_VALUE / dimension ? Long.MAX_VALUE : elements * dimension;
    }

    private WeightFileException refused(String part, long offset, String problem) {
        return new WeightFileException(file, part, offset, problem);
    }
}
