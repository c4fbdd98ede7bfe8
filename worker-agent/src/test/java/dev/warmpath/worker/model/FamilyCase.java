package dev.warmpath.worker.model;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * A family's tiny model and what plain PyTorch computes for it.
 * @param contextLength that is served; 0: all of it
 */
record FamilyCase(String name, FamilyModel model, int contextLength, List<Prompt> prompts) {

    /**
     * @param logits behind the last token
     * @param greedy tokens that follow
     */
    record Prompt(int[] tokens, float[] logits, int[] greedy) {

        int length() {
            return tokens.length + greedy.length;
        }
    }

    static FamilyCase read(String name) {
        JsonNode file = FamilyModel.read(name);
        return new FamilyCase(name, FamilyModel.of(file), file.path("contextLength").asInt(0),
                Arrays.asList(JsonMapper.shared().treeToValue(file.get("prompts"), Prompt[].class)));
    }

    static List<FamilyCase> all() throws IOException {
        return FamilyModel.names().stream().map(FamilyCase::read).toList();
    }

    ModelConfig config(Path directory) throws IOException {
        ModelConfig config = ModelConfig.read(directory.resolve("config.json"));
        return contextLength == 0 ? config : config.withContextLength(contextLength);
    }

    @Override
    public String toString() {
        return name;
    }
}
