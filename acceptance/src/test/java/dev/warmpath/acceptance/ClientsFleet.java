package dev.warmpath.acceptance;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;

/**
 * What the clients of others talk to: a router that asks for keys, a worker with the model that ships, and one that
 * writes calls and thoughts by a script.
 */
final class ClientsFleet implements AutoCloseable {

    /** Of whoever may do what clients do. */
    static final String KEY = "wp-of-a-client";
    /** Of whoever has one token a minute: all that it asks is refused. */
    static final String SCARCE_KEY = "wp-of-somebody-with-one-token-a-minute";
    /** Of nobody. */
    static final String UNKNOWN_KEY = "wp-of-nobody";

    /** A page that the router does not know: what it sends is forbidden. */
    static final String STRANGE_ORIGIN = "https://elsewhere.example";

    /** What the model that ships has learnt to answer. */
    static final String QUESTION = "What is a KV cache?";
    static final String ANSWER = "A KV cache keeps the keys and values of every earlier token, so that the model"
            + " computes each token's attention inputs once and reads them again at every later step.";
    static final String ONE_CITY = "What is the weather in Paris?";
    static final String TWO_CITIES = "What is the weather in Paris and in Rome?";
    static final String THOUGHT = "A tool knows that.";
    /** How the answer to results begins where the client has sent the thought back. */
    static final String AS_THOUGHT = "As I thought, the tools say: ";
    /** Of an answer that nobody waits for; whoever computes all of it has not noticed that its reader left. */
    static final int LONG = 1_900;

    private final LocalFleet fleet;
    private final ScriptedWorker scripted;

    ClientsFleet() {
        fleet = LocalFleet.start(1, 1, LocalFleet.patient("--warmpath.api-keys.file=" + keys(),
                "--warmpath.cors.allowed-origins=https://chat.example.org"), List.of());
        try {
            scripted = new ScriptedWorker(LocalFleet.freePort(), fleet.routerManagement(1));
            Await.until("both models are served", () -> fleet.gateway().readyWorkers().size() == 2);
        } catch (IOException e) {
            fleet.close();
            throw new UncheckedIOException(e);
        } catch (RuntimeException | Error e) {
            fleet.close();
            throw e;
        }
    }

    private static Path keys() {
        try {
            return Files.writeString(
                    Files.createDirectories(Path.of("target", "clients")).resolve("keys").toAbsolutePath(),
                    "client " + hash(KEY) + "\nscarce " + hash(SCARCE_KEY) + " tokens-per-minute=1\n");
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Beneath which the API's paths are, as clients want it. */
    String baseUrl() {
        return fleet.routerUrl(1) + "/v1";
    }

    /** What a client's program needs to know, as environment variables. */
    Map<String, String> environment() {
        return Map.of("WARMPATH_URL", baseUrl(), "WARMPATH_KEY", KEY, "WARMPATH_SCARCE_KEY", SCARCE_KEY,
                "WARMPATH_UNKNOWN_KEY", UNKNOWN_KEY, "WARMPATH_TOKEN_A", tokenId("a"),
                "WARMPATH_TOKEN_B", tokenId("b"));
    }

    /** The id of a text's last token, as both models have it. */
    String tokenId(String text) {
        return Integer.toString(scripted.lastToken(text));
    }

    /** Runs what leaves in the middle of one answer of {@link #LONG} tokens, and waits until nobody computes it. */
    void expectCancelled(Runnable leaving) {
        double before = cancelled();
        double drawnBefore = drawn();
        leaving.run();
        Await.until("the router knows that its client has left", () -> cancelled() == before + 1);
        Await.until("the worker knows, too", this::isIdle);
        assertThat(drawn() - drawnBefore).isLessThan(LONG);
    }

    /** Answers whose client has left, so far. */
    private double cancelled() {
        return sum(fleet.routerManagement(1), "warmpath_requests_total", "outcome=\"cancelled\"");
    }

    /** True if the real worker computes nothing. */
    private boolean isIdle() {
        URI worker = fleet.workerManagement(1);
        return sum(worker, "warmpath_engine_running_sequences", "") == 0
                && sum(worker, "warmpath_engine_waiting_sequences", "") == 0;
    }

    /** Tokens that the real worker has drawn so far. */
    private double drawn() {
        return sum(fleet.workerManagement(1), "warmpath_engine_generated_tokens_total", "");
    }

    private static double sum(URI management, String meter, String label) {
        return Gateway.meters(management).filter(line -> line.startsWith(meter) && line.contains(label))
                .mapToDouble(Gateway::value).sum();
    }

    private static String hash(String key) {
        try {
            return "sha256:" + HexFormat.of().formatHex(
                    MessageDigest.getInstance("SHA-256").digest(key.getBytes(StandardCharsets.UTF_8)));
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every Java platform has SHA-256", e);
        }
    }

    @Override
    public void close() {
        scripted.close();
        fleet.close();
    }
}
