package dev.warmpath.worker.foreign.generate;

import dev.warmpath.protocol.generate.GenerateRequest;
import dev.warmpath.worker.foreign.generate.Chunk.Counted;
import dev.warmpath.worker.foreign.generate.Scored.Likeliest;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/**
 * vLLM's {@code /inference/v1/generate}, for servers whose completions give no token ids. It streams from 0.20 on,
 * needs {@code --enable-scale-out} from 0.30 on, and before 0.32 its log-probabilities name every candidate by the id
 * of the drawn token.
 *
 * @param model         as the server calls it
 * @param tellsLogprobs false: of a release before 0.32
 */
record VllmTokens(String model, boolean tellsLogprobs) implements Dialect {

    static final String PATH = "/inference/v1/generate";

    @Override
    public String path() {
        return PATH;
    }

    @Override
    public void requireServed(Ask ask) {
        GenerateRequest request = ask.request();
        Dialect.refuse(ask.sampling().rules().badWords().length > 0, "badWords",
                "this engine takes words as text, not as token ids");
        Dialect.refuse(request.priority() != 0, "priority", "this engine's token endpoint may pass over it");
        Dialect.refuse(ask.promptScores(), "promptLogprobs", "this engine's token endpoint does not stream them");
        Dialect.refuse(request.logprobs() && !tellsLogprobs, "logprobs",
                "this release of the engine tells none that can be used");
    }

    @Override
    public byte[] trial(int[] prompt) {
        return Dialect.object(json -> {
            json.writeStringProperty("model", model);
            Dialect.array(json, "token_ids", prompt);
            json.writeObjectPropertyStart("sampling_params");
            json.writeNumberProperty("max_tokens", 1);
            json.writeNumberProperty("temperature", 0);
            json.writeEndObject();
        });
    }

    @Override
    public byte[] body(Ask ask) {
        GenerateRequest request = ask.request();
        return Dialect.object(json -> {
            json.writeStringProperty("model", model);
            json.writeStringProperty("request_id", ask.id());
            Dialect.array(json, "token_ids", request.promptTokens());
            json.writeObjectPropertyStart("sampling_params");
            Completions.sampling(json, ask, /* isVllm */ true);
            json.writeBooleanProperty("detokenize", false);
            json.writeEndObject();
            if (request.salt() != null) {
                json.writeStringProperty("cache_salt", request.salt());
            }
            Dialect.stream(json, /* streams */ true);
        });
    }

    @Override
    public Chunk read(JsonNode piece, Ask ask, int told) throws UnreadableAnswerException {
        JsonNode error = piece.path("error");
        if (!error.isMissingNode() && !error.isNull()) {
            return Chunk.failed(EngineFailure.ofError(error));
        }
        @Nullable Counted usage = Completions.counted(piece.path("usage"));
        JsonNode choice = piece.path("choices").path(0);
        if (choice.isMissingNode()) {
            return Chunk.of(usage);
        }
        int[] ids = Dialect.ids(choice.path("token_ids"));
        List<Scored> scores = ask.request().logprobs()
                ? scores(choice.path("logprobs").path("content"), ids, ask) : List.of();
        return Chunk.of(ids, scores, Completions.end(choice.path("finish_reason")), usage);
    }

    private static List<Scored> scores(JsonNode content, int[] ids, Ask ask) throws UnreadableAnswerException {
        if (content.size() != ids.length) {
            throw new UnreadableAnswerException("it told " + content.size() + " log-probabilities of " + ids.length
                    + " tokens");
        }
        int alternatives = ask.request().alternatives();
        List<Scored> scores = new ArrayList<>(ids.length);
        for (JsonNode token : content) {
            var likeliest = new Likeliest(alternatives);
            if (alternatives > 0) {
                for (JsonNode candidate : token.path("top_logprobs")) {
                    likeliest.add(candidate.path("token_id").asInt(-1), Dialect.logprob(candidate.path("logprob")));
                }
            }
            scores.add(likeliest.of(Dialect.logprob(token.path("logprob")), token.path("rank").asInt(0)));
        }
        return scores;
    }

    @Override
    public long mostBytes(Ask ask) {
        return 2 * Completions.bytes(ask, Math.min(ask.maxTokens(), 4_096));
    }
}
