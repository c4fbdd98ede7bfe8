package dev.warmpath.tokenization;

import static dev.warmpath.protocol.generate.SamplingParameters.MAX_TEMPERATURE;
import static dev.warmpath.protocol.generate.SamplingParameters.MIN_TEMPERATURE;
import static dev.warmpath.tokenization.SamplingDefaults.NONE;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.MissingNode;

/** What a model's other files say about its text. */
final class TokenizerSettings {
    private final JsonNode tokenizerConfig;
    private final JsonNode generationConfig;
    private final JsonNode config;
    private final byte @Nullable [] chatTemplate;

    TokenizerSettings(ModelFiles files) {
        tokenizerConfig = TokenizerJson.parse("tokenizer_config.json", files.tokenizerConfig());
        generationConfig = optional("generation_config.json", files.generationConfig());
        config = optional("config.json", files.config());
        chatTemplate = files.chatTemplate();
    }

    private static JsonNode optional(String name, byte @Nullable [] file) {
        return file == null ? MissingNode.getInstance() : TokenizerJson.parse(name, file);
    }

    /** {@code "bos_token": "<s>"} or {@code {"content": "<s>", …}}. */
    @Nullable String token(String name) {
        JsonNode token = tokenizerConfig.path(name);
        JsonNode content = token.isObject() ? token.path("content") : token;
        return content.isString() ? content.asString() : null;
    }

    List<Integer> eosIds(List<AddedToken> added) {
        for (JsonNode file : List.of(generationConfig, config)) {
            JsonNode ids = file.path("eos_token_id");
            if (ids.isInt() || ids.isArray() && !ids.isEmpty()) {
                return integers(ids);
            }
        }
        @Nullable String eos = token("eos_token");
        return added.stream().filter(token -> token.content().equals(eos)).map(AddedToken::id).toList();
    }

    private static List<Integer> integers(JsonNode ids) {
        if (ids.isInt()) {
            return List.of(ids.asInt());
        }
        var list = new ArrayList<Integer>();
        for (JsonNode id : ids) {
            if (!id.isInt()) {
                throw TokenizerJson.invalid("eos_token_id holds " + id + ", which is no token id");
            }
            list.add(id.asInt());
        }
        return List.copyOf(list);
    }

    /** @throws TokenizationException if a value is outside what can be drawn with */
    SamplingDefaults samplingDefaults() {
        if (!generationConfig.path("do_sample").asBoolean(true)) {
            return new SamplingDefaults(0f, 0, 1f);
        }
        double temperature = number("temperature", NONE.temperature(), 0, MAX_TEMPERATURE);
        return new SamplingDefaults(
                temperature < MIN_TEMPERATURE ? 0f : (float) temperature,
                (int) Math.max(0, number("top_k", NONE.topK(), -1, Integer.MAX_VALUE)),
                (float) number("top_p", NONE.topP(), Float.MIN_NORMAL, 1));
    }

    private double number(String name, double absent, double least, double most) {
        JsonNode value = generationConfig.path(name);
        if (value.isMissingNode() || value.isNull()) {
            return absent;
        }
        if (!value.isNumber() || value.asDouble() < least || value.asDouble() > most) {
            throw TokenizerJson.invalid(
                    name + " in generation_config.json is " + value + ", outside " + least + " to " + most);
        }
        return value.asDouble();
    }

    /** The smaller of the two files' limits: some tokenizers name 10^30, some models more than was trained. */
    int contextLength() {
        return Math.min(limit(config.path("max_position_embeddings")), limit(tokenizerConfig.path("model_max_length")));
    }

    private static int limit(JsonNode number) {
        double value = number.isNumber() ? number.asDouble() : Double.MAX_VALUE;
        return value >= 1 && value < ModelTokenizer.UNBOUNDED ? (int) value : ModelTokenizer.UNBOUNDED;
    }

    /** By name: chat_template.jinja alone, or what tokenizer_config.json has, a string or a list of named ones. */
    Map<String, String> chatTemplates() {
        JsonNode given = tokenizerConfig.path("chat_template");
        if (chatTemplate != null) {
            return Map.of(ChatTemplates.DEFAULT, new String(chatTemplate, StandardCharsets.UTF_8));
        }
        if (given.isString()) {
            return Map.of(ChatTemplates.DEFAULT, given.asString());
        }
        var named = new LinkedHashMap<String, String>();
        for (JsonNode each : given) {
            if (each.path("name").isString() && each.path("template").isString()) {
                named.put(each.path("name").asString(), each.path("template").asString());
            }
        }
        return named;
    }
}
