package dev.warmpath.worker.model;

import dev.warmpath.worker.model.source.ModelFile;
import dev.warmpath.worker.model.source.ModelSource;
import java.io.IOException;
import java.nio.file.Path;
import tools.jackson.databind.JsonNode;

/** Where a model's end-of-sequence tokens are written down in the Hugging Face layout. */
public final class EosTokens {

    private static final String KEY = "eos_token_id";

    private EosTokens() {}

    /**
     * The ids of {@code generation_config.json}, where chat models list several, else those of {@code config.json}.
     *
     * @return at least one id, unless the model names none
     * @throws UnsupportedModelException if the value is neither an id nor a list of ids
     */
    public static int[] read(ModelSource source) throws IOException {
        for (String name : new String[] {ModelSource.GENERATION_CONFIG, ModelSource.CONFIG}) {
            ModelFile file = source.file(name);
            if (file != null) {
                JsonNode ids = ConfigFile.JSON.readTree(file.content()).path(KEY);
                if (!ids.isMissingNode() && !ids.isNull()) {
                    return ids(source.path().resolve(name), ids);
                }
            }
        }
        return new int[0];
    }

    private static int[] ids(Path file, JsonNode value) {
        if (value.isInt()) {
            return new int[] {value.asInt()};
        }
        if (!value.isArray() || !value.valueStream().allMatch(JsonNode::isInt)) {
            throw new UnsupportedModelException(file + ": " + KEY + " is " + value + ", not a token id or a list of them");
        }
        return value.valueStream().mapToInt(JsonNode::asInt).toArray();
    }
}
