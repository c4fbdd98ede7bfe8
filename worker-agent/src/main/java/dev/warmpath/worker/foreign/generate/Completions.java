package dev.warmpath.worker.foreign.generate;

import dev.warmpath.protocol.generate.FinishReason;
import dev.warmpath.protocol.generate.GenerateRequest;
import dev.warmpath.protocol.generate.LogitRules;
import dev.warmpath.protocol.generate.SamplingParameters;
import dev.warmpath.protocol.generate.StopConditions;
import dev.warmpath.worker.engine.RefusedException;
import dev.warmpath.worker.foreign.generate.Chunk.Counted;
import dev.warmpath.worker.foreign.generate.Scored.Likeliest;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JsonGenerator;
import tools.jackson.databind.JsonNode;

/**
 * OpenAI's {@code /v1/completions} with a prompt of token ids, whose answer carries ids because of vLLM's {@code
 * return_token_ids}. Of a server that is not vLLM nothing but OpenAI's own fields is taken for granted: it is told of
 * no stop tokens, for which {@link ForeignGeneration} watches.
 *
 * <p>vLLM tells of the prompt in whole answers only, so who asks for that gets the answer in one piece.
 *
 * @param model  as the server calls it
 * @param isVllm true: vLLM's other fields count, too
 */
record Completions(String model, boolean isVllm) implements Dialect {

    static final String PATH = "/v1/completions";
    private static final String TOKEN_ID = "token_id:";
    /** vLLM's default generator takes this for none at all, and draws by chance. */
    private static final long NO_SEED = -1;
    private static final long SEED_IN_ITS_PLACE = Long.MIN_VALUE;

    // sizes of what an answer is made of, in bytes, rather too large
    private static final int OF_AN_EVENT = 64 << 10;
    private static final int OF_AN_ID = 12;
    private static final int OF_A_TEXT = 64;
    private static final int OF_AN_ALTERNATIVE = 48;
    private static final int OF_A_PROMPT_ALTERNATIVE = 120;
    /** That many drawn tokens come together, at most, however slowly they are read. */
    private static final int MOST_TOKENS_AN_EVENT = 4_096;
    /** A whole answer becomes a tree in memory, some times as large. */
    private static final long MOST_BYTES_OF_AN_ANSWER = 16 << 20;

    @Override
    public String path() {
        return PATH;
    }

    @Override
    public void requireServed(Ask ask) {
        GenerateRequest request = ask.request();
        LogitRules rules = ask.sampling().rules();
        Dialect.refuse(rules.badWords().length > 0, "badWords", "this engine takes words as text, not as token ids");
        Dialect.refuse(ask.promptScores() && mostBytes(ask) > MOST_BYTES_OF_AN_ANSWER, "promptLogprobs of "
                + ask.promptLength() + " tokens with " + request.alternatives() + " alternatives",
                "this engine would tell them in one answer of more than " + (MOST_BYTES_OF_AN_ANSWER >> 20) + " MiB");
        if (!isVllm) {
            requireOpenAi(ask);
        }
    }

    /** @throws RefusedException naming what is not OpenAI's own, or told otherwise than our own engine does */
    static void requireOpenAi(Ask ask) {
        GenerateRequest request = ask.request();
        LogitRules rules = ask.sampling().rules();
        String why = "it is not part of OpenAI's API, and this server may pass over it";
        Dialect.refuse(ask.sampling().topK() != 0, "topK", why);
        Dialect.refuse(rules.minP() != 0, "minP", why);
        Dialect.refuse(rules.repetitionPenalty() != 1, "repetitionPenalty", why);
        Dialect.refuse(rules.allowedTokens().length > 0, "allowedTokens", why);
        Dialect.refuse(rules.badWords().length > 0, "badWords", why);
        Dialect.refuse(request.stop().minTokens() > 0, "minTokens", why);
        Dialect.refuse(request.stop().ignoreEos(), "ignoreEos", why);
        Dialect.refuse(request.salt() != null, "salt", why);
        Dialect.refuse(request.priority() != 0, "priority", why);
        Dialect.refuse(request.logprobs() || ask.promptScores(), "logprobs", "this server may name tokens by text");
    }

