package dev.warmpath.router.openai;

import static dev.warmpath.router.fields.Field.REQUIRED;

import dev.warmpath.protocol.generate.GenerateRequest;
import dev.warmpath.protocol.generate.LogitRules;
import dev.warmpath.protocol.generate.SamplingParameters;
import dev.warmpath.protocol.generate.StopConditions;
import dev.warmpath.router.fields.Field.Flag;
import dev.warmpath.router.fields.Field.Ids;
import dev.warmpath.router.fields.Field.Mixed;
import dev.warmpath.router.fields.Field.Nested;
import dev.warmpath.router.fields.Field.Real;
import dev.warmpath.router.fields.Field.Several;
import dev.warmpath.router.fields.Field.Text;
import dev.warmpath.router.fields.Field.Texts;
import dev.warmpath.router.fields.Field.Unserved;
import dev.warmpath.router.fields.Field.Whole;
import dev.warmpath.router.fields.Field.Whole64;
import dev.warmpath.router.fields.FieldReader;
import dev.warmpath.router.fields.FieldTable;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The fields of every request, OpenAI's and vLLM's. {@code docs/api.md} shows them, and a test holds it to these
 * tables. A field that comes to be served changes its row.
 */
final class OpenAiFields {

    static final int DEFAULT_MAX_TOKENS_OF_TEXT = 16;
    private static final int MAX_MESSAGES = 4_096;
    static final int MAX_SALT_CHARS = 1_024;
    private static final String OF_THE_MODEL = "the model's";

    static final Text MODEL = Text.required("model");
    static final Flag STREAM = new Flag("stream", false);
    static final Flag INCLUDE_USAGE = new Flag("include_usage", false);
    static final Flag CONTINUOUS_USAGE = new Flag("continuous_usage_stats", false);
    static final Nested STREAM_OPTIONS = new Nested("stream_options", FieldTable.of(
            INCLUDE_USAGE, CONTINUOUS_USAGE,
            Unserved.unless("include_obfuscation", false)), "none");
    static final Whole MAX_TOKENS = new Whole("max_tokens", 1, "what the context has room for");
    /** 0 beside {@code echo}: nothing but what the prompt is to the model. */
    static final Whole MAX_TOKENS_OF_TEXT = new Whole("max_tokens", 0, Integer.toString(DEFAULT_MAX_TOKENS_OF_TEXT));
    static final Real TEMPERATURE =
            new Real("temperature", 0, /* aboveMin */ false, SamplingParameters.MAX_TEMPERATURE, OF_THE_MODEL);
    static final Real TOP_P = new Real("top_p", 0, /* aboveMin */ true, 1, OF_THE_MODEL);
    /** -1 is vLLM's way to say "all", 0 another one. */
    static final Whole TOP_K = new Whole("top_k", -1, OF_THE_MODEL);
    static final Whole64 SEED = new Whole64("seed", "drawn");
    static final Texts STOP = new Texts("stop", 16, 256, "none");
    static final Ids STOP_TOKEN_IDS = new Ids("stop_token_ids", StopConditions.MAX_STOP_TOKEN_IDS, "none");
    static final Flag IGNORE_EOS = new Flag("ignore_eos", false);
    static final Flag INCLUDE_STOP = new Flag("include_stop_str_in_output", false);
    static final Mixed<String> CACHE_SALT = new Mixed<>("cache_salt", "a string of 1 to " + MAX_SALT_CHARS
            + " characters", "none", GenerationRequest::readSalt);
    static final Real MIN_P = new Real("min_p", 0, /* aboveMin */ false, 1, "0");
    static final Real PRESENCE_PENALTY = penalty("presence_penalty");
    static final Real FREQUENCY_PENALTY = penalty("frequency_penalty");
    static final Real REPETITION_PENALTY =
            new Real("repetition_penalty", 0.01f, /* aboveMin */ false, LogitRules.MAX_PENALTY, "1");
    static final Whole MIN_TOKENS = new Whole("min_tokens", 0, "0");
    static final Whole N = new Whole("n", 1, GenerateRequest.MAX_CHOICES, "1");
    static final Whole PROMPT_LOGPROBS = alternatives("prompt_logprobs");
    static final Flag RETURN_TOKEN_IDS = new Flag("return_token_ids", false);
    /** -1 is vLLM's way to say "to the context". */
    static final Whole TRUNCATE_PROMPT_TOKENS = new Whole("truncate_prompt_tokens", -1, "none");
    static final Whole PRIORITY = new Whole("priority", "0");
    static final Mixed<LogitBias> LOGIT_BIAS = new Mixed<>("logit_bias", "an object, of up to "
            + LogitRules.MAX_BIASES + " token ids a number, -100 to 100", "none", LogitBias::read);
    static final Texts BAD_WORDS = new Texts("bad_words", LogitRules.MAX_BAD_WORDS / 2, 64, "none");
    static final Mixed<int[]> ALLOWED_TOKEN_IDS = new Mixed<>("allowed_token_ids", "1 to "
            + LogitRules.MAX_ALLOWED_TOKENS + " token ids", "all", GenerationRequest::readAllowed);

