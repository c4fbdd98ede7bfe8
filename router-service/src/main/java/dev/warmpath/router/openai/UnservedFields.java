package dev.warmpath.router.openai;

import java.util.HashMap;
import java.util.Map;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/**
 * Fields that clients know from OpenAI or vLLM and that are not served. Many clients write them with the value that
 * asks for nothing, as {@code "n": 1}; those values pass, all others are refused by name.
 */
final class UnservedFields {

    /** A value that asks for nothing, and how to say so to a client. */
    private record Neutral(Predicate<JsonNode> test, String words) {}

    private static final Neutral NONE = new Neutral(value -> false, "");
    private static final Neutral EMPTY = new Neutral(
            value -> value.isContainer() && value.isEmpty(), "other than empty");
    private static final Neutral ANY_OBJECT = new Neutral(JsonNode::isObject, "other than an object");
    private static final Neutral ANY_FLAG = new Neutral(JsonNode::isBoolean, "other than true or false");
    private static final Neutral ANY_TEXT = new Neutral(JsonNode::isString, "other than a string");

    /** Of the body of a chat. */
    static final UnservedFields OF_CHAT = new UnservedFields(generation())
            .add("tools", EMPTY)
            .add("tool_choice", oneOf("none", "auto"))
            .add("parallel_tool_calls", ANY_FLAG)
            .add("functions", EMPTY)
            .add("function_call", oneOf("none", "auto"))
            .add("logprobs", flag(false))
            .add("top_logprobs", number(0))
            .add("modalities", new Neutral(
                    value -> value.size() == 1 && value.path(0).isString()
                            && value.path(0).stringValue().equals("text"), "other than [\"text\"]"))
            .add("audio", NONE)
            .add("prediction", NONE)
            .add("reasoning_effort", NONE)
            .add("verbosity", NONE)
            .add("web_search_options", NONE)
            .add("continue_final_message", flag(false))
            .add("echo", flag(false))
            .add("chat_template", NONE)
            .add("chat_template_kwargs", EMPTY)
            .add("documents", EMPTY)
            .add("add_special_tokens", flag(false));

    /** Of the body of a text completion. */
    static final UnservedFields OF_TEXT = new UnservedFields(generation())
            .add("logprobs", NONE)
            .add("best_of", number(1))
            .add("echo", flag(false))
            .add("suffix", new Neutral(value -> value.isString() && value.stringValue().isEmpty(), "other than empty"))
            .add("prompt_embeds", NONE)
            .add("add_special_tokens", flag(true));

    /** Of one message of a chat. */
    static final UnservedFields OF_MESSAGE = new UnservedFields(Map.of())
            .add("tool_calls", EMPTY)
            .add("tool_call_id", NONE)
            .add("function_call", NONE)
            .add("refusal", NONE)
            .add("audio", NONE)
            .add("annotations", EMPTY)
            .add("reasoning", NONE)
            .add("reasoning_content", NONE);

    /** Of stream_options. */
    static final UnservedFields OF_STREAM_OPTIONS = new UnservedFields(Map.of())
            .add("continuous_usage_stats", flag(false))
            .add("include_obfuscation", flag(false));

    /** Of the body of a tokenization. */
    static final UnservedFields OF_TOKENIZE = new UnservedFields(Map.of())
            .add("add_special_tokens", flag(false))
            .add("return_token_strs", flag(false))
            .add("continue_final_message", flag(false))
            .add("chat_template", NONE)
            .add("chat_template_kwargs", EMPTY)
            .add("tools", EMPTY);

    /** Of a smaller object, where every field that is served is all there is. */
    static final UnservedFields NOTHING = new UnservedFields(Map.of());

    private final Map<String, Neutral> neutralByName;

    private UnservedFields(Map<String, Neutral> neutralByName) {
        this.neutralByName = new HashMap<>(neutralByName);
    }

    boolean knows(String name) {
        return neutralByName.containsKey(name);
    }

    /** Whether the field is known and this value of it asks for nothing. */
    boolean isNeutral(String name, JsonNode value) {
        Neutral neutral = neutralByName.get(name);
        return neutral != null && (value.isNull() || neutral.test.test(value));
    }

    /** {@code " (other than 1)"}: what a refusal says about the values that pass; empty if only null does. */
    String exceptNeutral(String name) {
        @Nullable Neutral neutral = neutralByName.get(name);
        return neutral == null || neutral.words.isEmpty() ? "" : " (" + neutral.words + ")";
    }

    private UnservedFields add(String name, Neutral neutral) {
        neutralByName.put(name, neutral);
        return this;
    }

    private static Map<String, Neutral> generation() {
        return new UnservedFields(Map.of())
                .add("n", number(1))
                .add("presence_penalty", number(0))
                .add("frequency_penalty", number(0))
                .add("repetition_penalty", number(1))
                .add("length_penalty", number(1))
                .add("min_p", number(0))
                .add("min_tokens", number(0))
                .add("logit_bias", EMPTY)
                .add("response_format", new Neutral(
                        value -> value.size() == 1 && value.path("type").isString()
                                && value.path("type").stringValue().equals("text"), "other than {\"type\":\"text\"}"))
                .add("structured_outputs", NONE)
                .add("guided_json", NONE)
                .add("guided_regex", NONE)
                .add("guided_choice", NONE)
                .add("guided_grammar", NONE)
                .add("cache_salt", NONE)
                .add("priority", number(0))
                .add("prompt_logprobs", number(0))
                .add("truncate_prompt_tokens", NONE)
                .add("return_token_ids", flag(false))
                .add("use_beam_search", flag(false))
                .add("skip_special_tokens", flag(true))
                .add("spaces_between_special_tokens", flag(true))
                .add("include_stop_str_in_output", flag(false))
                .add("allowed_token_ids", NONE)
                .add("bad_words", EMPTY)
                .add("logits_processors", NONE)
                .add("kv_transfer_params", NONE)
                .add("vllm_xargs", EMPTY)
                .add("x_router", NONE)
                // a stored answer could be asked for later: only the promise not to store is kept
                .add("store", flag(false))
                .add("service_tier", oneOf("auto", "default"))
                // what follows names the caller or hints at caching; it changes no answer, and routing by prefix
                // finds what the hint is for
                .add("user", ANY_TEXT)
                .add("metadata", ANY_OBJECT)
                .add("safety_identifier", ANY_TEXT)
                .add("prompt_cache_key", ANY_TEXT)
                .neutralByName;
    }

    private static Neutral number(int neutral) {
        return new Neutral(value -> value.isNumber() && value.doubleValue() == neutral, "other than " + neutral);
    }

    private static Neutral flag(boolean neutral) {
        return new Neutral(value -> value.isBoolean() && value.booleanValue() == neutral, "other than " + neutral);
    }

    private static Neutral oneOf(String first, String second) {
        return new Neutral(value -> value.isString()
                && (value.stringValue().equals(first) || value.stringValue().equals(second)),
                "other than \"" + first + "\" and \"" + second + "\"");
    }
}