    @Override
    public boolean streams(Ask ask) {
        return !ask.promptScores();
    }

    @Override
    public byte[] trial(int[] prompt) {
        return Dialect.object(json -> {
            json.writeStringProperty("model", model);
            Dialect.array(json, "prompt", prompt);
            json.writeNumberProperty("max_tokens", 1);
            json.writeNumberProperty("temperature", 0);
            json.writeBooleanProperty("return_token_ids", true);
        });
    }

    @Override
    public byte[] body(Ask ask) {
        GenerateRequest request = ask.request();
        boolean streams = streams(ask);
        return Dialect.object(json -> {
            json.writeStringProperty("model", model);
            Dialect.array(json, "prompt", request.promptTokens());
            sampling(json, ask, isVllm);
            json.writeBooleanProperty("return_token_ids", true);
            if (isVllm) {
                json.writeBooleanProperty("add_special_tokens", false);
                json.writeStringProperty("request_id", ask.id());
                if (request.logprobs()) {
                    json.writeBooleanProperty("return_tokens_as_token_ids", true);
                }
                if (ask.promptScores()) {
                    json.writeNumberProperty("prompt_logprobs", request.alternatives());
                }
                if (request.salt() != null) {
                    json.writeStringProperty("cache_salt", request.salt());
                }
                if (request.priority() != 0) {
                    json.writeNumberProperty("priority", request.priority());   // refused by it if it has no priorities
                }
            }
            Dialect.stream(json, streams);
        });
    }

    /** By the names that vLLM's two endpoints share. */
    static void sampling(JsonGenerator json, Ask ask, boolean isVllm) {
        SamplingParameters sampling = ask.sampling();
        LogitRules rules = sampling.rules();
        StopConditions stop = ask.request().stop();
        json.writeNumberProperty("n", 1);
        json.writeNumberProperty("max_tokens", ask.maxTokens());
        json.writeNumberProperty("temperature", sampling.temperature());
        json.writeNumberProperty("top_p", sampling.topP());
        json.writeNumberProperty("presence_penalty", rules.presencePenalty());
        json.writeNumberProperty("frequency_penalty", rules.frequencyPenalty());
        json.writeNumberProperty("seed", ask.seed() == NO_SEED ? SEED_IN_ITS_PLACE : ask.seed());
        if (rules.biasedTokens().length > 0) {
            Dialect.biases(json, rules.biasedTokens(), rules.biases());
        }
        if (ask.request().logprobs()) {
            json.writeNumberProperty("logprobs", ask.request().alternatives());
        }
        if (isVllm) {
            Dialect.array(json, "stop_token_ids", stop.stopTokenIds());
            json.writeNumberProperty("top_k", sampling.topK());
            json.writeNumberProperty("min_p", rules.minP());
            json.writeNumberProperty("repetition_penalty", rules.repetitionPenalty());
            json.writeNumberProperty("min_tokens", Math.min(stop.minTokens(), ask.maxTokens()));
            json.writeBooleanProperty("ignore_eos", stop.ignoreEos());
            if (rules.allowedTokens().length > 0) {
                Dialect.array(json, "allowed_token_ids", rules.allowedTokens());
            }
        }
    }

    @Override
    public Chunk read(JsonNode piece, Ask ask, int told) throws UnreadableAnswerException {
        JsonNode error = piece.path("error");
        if (!error.isMissingNode() && !error.isNull()) {
            return Chunk.failed(EngineFailure.ofError(error));
        }
        @Nullable Counted usage = counted(piece.path("usage"));
        JsonNode choice = piece.path("choices").path(0);
        if (choice.isMissingNode()) {
            return Chunk.of(usage);
        }
        JsonNode listed = choice.path("token_ids");
        if (!listed.isArray() && !choice.path("text").asString("").isEmpty()) {
            throw new UnreadableAnswerException("it told text without token ids");
        }
        int[] ids = Dialect.ids(listed);
        List<Scored> scores = ask.request().logprobs() ? scores(choice.path("logprobs"), ids, ask) : List.of();
        Chunk chunk = Chunk.of(ids, scores, end(choice.path("finish_reason")), usage);
        return ask.promptScores() ? chunk.withPrompt(promptScores(choice.path("prompt_logprobs"), ask)) : chunk;
    }

