package dev.warmpath.worker.foreign.generate;

import dev.warmpath.protocol.generate.GenerateRequest;
import dev.warmpath.protocol.generate.LogitRules;
import dev.warmpath.protocol.generate.StopConditions;
import dev.warmpath.worker.foreign.generate.Chunk.Counted;
import dev.warmpath.worker.foreign.generate.Scored.Likeliest;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import tools.jackson.databind.JsonNode;

/**
 * SGLang's {@code /generate} with {@code input_ids}, after the sources of 0.5.23; no such server has been run beside.
 *
 * <p>A piece carries all ids so far, or with {@code --incremental-streaming-output} only new ones; which, is told by
 * {@code completion_tokens}, which counts all. Log-probabilities come the same way.
 *
 * <p>What it would do otherwise without saying so: it tells log-probabilities after temperature and penalties, tells no
 * ranks of a prompt's tokens, and keeps apart by {@code cache_salt} only in releases that know the name.
 *
 * @param takesSalt its requests have a {@code cache_salt}
 */
record SglangTokens(boolean takesSalt) implements Dialect {

    static final String PATH = "/generate";
    /** Of one id in a piece that has all of them. */
    private static final int OF_AN_ID = 12;
    private static final int OF_A_TEXT = 64;
    private static final int OF_AN_ALTERNATIVE = 64;
    private static final int OF_AN_EVENT = 64 << 10;

    @Override
    public String path() {
        return PATH;
    }

    @Override
    public void requireServed(Ask ask) {
        GenerateRequest request = ask.request();
        float temperature = ask.sampling().temperature();
        Dialect.refuse(ask.sampling().rules().badWords().length > 0, "badWords", "this engine has none");
        Dialect.refuse(ask.sampling().rules().allowedTokens().length > 0, "allowedTokens", "this engine has none");
        Dialect.refuse(ask.promptScores(), "promptLogprobs", "this engine tells no ranks");
        Dialect.refuse(request.logprobs() && temperature != 0 && temperature != 1, "logprobs at temperature "
                + temperature, "this engine tells them after the temperature");
        Dialect.refuse(request.logprobs() && ask.sampling().logitRules() != null, "logprobs with logitRules",
                "this engine tells them after its penalties");
        Dialect.refuse(request.priority() != 0, "priority", "this engine passes over it unless it was started for it");
        Dialect.refuse(request.salt() != null && !takesSalt, "salt",
                "this release of the engine would share its cache all the same");
    }

    @Override
    public byte[] trial(int[] prompt) {
        return Dialect.object(json -> {
            Dialect.array(json, "input_ids", prompt);
            json.writeObjectPropertyStart("sampling_params");
            json.writeNumberProperty("max_new_tokens", 1);
            json.writeNumberProperty("temperature", 0);
            json.writeEndObject();
        });
    }

    @Override
    public byte[] body(Ask ask) {
        GenerateRequest request = ask.request();
        LogitRules rules = ask.sampling().rules();
        StopConditions stop = request.stop();
        return Dialect.object(json -> {
            json.writeStringProperty("rid", ask.id());
            Dialect.array(json, "input_ids", request.promptTokens());
            json.writeObjectPropertyStart("sampling_params");
            json.writeNumberProperty("n", 1);
            json.writeNumberProperty("max_new_tokens", ask.maxTokens());
            json.writeNumberProperty("min_new_tokens", Math.min(stop.minTokens(), ask.maxTokens()));
            json.writeNumberProperty("temperature", ask.sampling().temperature());
            json.writeNumberProperty("top_p", ask.sampling().topP());
            json.writeNumberProperty("top_k", ask.sampling().topK() == 0 ? -1 : ask.sampling().topK());
            json.writeNumberProperty("min_p", rules.minP());
            json.writeNumberProperty("presence_penalty", rules.presencePenalty());
            json.writeNumberProperty("frequency_penalty", rules.frequencyPenalty());
            json.writeNumberProperty("repetition_penalty", rules.repetitionPenalty());
            json.writeNumberProperty("sampling_seed", ask.seed());
            Dialect.array(json, "stop_token_ids", stop.stopTokenIds());
            json.writeBooleanProperty("ignore_eos", stop.ignoreEos());
            json.writeBooleanProperty("no_stop_trim", true);
            json.writeBooleanProperty("skip_special_tokens", false);
            if (rules.biasedTokens().length > 0) {
                Dialect.biases(json, rules.biasedTokens(), rules.biases());
            }
            json.writeEndObject();
            json.writeBooleanProperty("return_logprob", request.logprobs());
            if (request.logprobs()) {
                json.writeNumberProperty("logprob_start_len", -1);
                json.writeNumberProperty("top_logprobs_num", request.alternatives());
            }
            if (request.salt() != null) {
                json.writeStringProperty("cache_salt", request.salt());
            }
            json.writeBooleanProperty("stream", true);
        });
    }

