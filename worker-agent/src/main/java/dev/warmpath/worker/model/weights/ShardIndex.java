package dev.warmpath.worker.model.weights;

import static dev.warmpath.worker.model.weights.WeightFileException.HEADER;
import static dev.warmpath.worker.model.weights.WeightFileException.shown;
import static dev.warmpath.worker.model.weights.WeightFileException.tensor;

import java.io.BufferedInputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import tools.jackson.core.JacksonException;
import tools.jackson.core.JsonParser;
import tools.jackson.core.JsonToken;

/**
 * Which of several files holds which tensor: {@code model.safetensors.index.json}. It must agree with what the files
 * hold, both ways: a shard that is missing, or of another download, is found before anything is computed.
 */
public final class ShardIndex {

    /** Some hundred bytes a tensor, of which the largest models have a hundred thousand. */
    static final int MAX_BYTES = 32 << 20;

    private static final Pattern FILE_NAME = Pattern.compile("[^/\\\\]{1,255}\\.safetensors");

    private final Path file;
    private final Map<String, String> fileByTensor = new LinkedHashMap<>();
    private final Set<String> files = new TreeSet<>();

    private ShardIndex(Path file) {
        this.file = file;
    }

    /**
     * @param file no link
     * @throws WeightFileException if it is no such index
     * @throws IOException if it cannot be read
     */
    public static ShardIndex read(Path file) throws IOException {
        if (Files.size(file) > MAX_BYTES) {
            throw new WeightFileException(file, HEADER, 0, "%d bytes, takes %d".formatted(Files.size(file), MAX_BYTES));
        }
        var index = new ShardIndex(file);
        try (var in = Files.newInputStream(file, StandardOpenOption.READ, LinkOption.NOFOLLOW_LINKS);
                JsonParser json = SafetensorsHeader.JSON.createParser(new BufferedInputStream(in))) {
            index.parse(json);
        } catch (JacksonException e) {
            throw index.refused(HEADER, e.getLocation() == null ? 0 : e.getLocation().getByteOffset(),
                    "is not JSON: " + shown(e.getOriginalMessage()));
        }
        return index;
    }

    private void parse(JsonParser json) {
        boolean hasMap = false;
        if (json.nextToken() != JsonToken.START_OBJECT) {
            throw refused(HEADER, 0, "is not a JSON object");
        }
        while (json.nextToken() == JsonToken.PROPERTY_NAME) {
            boolean isMap = json.currentName().equals("weight_map");
            hasMap |= isMap;
            json.nextToken();
            if (isMap) {
                parseMap(json);
            } else {
                json.skipChildren();
            }
        }
        if (!hasMap || json.nextToken() != null) {
            throw refused(HEADER, json.currentLocation().getByteOffset(), hasMap ? "goes on after the JSON object"
                    : "has no weight_map");
        }
    }

    private void parseMap(JsonParser json) {
        if (json.currentToken() != JsonToken.START_OBJECT) {
            throw refused(HEADER, json.currentLocation().getByteOffset(), "weight_map is not a JSON object");
        }
        while (json.nextToken() == JsonToken.PROPERTY_NAME) {
            String name = json.currentName();
            boolean isName = json.nextToken() == JsonToken.VALUE_STRING
                    && FILE_NAME.matcher(json.getString()).matches();
            if (!isName || fileByTensor.size() == SafetensorsHeader.MAX_TENSORS) {
                throw refused(tensor(name), json.currentLocation().getByteOffset(),
                        "lies in no *.safetensors file of this folder, or is one of too many");
            }
            files.add(json.getString());
            fileByTensor.put(name, json.getString());
        }
    }

    /** Names, in their order. */
    public Set<String> files() {
        return files;
    }

    /**
     * @param opened by name: exactly {@link #files}
     * @throws WeightFileException naming the first tensor that lies elsewhere than the index says
     */
    public void check(Map<String, WeightFile> opened) {
        Map<String, String> unseen = new LinkedHashMap<>(fileByTensor);
        opened.forEach((name, shard) -> {
            for (WeightTensor found : shard.tensors()) {
                if (!unseen.remove(found.name(), name)) {
                    throw refused(tensor(found.name()), 0, "lies in %s, but the index has %s for it".formatted(name,
                            shown(fileByTensor.getOrDefault(found.name(), "nothing"))));
                }
            }
        });
        if (!unseen.isEmpty()) {
            var missing = unseen.entrySet().iterator().next();
            throw refused(tensor(missing.getKey()), 0, "does not lie in %s, as the index has it"
                    .formatted(shown(missing.getValue())));
        }
    }

    private WeightFileException refused(String part, long offset, String problem) {
        return new WeightFileException(file, part, Math.max(0, offset), problem);
    }
}