    /** @return null while it goes on */
    static @Nullable FinishReason end(JsonNode reason) throws UnreadableAnswerException {
        return switch (reason.asString("")) {
            case "" -> null;
            case "stop" -> FinishReason.STOP;
            case "length" -> FinishReason.LENGTH;
            default -> throw new UnreadableAnswerException("it ended its answer with '" + Dialect.brief(reason) + "'");
        };
    }

    static @Nullable Counted counted(JsonNode usage) {
        return usage.isObject() && usage.path("prompt_tokens").asInt(Chunk.NOT_TOLD) != 0   // every chunk's, of some
                ? new Counted(usage.path("prompt_tokens").asInt(Chunk.NOT_TOLD),
                        usage.path("prompt_tokens_details").path("cached_tokens").asInt(Chunk.NOT_TOLD))
                : null;
    }

    private static List<Scored> scores(JsonNode logprobs, int[] ids, Ask ask) throws UnreadableAnswerException {
        JsonNode drawn = logprobs.path("token_logprobs");
        JsonNode top = logprobs.path("top_logprobs");
        if (drawn.size() != ids.length) {
            throw new UnreadableAnswerException("it told " + drawn.size() + " log-probabilities of " + ids.length
                    + " tokens");
        }
        int alternatives = ask.request().alternatives();
        List<Scored> scores = new ArrayList<>(ids.length);
        for (int i = 0; i < ids.length; i++) {
            var likeliest = new Likeliest(alternatives);
            if (alternatives > 0) {
                for (Map.Entry<String, JsonNode> each : top.path(i).properties()) {
                    likeliest.add(id(each.getKey()), Dialect.logprob(each.getValue()));
                }
            }
            scores.add(likeliest.of(Dialect.logprob(drawn.get(i)), 0));
        }
        return scores;
    }

    private static int id(String name) throws UnreadableAnswerException {
        try {
            return Integer.parseUnsignedInt(name, name.startsWith(TOKEN_ID) ? TOKEN_ID.length() : 0, name.length(), 10);
        } catch (NumberFormatException e) {
            throw new UnreadableAnswerException("it named a token '" + name + "' and not by its id");
        }
    }

    /** One object for each token of the prompt: the token itself and the likeliest, by id; null of the first. */
    private static List<Scored> promptScores(JsonNode told, Ask ask) throws UnreadableAnswerException {
        int[] prompt = ask.request().promptTokens();
        if (told.size() != prompt.length) {
            throw new UnreadableAnswerException("it told of " + told.size() + " of " + prompt.length
                    + " tokens of the prompt");
        }
        List<Scored> scores = new ArrayList<>(prompt.length - 1);
        for (int i = 1; i < prompt.length; i++) {
            JsonNode own = told.get(i).path(Integer.toString(prompt[i]));
            var likeliest = new Likeliest(ask.request().alternatives());
            for (Map.Entry<String, JsonNode> each : told.get(i).properties()) {
                likeliest.add(id(each.getKey()), Dialect.logprob(each.getValue().path("logprob")));
            }
            scores.add(likeliest.of(Dialect.logprob(own.path("logprob")), own.path("rank").asInt(0)));
        }
        return scores;
    }

    @Override
    public long mostBytes(Ask ask) {
        return bytes(ask, streams(ask) ? Math.min(ask.maxTokens(), MOST_TOKENS_AN_EVENT) : ask.maxTokens());
    }

    /** Of an event or answer with so many drawn tokens. */
    static long bytes(Ask ask, int tokens) {
        long alternatives = ask.request().alternatives() + 2L;
        long token = OF_AN_ID + OF_A_TEXT + (ask.request().logprobs() ? OF_AN_ALTERNATIVE * alternatives : 0);
        long ofPrompt = OF_AN_ID + (ask.promptScores() ? OF_A_PROMPT_ALTERNATIVE * alternatives : 0);
        return OF_AN_EVENT + token * tokens + ofPrompt * ask.promptLength();
    }
}