    @Override
    public Chunk read(JsonNode piece, Ask ask, int told) throws UnreadableAnswerException {
        JsonNode error = piece.path("error");
        if (!error.isMissingNode() && !error.isNull()) {
            return Chunk.failed(EngineFailure.ofError(error));
        }
        JsonNode meta = piece.path("meta_info");
        JsonNode end = meta.path("finish_reason");
        if (end.path("type").asString("").equals("abort")) {
            return Chunk.failed(EngineFailure.of(end.path("status_code").asInt(0),
                    end.path("message").asString("it aborted the request")));
        }
        if (!piece.path("output_ids").isArray()) {
            throw new UnreadableAnswerException("it told no output_ids");
        }
        int[] listed = Dialect.ids(piece.path("output_ids"));
        int total = meta.path("completion_tokens").asInt(listed.length);
        int from = firstNew("tokens", listed.length, total, told);
        int[] fresh = Arrays.copyOfRange(listed, from, listed.length);
        int[] ids = withStopToken(fresh, listed, end);
        List<Scored> scores = ask.request().logprobs()
                ? scores(meta, total, told, fresh.length, ask) : List.of();
        if (ask.request().logprobs() && ids.length > scores.size()) {
            throw new UnreadableAnswerException("it told no log-probability of the token that ended its answer");
        }
        return Chunk.of(ids, scores, end.isObject() ? Completions.end(end.path("type")) : null,
                new Counted(meta.path("prompt_tokens").asInt(Chunk.NOT_TOLD),
                        meta.path("cached_tokens").asInt(Chunk.NOT_TOLD)));
    }

    /** Where what was not told before begins, in a list of all or of what is new. */
    private static int firstNew(String what, int listed, int total, int told) throws UnreadableAnswerException {
        if (listed == total && listed >= told) {
            return told;
        }
        if (told + listed == total) {
            return 0;
        }
        throw new UnreadableAnswerException("it told " + listed + " " + what + " and counted " + total + ", after "
                + told);
    }

    /** As our own engine tells it: the token that ended the answer is its last one. */
    private static int[] withStopToken(int[] fresh, int[] listed, JsonNode end) {
        JsonNode matched = end.path("matched");
        boolean isThere = listed.length > 0 && listed[listed.length - 1] == matched.asInt(-1);
        if (!end.path("type").asString("").equals("stop") || !matched.isIntegralNumber() || isThere) {
            return fresh;
        }
        int[] with = Arrays.copyOf(fresh, fresh.length + 1);
        with[fresh.length] = matched.intValue();
        return with;
    }

    /** Each as {@code [logprob, id, text]}, the likeliest of each as a list of those. */
    private static List<Scored> scores(JsonNode meta, int total, int told, int fresh, Ask ask)
            throws UnreadableAnswerException {
        JsonNode drawn = meta.path("output_token_logprobs");
        JsonNode top = meta.path("output_top_logprobs");
        int from = firstNew("log-probabilities", drawn.size(), total, told);
        if (drawn.size() - from != fresh) {
            throw new UnreadableAnswerException("it told " + (drawn.size() - from) + " log-probabilities of " + fresh
                    + " tokens");
        }
        int alternatives = ask.request().alternatives();
        List<Scored> scores = new ArrayList<>(fresh);
        for (int i = from; i < drawn.size(); i++) {
            var likeliest = new Likeliest(alternatives);
            if (alternatives > 0) {
                for (JsonNode candidate : top.path(i)) {
                    likeliest.add(candidate.path(1).asInt(-1), Dialect.logprob(candidate.path(0)));
                }
            }
            scores.add(likeliest.of(Dialect.logprob(drawn.get(i).path(0)), 0));
        }
        return scores;
    }

    @Override
    public long mostBytes(Ask ask) {
        long token = OF_AN_ID + OF_A_TEXT
                + (ask.request().logprobs() ? OF_AN_ALTERNATIVE * (ask.request().alternatives() + 2L) : 0);
        return OF_AN_EVENT + token * ask.maxTokens();
    }

    /** Without it, two seconds pass until the engine sees that the connection is gone. */
    @Override
    public Farewell farewell(Ask ask) {
        return new Farewell("/abort_request", Dialect.object(json -> json.writeStringProperty("rid", ask.id())));
    }
}