    private static final FieldTable GENERATION = FieldTable.of(
            MODEL, STREAM, STREAM_OPTIONS, N, TEMPERATURE, TOP_P, TOP_K, SEED, STOP, INCLUDE_STOP,
            STOP_TOKEN_IDS, IGNORE_EOS, MIN_P, PRESENCE_PENALTY, FREQUENCY_PENALTY, REPETITION_PENALTY, MIN_TOKENS,
            LOGIT_BIAS, BAD_WORDS, ALLOWED_TOKEN_IDS, CACHE_SALT, PROMPT_LOGPROBS, RETURN_TOKEN_IDS,
            TRUNCATE_PROMPT_TOKENS, PRIORITY,
            Unserved.unless("length_penalty", 1),
            new Unserved("response_format", json -> json.isObject() && "type".equals(json.nextField())
                    && isTextWord(json) && json.nextField() == null, "{\"type\":\"text\"}"),
            Unserved.always("structured_outputs"),
            Unserved.always("guided_json"),
            Unserved.always("guided_regex"),
            Unserved.always("guided_choice"),
            Unserved.always("guided_grammar"),
            Unserved.unless("use_beam_search", false),
            Unserved.unless("skip_special_tokens", true),
            Unserved.unless("spaces_between_special_tokens", true),
            Unserved.always("logits_processors"),
            Unserved.always("kv_transfer_params"),
            Unserved.unlessEmpty("vllm_xargs"),
            Unserved.always("x_router"),
            // a stored answer could be asked for later: only the promise not to store is kept
            Unserved.unless("store", false),
            Unserved.unlessOneOf("service_tier", "auto", "default"),
            // what follows names the caller or hints at caching; it changes no answer, and routing by prefix finds what
            // the hint is for
            Unserved.unlessString("user"),
            Unserved.unlessObject("metadata"),
            Unserved.unlessString("safety_identifier"),
            Unserved.unlessString("prompt_cache_key"));

    static final Text ROLE = Text.required("role");
    static final Mixed<List<String>> CONTENT = new Mixed<>("content",
            "a string, or parts of a `type` \"text\" and a `text`", "required, but beside `tool_calls`",
            ChatRequest::readContent);
    static final Text NAME = new Text("name", "none");
    static final Mixed<List<Map<String, @Nullable Object>>> TOOL_CALLS = new Mixed<>("tool_calls",
            "calls of an earlier answer, as it had them", "none", ToolFields::readCalls);
    static final Text TOOL_CALL_ID = new Text("tool_call_id", "none");
    static final Text REASONING = new Text("reasoning", "none");
    /** The older name, which wins: answers have it. */
    static final Text REASONING_CONTENT = new Text("reasoning_content", "`reasoning`");
    static final Several MESSAGES = new Several("messages", MAX_MESSAGES, FieldTable.of(
            ROLE, CONTENT, NAME, TOOL_CALLS, TOOL_CALL_ID, REASONING, REASONING_CONTENT,
            Unserved.unlessOneOf("type", "text", "message"),       // as lm-evaluation-harness writes it, and OpenAI
            Unserved.always("function_call"),
            Unserved.always("refusal"),
            Unserved.always("parsed"),                             // what clients have made of an answer themselves
            Unserved.always("audio"),
            Unserved.unlessEmpty("annotations")));
    static final Mixed<String> PART_TYPE = new Mixed<>("type", "a string", REQUIRED, ChatRequest::readPartType);
    static final Text PART_TEXT = Text.required("text");
    /** What the content of a message may be a list of. */
    static final Several PARTS = new Several("content", MAX_MESSAGES, FieldTable.of(
            PART_TYPE, PART_TEXT,
            // of other types: whoever sends its part's type last is told of the same
            Unserved.always("image_url"),
            Unserved.always("input_audio"),
            Unserved.always("file"),
            Unserved.always("refusal")));
    static final Flag ADD_GENERATION_PROMPT = new Flag("add_generation_prompt", true);
    /** The newer name, which wins. */
    static final Whole MAX_COMPLETION_TOKENS = new Whole("max_completion_tokens", 1, "`max_tokens`");

