package dev.warmpath.worker.foreign.generate;

import dev.warmpath.protocol.process.ForeignText;
import dev.warmpath.tokenization.Spelling;
import dev.warmpath.worker.foreign.generate.EngineFacts.EventSource;
import dev.warmpath.worker.foreign.generate.EngineHttp.Answer;
import dev.warmpath.worker.foreign.generate.Samples.Sample;
import java.io.IOException;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Predicate;
import java.util.function.Supplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.JsonNode;

/**
 * Finds out what an engine is and by which dialect it is asked, once, when a worker connects. It asks for one token,
 * for that is the only way to know whether ids are taken and told. Blocking.
 */
public final class EngineProbe {

    private static final Logger log = LoggerFactory.getLogger(EngineProbe.class);
    private static final Duration TIMEOUT = Duration.ofSeconds(5);
    /** The first token after a start may have to wait for a model to be compiled. */
    static final Duration FIRST_TOKEN = Duration.ofMinutes(5);
    private static final Pattern RELEASE = Pattern.compile("(\\d+)\\.(\\d+).*");
    private static final int BAD_REQUEST = 400;
    private static final int NOT_FOUND = 404;
    private static final int UNPROCESSABLE = 422;
    /** Too many requests, and what proxies say of a server that is not up. */
    private static final Set<Integer> LATER = Set.of(429, 502, 503, 504);
    /** Words, digits, white space and letters that vocabularies cut differently. */
    private static final String PROBE_TEXT = "The naïve Größe of 3 × 14159 tokens:\n\treturn [i for i in range(42)]";
    private static final int MOST_NAMED = 20;
    private static final int LOGPROBS_SINCE = 32;

    private final EngineLink link;
    private final EngineKind kind;
    private final EngineHttp http;
    private final @Nullable Supplier<Spelling> spelling;

    private EngineProbe(EngineLink link, EngineKind kind, EngineHttp http,
            @Nullable Supplier<Spelling> spelling) {
        this.link = link;
        this.kind = kind;
        this.http = http;
        this.spelling = spelling;
    }

    /**
     * Of an engine that has token ids.
     * @throws IOException               likewise
     * @throws UnsuitableEngineException likewise, and if it takes text only
     */
    public static FoundEngine connect(EngineLink link, EngineKind kind)
            throws IOException, UnsuitableEngineException, InterruptedException {
        return connect(link, kind, null);
    }

    /**
     * @param spelling of the model's own tokenizer, asked for where a server takes text only; null = not at hand
     * @throws IOException               if the engine does not answer, or not yet: it may later
     * @throws UnsuitableEngineException if it cannot be used as it is
     */
    public static FoundEngine connect(EngineLink link, EngineKind kind, @Nullable Supplier<Spelling> spelling)
            throws IOException, UnsuitableEngineException, InterruptedException {
        Look look = look(link, kind, spelling);
        if (look.engine() == null) {
            throw new UnsuitableEngineException(look.lack());
        }
        return look.engine();
    }

    /**
     * An engine that says what it is.
     *
     * @param facts  what it says
     * @param engine the same with a way to ask it for tokens; null = there is none
     * @param lack   why there is none, a clause; empty if there is one
     */
    public record Look(EngineFacts facts, @Nullable FoundEngine engine, String lack) {}

    /** Parameters and exceptions as of {@link #connect}, but that it may give no token ids. */
    public static Look look(EngineLink link, EngineKind kind, @Nullable Supplier<Spelling> spelling)
            throws IOException, UnsuitableEngineException, InterruptedException {
        try (var http = new EngineHttp(link)) {
            return new EngineProbe(link, kind, http, spelling).look();
        }
    }

    private Look look() throws IOException, UnsuitableEngineException, InterruptedException {
        JsonNode models = json("/v1/models", http.get("/v1/models", TIMEOUT));
        // adapters have a parent
        JsonNode model = chosen(models.path("data").valueStream()
                .filter(one -> one.path("id").isString() && !one.path("parent").isString()).toList());
        return switch (kind) {
            case VLLM -> vllm(model);
            case SGLANG -> sglang(model);
            case OPENAI -> model.path("owned_by").asString("").equals("vllm") ? vllm(model) : openai(model);
        };
    }

