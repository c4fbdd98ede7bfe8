package dev.warmpath.worker.model;

import java.nio.file.Path;
import java.util.List;
import tools.jackson.databind.json.JsonMapper;

/**
 * What torch computes for {@code models/warmpath-tiny} in float32 from the weights as stored.
 * @param contextLength positions of the model
 * @param vocabSize     length of every {@code logits}
 */
public record Golden(int contextLength, int vocabSize, List<Prompt> prompts) {

    public static final Path MODEL = Path.of("..", "models", "warmpath-tiny");

    /**
     * One prompt.
     * @param tokens the prompt's ids
     * @param logits at the prompt's last position
     * @param greedy ids that follow, going on past the end of the text
     */
    public record Prompt(String name, String text, int[] tokens, float[] logits, int[] greedy) {

        @Override
        public String toString() {
            return name;
        }
    }

    public static Golden read() {
        return JsonMapper.builder().build().readValue(MODEL.resolve("golden.json"), Golden.class);
    }
}
