package dev.warmpath.worker.model;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import java.util.function.Predicate;
import tools.jackson.core.JacksonException;
import tools.jackson.core.StreamReadFeature;
import tools.jackson.core.json.JsonReadFeature;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * A Hugging Face {@code config.json}, or an object in one, read strictly: every key is asked for by the model's
 * family, is off, is known to change nothing, or refuses the model. A key that is skipped in silence is how a model
 * serves wrong text. What is wrong is collected while the family reads on, and told all at once by
 * {@link #requireSound}: until then a value that is refused reads as one that does no harm.
 */
final class ConfigFile {

    /** Infinity stands in published files, as Python writes it. */
    static final JsonMapper JSON = JsonMapper.builder().enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
            .enable(JsonReadFeature.ALLOW_NON_NUMERIC_NUMBERS).build();
    private static final int LONGEST_VALUE = 80;

    /** Say how the model was trained, stored or run, or what a text ends with; change nothing in the arithmetic. */
    private static final Set<String> HARMLESS = Set.of(
            "torch_dtype", "dtype", "_name_or_path", "_commit_hash", "_from_model_config", "initializer_range",
            "attention_dropout", "hidden_dropout", "resid_pdrop", "embd_pdrop", "pretraining_tp", "is_llama_config",
            "use_cache", "cache_implementation", "_attn_implementation", "_attn_implementation_internal",
            "_attn_implementation_autoset", "attn_implementation", "use_flash_attn", "gradient_checkpointing",
            "transformers.js_config", "unsloth_fixed", "tf_legacy_loss", "torchscript", "id2label", "label2id",
            "num_labels", "problem_type", "finetuning_task", "task_specific_params", "tokenizer_class",
            "chunk_size_feed_forward", "is_decoder", "return_dict", "model_max_length", "max_sequence_length",
            // tokens, and what older files say of drawing them
            "bos_token_id", "eos_token_id", "pad_token_id", "sep_token_id", "unk_token_id", "decoder_start_token_id",
            "max_length", "min_length", "max_new_tokens", "do_sample", "temperature", "top_k", "top_p", "typical_p",
            "num_beams", "num_beam_groups", "diversity_penalty", "length_penalty", "repetition_penalty",
            "encoder_no_repeat_ngram_size", "no_repeat_ngram_size", "num_return_sequences", "early_stopping");

    /** A model without such a head at its end does not tell which token comes next. */
    private static final List<String> HEADS = List.of("ForCausalLM", "LMHeadModel", "ForConditionalGeneration");

    private final String source;
    private final String name;
    private final JsonNode config;
    private final Set<String> asked = new HashSet<>();
    private final Map<String, ConfigFile> parts = new LinkedHashMap<>();
    private final ConfigFile whole;
    private final Set<String> problems = new LinkedHashSet<>();

    private ConfigFile(String source, JsonNode config) {
        this.source = source;
        this.name = "";
        this.config = config;
        this.whole = this;
    }

    /** @param name of the object inside the file, with a dot behind it */
    private ConfigFile(ConfigFile whole, String name, JsonNode config) {
        this.source = whole.source;
        this.name = name;
        this.config = config;
        this.whole = whole;
    }

    /**
     * @throws UnsupportedModelException if it is not a JSON object
     * @throws IOException if it cannot be read
     */
    static ConfigFile read(Path file) throws IOException {
        return of(file, Files.readAllBytes(file));
    }

    /**
     * @param file for messages
     * @throws UnsupportedModelException if the content is not a JSON object
     */
    static ConfigFile of(Path file, byte[] content) {
        try {
            return of(file.toString(), JSON.readTree(content));
        } catch (JacksonException e) {
            throw new UnsupportedModelException(file + " is not JSON: " + e.getOriginalMessage());
        }
    }

    /**
     * @param source where it was found, for messages
     * @throws UnsupportedModelException if it is not an object
     */
    static ConfigFile of(String source, JsonNode config) {
        if (!config.isObject()) {
            throw new UnsupportedModelException(source + " is not a JSON object");
        }
        return new ConfigFile(source, config);
    }

    /**
     * What has been read of the whole file is all that there is to know of the model.
     * @throws UnsupportedModelException naming every key that is neither asked for nor harmless, and every value that
     *                                   was refused
     */
    void requireSound() {
        whole.requireKnown();
        if (!whole.problems.isEmpty()) {
            throw problem();
        }
    }

    /** Tells all that was refused so far. */
    UnsupportedModelException problem() {
        return new UnsupportedModelException(source + ": " + String.join("; ", whole.problems));
    }

    private void requireKnown() {
        config.properties().forEach(property -> {
            String key = property.getKey();
            if (key.equals("architectures")) {
                requireHead(property.getValue());
            } else if (!asked.contains(key) && !isHarmless(key) && !isOff(property.getValue())) {
                refuse(key, "which is not implemented");
            }
        });
        parts.values().forEach(ConfigFile::requireKnown);
    }

    private static boolean isHarmless(String key) {
        return HARMLESS.contains(key) || key.endsWith("_version");
    }

    private static boolean isOff(JsonNode value) {
        return value.isNull() || value.isBoolean() && !value.booleanValue() || value.isContainer() && value.isEmpty();
    }

    private void requireHead(JsonNode classes) {
        boolean writes = classes.isEmpty() || classes.valueStream()
                .anyMatch(each -> each.isString() && HEADS.stream().anyMatch(each.stringValue()::endsWith));
        if (!writes) {
            refuse("architectures", "takes a model that writes text");
        }
    }

    /** @param why a clause that follows key and value */
    void refuse(String key, String why) {
        JsonNode value = config.path(key);
        String text = value.isMissingNode() ? "missing" : value.toString();
        whole.problems.add("%s%s is %s, %s".formatted(name, key,
                text.length() <= LONGEST_VALUE ? text : text.substring(0, LONGEST_VALUE) + "…", why));
    }

    // ---- what a family asks for: null is refused unless a method says what it means

    /** True if the key is there and not null. */
    boolean has(String key) {
        return config.hasNonNull(key);
    }

    /** Whatever these keys say changes nothing in this model. */
    void pass(String... keys) {
        asked.addAll(List.of(keys));
    }

    /** An object in this one, the same at each call; empty if it is absent, null or no object, which is refused. */
    ConfigFile part(String key) {
        return parts.computeIfAbsent(key, _ -> {
            boolean isObject = has(key) && value(key, JsonNode::isObject, "takes an object");
            JsonNode object = isObject ? config.get(key) : JSON.createObjectNode();
            return new ConfigFile(whole, name + key + ".", object);
        });
    }

    /** Marks the key as asked for. @return whether its value is there and passes; what does not is refused */
    private boolean value(String key, Predicate<JsonNode> takes, String why) {
        asked.add(key);
        if (!config.has(key)) {
            return false;
        }
        boolean taken = takes.test(config.get(key));
        if (!taken) {
            refuse(key, why);
        }
        return taken;
    }

    /** @return 1 and above; 1 if it is missing, which is refused */
    int integer(String key) {
        if (!config.has(key)) {
            refuse(key, "takes a whole number from 1 on");
        }
        return integer(key, 1);
    }

    /** @return 1 and above */
    int integer(String key, int absent) {
        return integerFrom(1, key, absent);
    }

    /** @return 1 and above, or what stands for an absent key or for null */
    int integer(String key, int absent, int ofNull) {
        return config.path(key).isNull() ? ofNull : integer(key, absent);
    }

    int integerFrom(int least, String key, int absent) {
        return value(key, value -> value.isIntegralNumber() && value.canConvertToInt() && value.intValue() >= least,
                "takes a whole number from " + least + " on") ? config.get(key).intValue() : absent;
    }

    /** @return above 0 */
    double number(String key, double absent) {
        return value(key, ConfigFile::isPositive, "takes a number above 0") ? config.get(key).doubleValue() : absent;
    }

    /** @return above 0, or what stands for an absent key or for null */
    double number(String key, double absent, double ofNull) {
        return config.path(key).isNull() ? ofNull : number(key, absent);
    }

    private static boolean isPositive(JsonNode value) {
        return value.isNumber() && value.doubleValue() > 0 && Double.isFinite(value.doubleValue());
    }

    /** Null is false, as in Python; where the default is true versions of transformers differ, and it is refused. */
    boolean bool(String key, boolean absent) {
        if (config.path(key).isNull() && !absent) {
            return false;
        }
        return value(key, JsonNode::isBoolean, "takes true or false") ? config.get(key).booleanValue() : absent;
    }

    String text(String key, String absent) {
        return value(key, JsonNode::isString, "takes a text") ? config.get(key).stringValue() : absent;
    }

    /** Each above 0; empty if there are none, or null. */
    List<Double> numbers(String key) {
        return list(key, ConfigFile::isPositive, JsonNode::doubleValue, "takes numbers above 0");
    }

    /** Each 0 or above; empty if there are none, or null. */
    List<Integer> integers(String key) {
        return list(key, value -> value.isIntegralNumber() && value.canConvertToInt() && value.intValue() >= 0,
                JsonNode::intValue, "takes whole numbers");
    }

    /** Empty if there are none, or null. */
    List<String> texts(String key) {
        return list(key, JsonNode::isString, JsonNode::stringValue, "takes texts");
    }

    private <T> List<T> list(String key, Predicate<JsonNode> takes, Function<JsonNode, T> element, String why) {
        boolean taken = has(key) && value(key, list -> list.isArray() && list.valueStream().allMatch(takes), why);
        return taken ? config.get(key).valueStream().map(element).toList() : List.of();
    }

    /** Refuses another text; absent is all right. */
    void require(String key, String... texts) {
        value(key, value -> value.isString() && List.of(texts).contains(value.stringValue()),
                "takes " + String.join(" or ", texts));
    }

    private static String classOf(JsonNode module) {
        String name = module.isString() ? module.stringValue() : "";
        return name.substring(name.lastIndexOf('.') + 1);
    }

    /**
     * A file may bring code of its own, which is not run: it is taken if that is the family's own, as files say that
     * are older than the family's place in transformers.
     * @param classes prefix of the names of the family's classes, such as {@code Phi3}
     */
    void requireOwnCode(String classes) {
        if (has("auto_map") && value("auto_map", JsonNode::isObject, "takes an object")) {
            boolean own = config.get("auto_map").propertyStream().allMatch(entry ->
                    entry.getKey().equals("AutoTokenizer") || classOf(entry.getValue()).startsWith(classes));
            if (!own) {
                refuse("auto_map", "which is code that this worker does not run");
            }
        }
    }
}