    /** vLLM lists a model once for each of its names, with one root. */
    private JsonNode chosen(List<JsonNode> served) throws UnsuitableEngineException {
        String names = served.stream().map(one -> one.path("id").stringValue()).limit(MOST_NAMED)
                .collect(Collectors.joining(", "));
        if (link.model() != null) {
            return served.stream().filter(one -> one.path("id").stringValue().equals(link.model())).findFirst()
                    .orElseThrow(() -> new UnsuitableEngineException("the engine at " + link.address()
                            + " serves no model '" + link.model() + "', but: " + names));
        }
        if (served.isEmpty()) {
            throw new UnsuitableEngineException("the engine at " + link.address() + " names no model at /v1/models");
        }
        boolean isOne = served.stream().map(one -> text(one.path("root"))).distinct().count() == 1
                && served.getFirst().path("root").isString();
        if (served.size() > 1 && !isOne) {
            throw new UnsuitableEngineException("the engine at " + link.address() + " serves several models, and "
                    + "warmpath.engine.model does not say which one is meant: " + names);
        }
        return served.getFirst();
    }

    private Look vllm(JsonNode model) throws IOException, UnsuitableEngineException, InterruptedException {
        @Nullable String version = text(optional("/version").path("version"));
        Samples metrics = metrics();
        EngineFacts facts = facts(EngineKind.VLLM, model, version, cache(metrics), metrics,
                vllmSources(optional("/kv_event_sources")));
        String name = facts.model();
        var completions = new Completions(name, /* isVllm */ true);
        String byCompletions = tryFor(completions);
        if (byCompletions.isEmpty()) {
            return at(facts, completions);
        }
        var tokens = new VllmTokens(name, isAtLeast(version, LOGPROBS_SINCE));
        String byTokens = tryFor(tokens);
        return byTokens.isEmpty() ? at(facts, tokens) : new Look(facts, null, "the vLLM at " + link.address()
                + " gives no token ids: " + Completions.PATH + " " + byCompletions + "; " + VllmTokens.PATH + " "
                + byTokens);
    }

    private Look openai(JsonNode model) throws IOException, UnsuitableEngineException, InterruptedException {
        EngineFacts facts = facts(EngineKind.OPENAI, model, null, null, metrics(), Map.of());
        var completions = new Completions(facts.model(), /* isVllm */ false);
        String lack = tryFor(completions);
        if (lack.isEmpty()) {
            return at(facts, completions);
        }
        if (spelling == null) {
            return new Look(facts, null, "the server at " + link.address() + " takes or gives no token ids: "
                    + Completions.PATH + " " + lack);
        }
        return at(facts, textCompletions(facts, spelling.get(), lack));
    }

    /** @param lack why it is not asked for token ids */
    private Dialect textCompletions(EngineFacts facts, Spelling words, String lack) throws IOException,
            UnsuitableEngineException, InterruptedException {
        String prompt = PROBE_TEXT + words.endMarkers();
        var dialect = new TextCompletions(facts.model(), words, /* begins */ false, /* takesPlain */ true);
        Answer answer = http.post(Completions.PATH, dialect.trial(prompt), FIRST_TOKEN);
        if (answer.status() == BAD_REQUEST || answer.status() == UNPROCESSABLE) {
            dialect = new TextCompletions(facts.model(), words, /* begins */ false, /* takesPlain */ false);
            answer = http.post(Completions.PATH, dialect.trial(prompt), FIRST_TOKEN);
        }
        String textLack = lack(Completions.PATH, answer, piece -> piece.path("choices").path(0).path("text").isString(),
                "text");
        if (!textLack.isEmpty()) {
            throw new UnsuitableEngineException("the server at " + link.address() + " takes neither token ids nor "
                    + "text: " + Completions.PATH + " " + lack + "; and with text " + textLack);
        }
        int counted = json(Completions.PATH, answer).path("usage").path("prompt_tokens").asInt(0);
        boolean begins = begins(words, words.countOf(prompt), counted);
        log.warn("the server at {} takes and gives text only ({}): prompts are sent as text, answers become token ids "
                + "here. {}", link.address(), lack, counted == 0
                        ? "It counts no tokens, so that nobody knows whether its model is that of the files here; it "
                                + "is taken to put the model's begin token before a prompt as the files say"
                        : "It puts " + (begins ? "the begin token" : "nothing") + " before a prompt");
        return new TextCompletions(facts.model(), words, begins, dialect.takesPlain());
    }

