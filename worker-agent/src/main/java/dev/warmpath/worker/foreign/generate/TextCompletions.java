package dev.warmpath.worker.foreign.generate;

import dev.warmpath.protocol.generate.FailureReason;
import dev.warmpath.protocol.generate.FinishReason;
import dev.warmpath.protocol.generate.GenerateRequest;
import dev.warmpath.protocol.generate.LogitRules;
import dev.warmpath.protocol.generate.SamplingParameters;
import dev.warmpath.tokenization.Spelling;
import dev.warmpath.worker.engine.RefusedException;
import java.util.List;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/**
 * OpenAI's {@code /v1/completions} of a server that knows text only: the prompt's ids are spelled out by the model's
 * own tokenizer, and the answer's text becomes ids again, a piece at a time. Those need not be the ones that the server
 * drew, but what they say is its text to the byte.
 *
 * <p>It ends an answer by the tokens that it knows itself, and counts its limit in its own tokens. An answer that has
 * more of ours is cut there.
 *
 * @param model      as the server calls it
 * @param begins     it puts a begin token before a prompt by itself
 * @param takesPlain it takes values that change nothing, which keep its own defaults out
 */
record TextCompletions(String model, Spelling spelling, boolean begins, boolean takesPlain) implements Dialect {

    private static final int OF_AN_EVENT = 64 << 10;
    /** Bytes of a token that is written as JSON, rather too large: 64 characters, each as six. */
    private static final int OF_A_TOKEN = 384;
    private static final int MOST_TOKENS_AN_EVENT = 4_096;
    /** Some servers take 32 bits, some no sign. */
    private static final long BITS_OF_A_SEED = Integer.MAX_VALUE;

    @Override
    public String path() {
        return Completions.PATH;
    }

    @Override
    public boolean tellsIds() {
        return false;
    }

    /** llama-cpp-python's refuses any that is no UUID, and says nothing. */
    @Override
    public boolean takesRequestId() {
        return false;
    }

    @Override
    public void requireServed(Ask ask) {
        Completions.requireOpenAi(ask);
        LogitRules rules = ask.sampling().rules();
        Dialect.refuse(rules.biasedTokens().length > 0, "logitBias", "this server takes text, and may number tokens "
                + "otherwise");
        for (int id : ask.request().stop().stopTokenIds()) {
            Dialect.refuse(!spelling.isEnd(id), "stopTokenIds with token " + id,
                    "this server gives text, and ends it by the model's own end tokens only");
        }
    }

    private String spelled(Ask ask) {
        String text = spelling.ofPrompt(ask.request().promptTokens(), begins);
        if (text == null) {
            throw refused("no text is read as this prompt: a message spells one of the model's markers, or its token "
                    + "ids are no whole characters");
        }
        if (text.isEmpty()) {
            throw refused("this prompt has none beside the model's begin token");
        }
        return text;
    }

    private static RefusedException refused(String why) {
        return new RefusedException(FailureReason.INVALID_REQUEST, "the engine takes text, and " + why);
    }

    @Override
    public byte[] body(Ask ask) {
        return body(spelled(ask), ask.maxTokens(), ask.sampling(), ask.seed(), /* streams */ true);
    }

    @Override
    public byte[] trial(int[] prompt) {
        String text = spelling.ofPrompt(prompt, begins);
        if (text == null) {
            throw new IllegalArgumentException("no text is read as these token ids");
        }
        return trial(text);
    }

    /** What a server is tried with. */
    byte[] trial(String prompt) {
        return body(prompt, 1, SamplingParameters.GREEDY, /* seed */ 1, /* streams */ false);
    }

    private byte[] body(String prompt, int maxTokens, SamplingParameters sampling, long seed, boolean streams) {
        LogitRules rules = sampling.rules();
        return Dialect.object(json -> {
            json.writeStringProperty("model", model);
            json.writeStringProperty("prompt", prompt);
            json.writeNumberProperty("max_tokens", maxTokens);
            json.writeNumberProperty("temperature", sampling.temperature());
            json.writeNumberProperty("seed", seed & BITS_OF_A_SEED);
            json.writeNumberProperty("top_p", sampling.topP());
            json.writeNumberProperty("presence_penalty", rules.presencePenalty());
            json.writeNumberProperty("frequency_penalty", rules.frequencyPenalty());
            if (takesPlain) {
                json.writeNumberProperty("top_k", 0);
                json.writeNumberProperty("min_p", 0);
                json.writeNumberProperty("repeat_penalty", 1);
            }
            Dialect.stream(json, streams);
        });
    }

    @Override
    public Chunk read(JsonNode piece, Ask ask, int told) throws UnreadableAnswerException {
        JsonNode error = piece.path("error");
        if (!error.isMissingNode() && !error.isNull()) {
            return Chunk.failed(EngineFailure.ofError(error));
        }
        Chunk.@Nullable Counted usage = Completions.counted(piece.path("usage"));
        JsonNode choice = piece.path("choices").path(0);
        if (choice.isMissingNode()) {
            return Chunk.of(usage);
        }
        @Nullable FinishReason end = Completions.end(choice.path("finish_reason"));
        String text = choice.path("text").asString("");
        int @Nullable [] ids = spelling.ofAnswer(text);
        if (ids == null) {
            throw new UnreadableAnswerException("it told the text " + Dialect.brief(choice.path("text"))
                    + ", which the vocabulary that routers were given cannot write: its model is another one");
        }
        return Chunk.of(ids, List.of(), end, usage);
    }

    @Override
    public long mostBytes(Ask ask) {
        return OF_AN_EVENT + (long) OF_A_TOKEN * Math.min(ask.maxTokens(), MOST_TOKENS_AN_EVENT);
    }

    @Override
    public int promptTokens(GenerateRequest request) {
        boolean isAdded = begins && !spelling.isBegun(request.promptTokens());
        return request.promptTokens().length + (isAdded ? spelling.beginTokens() : 0);
    }
}
