package dev.warmpath.cli.fleet;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * What processes of the fleet answer over HTTP. Whoever is slow, or answers without an end, counts as not answering.
 */
public final class Management implements AutoCloseable {

    /** Of an answer: a thousand workers are 600 KB. */
    private static final long MOST_BYTES = 64 << 20;
    private static final JsonMapper JSON = JsonMapper.builder().build();

    private final HttpClient client = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1)
            .connectTimeout(Duration.ofSeconds(5)).build();

    /** A whole answer. */
    public record Answer(HttpResponse<String> response) {

        public int status() {
            return response.statusCode();
        }

        public String body() {
            return response.body();
        }

        /** @return the body; a missing node unless it is JSON and the status is 200 */
        public JsonNode json() {
            try {
                return status() == 200 ? JSON.readTree(body()) : JSON.missingNode();
            } catch (JacksonException e) {
                return JSON.missingNode();
            }
        }
    }

    /** Asks without waiting; {@link #within} waits. */
    public CompletableFuture<HttpResponse<String>> get(URI uri) {
        return send(HttpRequest.newBuilder(uri).GET());
    }

    public CompletableFuture<HttpResponse<String>> post(URI uri, String json) {
        return send(HttpRequest.newBuilder(uri).header("content-type", "application/json")
                .POST(BodyPublishers.ofString(json)));
    }

    private CompletableFuture<HttpResponse<String>> send(HttpRequest.Builder request) {
        return client.sendAsync(request.build(), BodyHandlers.limiting(BodyHandlers.ofString(), MOST_BYTES));
    }

    /** @return null if there is no whole answer in this time */
    public static @Nullable Answer within(Duration patience, CompletableFuture<HttpResponse<String>> asked) {
        try {
            return new Answer(asked.get(patience.toMillis(), TimeUnit.MILLISECONDS));
        } catch (ExecutionException e) {
            if (e.getCause() instanceof IOException) {
                return null;
            }
            throw new IllegalStateException(e.getCause());
        } catch (TimeoutException e) {
            asked.cancel(true);
            return null;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted while a process of the fleet was asked", e);
        }
    }

    /** Ends what is still asked. */
    @Override
    public void close() {
        client.shutdownNow();
    }
}