    /** @param counted what the server found in a prompt that has so many tokens here, 0 if it does not tell */
    private boolean begins(Spelling words, int own, int counted) throws UnsuitableEngineException {
        if (counted == 0 || counted == own + words.beginTokens()) {
            return words.beginTokens() > 0;
        }
        if (counted != own) {
            throw new UnsuitableEngineException("the server at " + link.address() + " reads a prompt of " + own
                    + " tokens as one of " + counted + ": its model is another one than that of "
                    + "warmpath.model.directory, or it does not read the model's markers in a text, or puts a template "
                    + "around what " + Completions.PATH + " is sent");
        }
        return false;
    }

    private Look at(EngineFacts facts, Dialect dialect) {
        return new Look(facts, new FoundEngine(facts, dialect, spelling), "");
    }

    private Look sglang(JsonNode model) throws IOException, UnsuitableEngineException, InterruptedException {
        if (link.rank() != null) {
            throw new UnsuitableEngineException("the ranks of an SGLang are not told apart yet");
        }
        JsonNode info = optional("/server_info");
        if (info.isMissingNode()) {
            info = optional("/get_server_info");                       // its name until 2025
        }
        int blockSize = info.path("page_size").asInt(0);
        int capacity = info.path("max_total_num_tokens").asInt(0);
        EngineFacts.@Nullable Cache cache = blockSize == 0 ? null : new EngineFacts.Cache(blockSize,
                capacity / blockSize + 1, !info.path("disable_radix_cache").asBoolean(false));
        EngineFacts facts = facts(EngineKind.SGLANG, model, text(info.path("version")), cache, metrics(),
                sglangSources(info.path("kv_events")));
        boolean takesSalt = optional("/openapi.json").path("components").path("schemas").path("GenerateReqInput")
                .path("properties").has("cache_salt");
        var tokens = new SglangTokens(takesSalt);
        String lack = tryFor(tokens);
        return lack.isEmpty() ? at(facts, tokens) : new Look(facts, null, "the SGLang at " + link.address()
                + " gives no token ids: " + SglangTokens.PATH + " " + lack);
    }

    /** @return what is amiss with an endpoint that should answer ids with ids, empty if nothing */
    private String tryFor(Dialect dialect) throws IOException, UnsuitableEngineException, InterruptedException {
        return lack(dialect.path(), http.post(dialect.path(), dialect.trial(new int[1]), FIRST_TOKEN),
                piece -> piece.path("output_ids").isArray()
                        || piece.path("choices").path(0).path("token_ids").isArray(), "token ids");
    }

    private String lack(String path, Answer answer, Predicate<JsonNode> tells, String what)
            throws IOException, UnsuitableEngineException {
        if (LATER.contains(answer.status())) {
            throw new IOException("the engine is not ready: " + path + " answers " + answer.status());
        }
        if (!answer.isOk()) {
            return "answers " + answer.status() + ": "
                    + EngineFailure.ofStatus(answer.status(), answer.body(), Dialect.JSON).message();
        }
        return tells.test(json(path, answer)) ? "" : "answers without " + what;
    }

    private static EngineFacts facts(EngineKind is, JsonNode model, @Nullable String version,
            EngineFacts.@Nullable Cache cache, Samples metrics, Map<Integer, EventSource> sources) {
        return new EngineFacts(is, version, model.path("id").stringValue(), text(model.path("root")),
                contextLength(is, model), cache, metrics.first(SeriesNames.STARTED, 0), sources);
    }

