package dev.warmpath.planner.cost;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** Models by name, with the shapes of their published {@code config.json}, or by such a file. */
public final class Models {

    /** Gemma 2 attends to 4,096 tokens only in every other layer: its cache is reckoned as if it kept all. */
    private static final List<ModelShape> BUILT_IN = List.of(
            ModelShape.dense("llama-3.1-8b", 4_096, 14_336, 128_256, 32, 32, 8, 128, false, 131_072),
            ModelShape.dense("llama-3.1-70b", 8_192, 28_672, 128_256, 80, 64, 8, 128, false, 131_072),
            ModelShape.dense("llama-3.2-1b", 2_048, 8_192, 128_256, 16, 32, 8, 64, true, 131_072),
            ModelShape.dense("llama-3.2-3b", 3_072, 8_192, 128_256, 28, 24, 8, 128, true, 131_072),
            ModelShape.dense("qwen2.5-7b", 3_584, 18_944, 152_064, 28, 28, 4, 128, false, 32_768),
            ModelShape.dense("qwen2.5-14b", 5_120, 13_824, 152_064, 48, 40, 8, 128, false, 32_768),
            ModelShape.dense("qwen2.5-32b", 5_120, 27_648, 152_064, 64, 40, 8, 128, false, 32_768),
            ModelShape.dense("qwen2.5-72b", 8_192, 29_568, 152_064, 80, 64, 8, 128, false, 32_768),
            ModelShape.dense("mistral-7b", 4_096, 14_336, 32_768, 32, 32, 8, 128, false, 32_768),
            new ModelShape("mixtral-8x7b", 4_096, 14_336, 32_000, 32, 32, 8, 128, 8, 2, false, 32_768),
            ModelShape.dense("phi-4", 5_120, 17_920, 100_352, 40, 40, 10, 128, false, 16_384),
            ModelShape.dense("gemma-2-9b", 3_584, 14_336, 256_000, 42, 16, 8, 256, true, 8_192));

    private static final String CONFIG = "config.json";
    private static final long MOST_BYTES = 1 << 20;
    private static final int MOST = 10_000_000;
    /** Fields of architectures whose weights or caches have another form. */
    private static final List<String> OTHER_FORMS =
            List.of("kv_lora_rank", "moe_intermediate_size", "n_routed_experts", "text_config", "layer_types");
    private static final JsonMapper JSON = JsonMapper.builder().build();

    private Models() {}

    /** Of the built-in ones. */
    public static List<String> names() {
        return BUILT_IN.stream().map(ModelShape::name).toList();
    }

    /**
     * @param nameOrPath a built-in one's name, a {@code config.json}, or the folder it lies in
     * @throws CostException if it is none of these, or of a form that is not reckoned here
     */
    public static ModelShape named(String nameOrPath) throws IOException {
        String plain = nameOrPath.strip().toLowerCase(Locale.ROOT);
        for (ModelShape each : BUILT_IN) {
            if (each.name().equals(plain)) {
                return each;
            }
        }
        Path path = Path.of(nameOrPath);
        Path file = Files.isDirectory(path) ? path.resolve(CONFIG) : path;
        if (!Files.isRegularFile(file) || Files.size(file) > MOST_BYTES) {
            throw new CostException(nameOrPath, "is no config.json, no folder with one, and none of "
                    + String.join(", ", names()));
        }
        try {
            return of(file.toString(), JSON.readTree(Files.readAllBytes(file)));
        } catch (JacksonException e) {
            throw new CostException(file.toString(), "is no JSON: " + e.getOriginalMessage());
        }
    }

    private static ModelShape of(String file, JsonNode config) throws CostException {
        for (String field : OTHER_FORMS) {
            if (config.hasNonNull(field)) {
                throw new CostException(file, "has " + field + ": models of this form are not reckoned here");
            }
        }
        int hidden = number(file, config, "hidden_size");
        int heads = number(file, config, "num_attention_heads");
        int experts = config.hasNonNull("num_local_experts") ? number(file, config, "num_local_experts") : 1;
        return new ModelShape(file, hidden, number(file, config, "intermediate_size"),
                number(file, config, "vocab_size"), number(file, config, "num_hidden_layers"), heads,
                config.hasNonNull("num_key_value_heads") ? number(file, config, "num_key_value_heads") : heads,
                config.hasNonNull("head_dim") ? number(file, config, "head_dim") : Math.max(1, hidden / heads), experts,
                experts == 1 ? 1 : number(file, config, "num_experts_per_tok"),
                config.path("tie_word_embeddings").asBoolean(false), number(file, config, "max_position_embeddings"));
    }

    private static int number(String file, JsonNode config, String field) throws CostException {
        int value = config.path(field).asInt(0);
        if (value < 1 || value > MOST) {
            throw new CostException(file, field + " is a number from 1 to " + MOST + ", not " + config.path(field));
        }
        return value;
    }
}