    static final Mixed<List<Map<String, @Nullable Object>>> TOOLS = new Mixed<>("tools",
            "up to " + ToolFields.MAX_TOOLS + " objects of a `type` \"function\" and a `function` with a `name`", "none",
            ToolFields::readTools);
    static final Mixed<Boolean> TOOL_CHOICE = new Mixed<>("tool_choice", "\"auto\" or \"none\"", "auto",
            ToolFields::readChoice);
    static final Flag PARALLEL_TOOL_CALLS = new Flag("parallel_tool_calls", true);
    static final Flag CONTINUE_FINAL_MESSAGE = new Flag("continue_final_message", false);
    static final Mixed<Map<String, @Nullable Object>> CHAT_TEMPLATE_KWARGS = new Mixed<>("chat_template_kwargs",
            "an object, for the chat template", "none", (json, place) -> json.anyObject(place));
    static final Text REASONING_EFFORT = new Text("reasoning_effort", "the chat template's");

    static final Flag LOGPROBS = new Flag("logprobs", false);
    static final Whole TOP_LOGPROBS = alternatives("top_logprobs");

    static final FieldTable CHAT = FieldTable.of(MESSAGES).and(GENERATION).and(FieldTable.of(
            MAX_TOKENS, MAX_COMPLETION_TOKENS, LOGPROBS, TOP_LOGPROBS, TOOLS, TOOL_CHOICE,
            PARALLEL_TOOL_CALLS, REASONING_EFFORT, ADD_GENERATION_PROMPT,
            CONTINUE_FINAL_MESSAGE, CHAT_TEMPLATE_KWARGS,
            Unserved.unlessEmpty("functions"),
            Unserved.unlessOneOf("function_call", "none", "auto"),
            new Unserved("modalities", json -> json.isList() && json.nextElement() && isTextWord(json)
                    && !json.nextElement(), "[\"text\"]"),
            Unserved.always("audio"),
            Unserved.always("prediction"),
            Unserved.always("verbosity"),
            Unserved.always("web_search_options"),
            Unserved.unless("echo", false),
            Unserved.always("chat_template"),
            Unserved.always("documents"),
            Unserved.always("prompt"),
            Unserved.unless("add_special_tokens", false)));

    /** The tokenizer takes one. */
    static final Mixed<List<TextRequest.Given>> PROMPT = new Mixed<>("prompt",
            "a string or an array of token ids; or up to " + TextRequest.MAX_PROMPTS + " of these", REQUIRED, TextRequest::readGiven);
    static final Whole LOGPROBS_OF_TEXT = alternatives("logprobs");
    static final Whole BEST_OF = new Whole("best_of", 1, GenerateRequest.MAX_CHOICES, "`n`");
    static final Flag ECHO = new Flag("echo", false);

    static final FieldTable TEXT = FieldTable.of(PROMPT).and(GENERATION).and(FieldTable.of(
            MAX_TOKENS_OF_TEXT, LOGPROBS_OF_TEXT, BEST_OF, ECHO,
            Unserved.unlessEmptyString("suffix"),
            Unserved.always("messages"),
            Unserved.always("prompt_embeds"),
            Unserved.unless("add_special_tokens", true)));

    private static final FieldTable TOKENIZE = FieldTable.of(
            MODEL,
            Unserved.unless("return_token_strs", false),
            Unserved.always("chat_template"));

    static final FieldTable TOKENIZE_CHAT = TOKENIZE.and(FieldTable.of(
            MESSAGES, TOOLS, REASONING_EFFORT, ADD_GENERATION_PROMPT, CONTINUE_FINAL_MESSAGE, CHAT_TEMPLATE_KWARGS,
            Unserved.always("prompt"),
            Unserved.unless("add_special_tokens", false)));

    static final Flag ADD_SPECIAL_TOKENS = new Flag("add_special_tokens", true);

    static final FieldTable TOKENIZE_TEXT = TOKENIZE.and(FieldTable.of(PROMPT, ADD_SPECIAL_TOKENS,
            Unserved.always("messages"),
            Unserved.unless("continue_final_message", false),
            Unserved.unlessEmpty("chat_template_kwargs"),
            Unserved.unlessEmpty("tools")));

    /** How many a model takes is known later. */
    static final Ids TOKENS = new Ids("tokens", Integer.MAX_VALUE, REQUIRED);

    static final FieldTable DETOKENIZE = FieldTable.of(MODEL, TOKENS);

    private OpenAiFields() {}

    private static Real penalty(String name) {
        return new Real(name, -LogitRules.MAX_PENALTY, /* aboveMin */ false, LogitRules.MAX_PENALTY, "0");
    }

    /** So many of the likeliest tokens are told beside each. */
    private static Whole alternatives(String name) {
        return new Whole(name, 0, GenerateRequest.MAX_ALTERNATIVES, "none");
    }

    private static boolean isTextWord(FieldReader json) {
        return json.isText() && json.text().equals("text");
    }
}