    /** SGLang takes one token less than it says: its releases differ in whether the last one counts as too many. */
    private static int contextLength(EngineKind is, JsonNode model) {
        int told = model.path("max_model_len").asInt(0);
        return is == EngineKind.SGLANG ? Math.max(0, told - 1) : told;
    }

    /** Empty where there are none. */
    private Samples metrics() throws IOException, InterruptedException {
        Answer answer = http.get("/metrics", TIMEOUT);
        return new Samples(answer.isOk() ? answer.text() : "");
    }

    /** Ranks have the same. */
    private static EngineFacts.@Nullable Cache cache(Samples metrics) {
        List<Sample> configs = metrics.of(SeriesNames.CACHE_CONFIG);
        if (configs.isEmpty()) {
            return null;
        }
        Sample config = configs.getFirst();
        try {
            return new EngineFacts.Cache(Integer.parseInt(config.label("block_size")),
                    Integer.parseInt(config.label("num_gpu_blocks")),
                    config.label("enable_prefix_caching").equals("True"));
        } catch (NumberFormatException e) {
            return null;                                               // "None", as of a model without attention
        }
    }

    private static Map<Integer, EventSource> vllmSources(JsonNode ranks) {
        Map<Integer, EventSource> sources = new HashMap<>();
        for (Map.Entry<String, JsonNode> rank : ranks.properties()) {
            @Nullable String endpoint = text(rank.getValue().path("endpoint"));
            if (endpoint != null && rank.getKey().chars().allMatch(Character::isDigit)) {
                sources.put(Integer.valueOf(rank.getKey()), new EventSource(endpoint,
                        text(rank.getValue().path("replay_endpoint")), rank.getValue().path("topic").asString("")));
            }
        }
        return sources;
    }

    /** A rank's ports are the first one's and its number. */
    private static Map<Integer, EventSource> sglangSources(JsonNode events) {
        Map<Integer, EventSource> sources = new HashMap<>();
        int port = events.path("endpoint_port_base").asInt(0);
        int replay = events.path("replay_endpoint_port_base").asInt(0);
        String host = "tcp://" + events.path("endpoint_host").asString("*") + ":";
        for (int rank = 0; port > 0 && rank < events.path("dp_size").asInt(1); rank++) {
            sources.put(rank, new EventSource(host + (port + rank), replay == 0 ? null : host + (replay + rank),
                    events.path("topic").asString("")));
        }
        return sources;
    }

    /** @return missing where there is no such page */
    private JsonNode optional(String path) throws IOException, InterruptedException {
        Answer answer = http.get(path, TIMEOUT);
        try {
            return answer.isOk() ? Dialect.JSON.readTree(answer.body()) : Dialect.JSON.missingNode();
        } catch (JacksonException e) {
            return Dialect.JSON.missingNode();
        }
    }

    private JsonNode json(String path, Answer answer) throws IOException, UnsuitableEngineException {
        if (answer.status() == 401 || answer.status() == 403) {
            throw new UnsuitableEngineException("the engine at " + link.address() + " wants another key: " + path
                    + " answers " + answer.status());
        }
        if (answer.status() == NOT_FOUND) {
            throw new UnsuitableEngineException("what listens at " + link.address() + " has no " + path);
        }
        if (!answer.isOk()) {
            throw new IOException(path + " answers " + answer.status());
        }
        try {
            return Dialect.JSON.readTree(answer.body());
        } catch (JacksonException e) {
            throw new UnsuitableEngineException("what listens at " + link.address() + " answers " + path + " with '"
                    + ForeignText.oneLine(answer.text(), 80) + "'");
        }
    }

    private static @Nullable String text(JsonNode node) {
        return node.isString() ? node.stringValue() : null;
    }

    /** Of vLLM's release 0.minor, or any after those; one that does not say is not. */
    private static boolean isAtLeast(@Nullable String version, int minor) {
        Matcher release = RELEASE.matcher(version == null ? "" : version);
        return release.matches()
                && (!release.group(1).equals("0") || Integer.parseInt(release.group(2)) >= minor);
    }
}
