package dev.warmpath.worker.foreign.generate;

import dev.warmpath.protocol.process.ForeignText;
import dev.warmpath.worker.foreign.generate.EngineHttp.Answer;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.JsonNode;

/**
 * Tries a found engine: what comes of a prompt, and whether its tokens are those of a tokenizer. What it says of itself
 * {@link EngineProbe} has found out. Blocking.
 */
public final class EngineTrial implements AutoCloseable {

    /** An answer did not tell how many tokens were cached. */
    public static final int NOT_TOLD = -1;

    private static final String DETOKENIZE = "/detokenize";
    private static final Duration TIMEOUT = Duration.ofSeconds(5);
    private static final int SERVER_ERRORS = 500;
    private static final int MOST_DIFFERENCES = 3;
    private static final int MOST_SHOWN = 40;

    private final FoundEngine engine;
    private final EngineHttp http;

    public EngineTrial(EngineLink link, FoundEngine engine) {
        this.engine = engine;
        this.http = new EngineHttp(link);
    }

    /**
     * Has one token drawn behind a prompt.
     *
     * @return tokens of the prompt that were cached, or {@link #NOT_TOLD}
     * @throws IOException               if it does not answer, or with an error of its own
     * @throws UnsuitableEngineException if it refuses the prompt
     */
    public int cachedTokens(int[] prompt) throws IOException, UnsuitableEngineException, InterruptedException {
        Dialect dialect = engine.dialect();
        Answer answer = http.post(dialect.path(), dialect.trial(prompt), EngineProbe.FIRST_TOKEN);
        if (!answer.isOk()) {
            String said = dialect.path() + " answers " + answer.status() + ": "
                    + EngineFailure.ofStatus(answer.status(), answer.body(), Dialect.JSON).message();
            if (answer.status() < SERVER_ERRORS) {
                throw new UnsuitableEngineException("it refuses a prompt of " + prompt.length + " tokens: " + said);
            }
            throw new IOException(said);
        }
        JsonNode whole = json(answer);
        JsonNode ofOpenAi = whole.path("usage").path("prompt_tokens_details").path("cached_tokens");
        return ofOpenAi.asInt(whole.path("meta_info").path("cached_tokens").asInt(NOT_TOLD));
    }

    /**
     * What came of a comparison of tokens.
     *
     * @param compared    how many it told
     * @param differences a clause for each of the first few that are other ones
     * @param silence     why it told none, a clause; empty if it told some
     */
    public record Comparison(int compared, List<String> differences, String silence) {

        public Comparison {
            differences = List.copyOf(differences);
        }
    }

    /**
     * Asks for the text of each token. A server that does not tell is silent, not different: some have no such
     * endpoint, some no tokenizer.
     */
    public Comparison compare(KnownTokens known) throws InterruptedException {
        List<String> differences = new ArrayList<>();
        int compared = 0;
        String silence = "there is no token to ask for";
        try {
            for (KnownTokens.Token token : known.tokens()) {
                Answer answer = ask(token.id());
                if (answer.isOk()) {
                    String text = text(answer);
                    boolean isLeftOut = text.isEmpty() && token.isAdded();               // by servers that skip such
                    compared += isLeftOut ? 0 : 1;
                    if (!isLeftOut && !text.equals(token.text())) {
                        differences.add("token " + token.id() + " is '" + ForeignText.oneLine(text, MOST_SHOWN)
                                + "' there and '" + token.text() + "' here");
                    }
                } else {
                    silence = DETOKENIZE + " answers " + answer.status();
                }
                if (!answer.isOk() && compared == 0 || differences.size() == MOST_DIFFERENCES) {
                    break;
                }
            }
        } catch (IOException e) {
            silence = DETOKENIZE + ": " + e.getMessage();
        }
        return new Comparison(compared, differences, compared > 0 ? "" : silence);
    }

    private Answer ask(int id) throws IOException, InterruptedException {
        return http.post(DETOKENIZE, Dialect.object(json -> {
            json.writeStringProperty("model", engine.facts().model());
            Dialect.array(json, "tokens", new int[] {id});
            if (engine.facts().kind() == EngineKind.SGLANG) {
                json.writeBooleanProperty("skip_special_tokens", false);
            }
        }), TIMEOUT);
    }

    /** Without spaces around it: some begin with one. */
    private static String text(Answer answer) throws IOException {
        JsonNode whole = json(answer);
        JsonNode text = whole.path("prompt").isString() ? whole.path("prompt") : whole.path("text");
        if (!text.isString()) {
            throw new IOException("it tells no text, but '" + ForeignText.oneLine(answer.text(), MOST_SHOWN) + "'");
        }
        return text.stringValue().strip();
    }

    private static JsonNode json(Answer answer) throws IOException {
        try {
            return Dialect.JSON.readTree(answer.body());
        } catch (JacksonException e) {
            throw new IOException("it answers '" + ForeignText.oneLine(answer.text(), MOST_SHOWN) + "'", e);
        }
    }

    @Override
    public void close() {
        http.close();
    }
}
