package dev.warmpath.cli.bench;

import dev.warmpath.cli.fleet.CommandException;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ObjectNode;

/**
 * What a server serves, and how it wants to be asked: found out by a few small requests before the load.
 *
 * @param contextTokens most tokens of prompt and answer together; 0 if the server does not tell
 * @param fixedLengths  whether it takes {@code ignore_eos}: answers are then as long as the load has them
 * @param usage         whether it takes {@code stream_options}
 */
record Served(String model, int contextTokens, Spelling spelling, boolean fixedLengths, boolean usage) {

    /** So many have the ids that prompts are made of; they are not sent to a model. */
    private static final int ALPHABET_WORDS = 256;
    /** Short enough for any context. */
    private static final int SAMPLE_WORDS = 64;
    /** What is usual in English, where a server does not count. */
    private static final double USUAL_TOKENS_PER_WORD = 1.3;
    /** Fewer different ids would make pieces that are equal by chance. */
    private static final int LEAST_ALPHABET = 32;

    /**
     * @param wanted the model; null: the first one that is served
     * @param ids    whether ids may be sent
     * @throws CommandException if nothing is served, or completions are not
     */
    static Served find(OpenAiServer server, @Nullable String wanted, boolean ids) {
        try {
            JsonNode model = model(server, wanted);
            String name = model.path("id").asString("");
            int context = model.path("max_model_len").asInt(0);
            int[] alphabet = ids ? alphabet(server, name) : new int[0];
            if (alphabet.length >= LEAST_ALPHABET && takesIds(server, name, alphabet)) {
                return new Served(name, context, new Spelling.Ids(alphabet), true, true);
            }
            return byWords(server, name, context);
        } catch (RequestFailedException e) {
            throw new CommandException(sentence(server, e));
        }
    }

    private static JsonNode model(OpenAiServer server, @Nullable String wanted) throws RequestFailedException {
        JsonNode served = server.get("/v1/models").path("data");
        for (JsonNode model : served) {
            if (wanted == null || wanted.equals(model.path("id").asString(""))) {
                return model;
            }
        }
        throw new CommandException(wanted == null ? server.url() + " serves no model: workers have to join first"
                : "the model '" + wanted + "' is not served at " + server.url() + "; served are "
                        + served.valueStream().map(each -> each.path("id").asString("")).toList());
    }

    /** The ids of common words; none if the server has no tokenizer to ask. */
    private static int[] alphabet(OpenAiServer server, String model) {
        try {
            ObjectNode body = OpenAiServer.JSON.createObjectNode().put("model", model)
                    .put("prompt", Spelling.sample(ALPHABET_WORDS)).put("add_special_tokens", false);
            return server.post("/tokenize", body).path("tokens").valueStream().mapToInt(JsonNode::asInt)
                    .distinct().sorted().toArray();
        } catch (RequestFailedException e) {
            return new int[0];
        }
    }

    private static boolean takesIds(OpenAiServer server, String model, int[] alphabet) {
        ObjectNode body = body(model, 2, true, true).put("return_token_ids", true);
        Spelling.Writer prompt = new Spelling.Ids(Arrays.copyOf(alphabet, LEAST_ALPHABET)).writer(0);
        prompt.piece(0, LEAST_ALPHABET);
        prompt.into(body);
        try {
            return server.complete(body).ids().length > 0;
        } catch (RequestFailedException e) {
            return false;
        }
    }

    /** By as many of vLLM's fields as the server takes. */
    private static Served byWords(OpenAiServer server, String model, int context) throws RequestFailedException {
        RequestFailedException first = null;
        for (boolean[] takes : new boolean[][] {{true, true}, {false, true}, {false, false}}) {
            ObjectNode body = body(model, 1, takes[0], takes[1]).put("prompt", Spelling.sample(SAMPLE_WORDS));
            try {
                int counted = server.complete(body).promptTokens();
                return new Served(model, context, new Spelling.Words(counted > 0 ? (double) counted / SAMPLE_WORDS
                        : tokensPerWord(server, body)), takes[0], takes[1]);
            } catch (RequestFailedException e) {
                first = first == null ? e : first;
                if (!e.kind().equals("http_400") && !e.kind().equals("http_422")) {
                    throw e;
                }
            }
        }
        throw first;
    }

    /** By a whole answer, which more servers count for than for a stream. */
    private static double tokensPerWord(OpenAiServer server, ObjectNode streamed) {
        ObjectNode body = streamed.deepCopy().put("stream", false);
        body.remove("stream_options");
        try {
            int counted = server.post("/v1/completions", body).path("usage").path("prompt_tokens").asInt(0);
            return counted > 0 ? (double) counted / SAMPLE_WORDS : USUAL_TOKENS_PER_WORD;
        } catch (RequestFailedException e) {
            return USUAL_TOKENS_PER_WORD;
        }
    }

    /** A request without its prompt. */
    ObjectNode body(int maxTokens) {
        return body(model, maxTokens, fixedLengths, usage);
    }

    private static ObjectNode body(String model, int maxTokens, boolean fixedLengths, boolean usage) {
        ObjectNode body = OpenAiServer.JSON.createObjectNode().put("model", model).put("max_tokens", maxTokens)
                .put("stream", true).put("temperature", 0);
        if (fixedLengths) {
            body.put("ignore_eos", true);
        }
        if (usage) {
            body.putObject("stream_options").put("include_usage", true);
        }
        return body;
    }

    private static String sentence(OpenAiServer server, RequestFailedException failure) {
        return switch (failure.kind()) {
            case RequestFailedException.REFUSED -> "nobody answers at " + server.url()
                    + ": is the server running, and is this its address?";
            case "http_401" -> server.url() + (server.hasKey()
                    ? " does not know the API key that was given by --key, or WARMPATH_API_KEY"
                    : " asks for an API key: give one by --key, or WARMPATH_API_KEY");
            case "http_404" -> server.url() + " does not serve /v1/models or /v1/completions (404): is it the address"
                    + " of the API?";
            case RequestFailedException.TIMED_OUT -> server.url() + " does not answer in time";
            case RequestFailedException.UNREADABLE -> server.url() + " answers, but not as OpenAI's API does";
            default -> server.url() + " does not answer a small request (" + failure.kind() + "): "
                    + failure.getMessage();
        };
    }
}
