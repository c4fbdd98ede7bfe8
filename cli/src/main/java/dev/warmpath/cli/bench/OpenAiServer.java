package dev.warmpath.cli.bench;

import dev.warmpath.cli.fleet.CommandException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.ConnectException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.net.http.HttpTimeoutException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ObjectNode;

/** A server of OpenAI's API under load. For any number of threads; each of them waits for its own answer. */
final class OpenAiServer implements AutoCloseable {

    static final JsonMapper JSON = JsonMapper.builder().build();
    private static final Duration CONNECT = Duration.ofSeconds(10);
    private static final int MOST_OF_AN_ERROR = 64 << 10;
    private static final int LONGEST_MESSAGE = 300;

    private final URI url;
    private final @Nullable String key;
    private final Duration timeout;
    private final LongSupplier clock;
    private final HttpClient client;
    /** Ends answers that take too long; a client's own limit ends with the answer's head. */
    private final ScheduledThreadPoolExecutor watch;

    /**
     * @param url     without a path
     * @param key     sent as bearer; null: none
     * @param timeout of a whole answer
     */
    OpenAiServer(URI url, @Nullable String key, Duration timeout, LongSupplier clock) {
        this.url = url;
        this.key = key;
        this.timeout = timeout;
        this.clock = clock;
        this.client = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).connectTimeout(CONNECT)
                .executor(Executors.newVirtualThreadPerTaskExecutor()).build();
        this.watch = new ScheduledThreadPoolExecutor(1, Thread.ofPlatform().daemon().factory());
        watch.setRemoveOnCancelPolicy(true);
    }

    URI url() {
        return url;
    }

    boolean hasKey() {
        return key != null;
    }

    /** @throws RequestFailedException if there is no such answer */
    JsonNode get(String path) throws RequestFailedException {
        return json(request(path).GET());
    }

    /** @throws RequestFailedException if there is no such answer */
    JsonNode post(String path, ObjectNode body) throws RequestFailedException {
        return json(request(path).POST(BodyPublishers.ofByteArray(JSON.writeValueAsBytes(body))));
    }

    /** Sends a completion that streams, and reads it to its end. */
    Answer complete(ObjectNode body) throws RequestFailedException {
        var request = request("/v1/completions").POST(BodyPublishers.ofByteArray(JSON.writeValueAsBytes(body))).build();
        var late = new AtomicBoolean();
        long sentNanos = System.nanoTime();
        try {
            HttpResponse<InputStream> response = client.send(request, BodyHandlers.ofInputStream());
            var stream = response.body();
            var limit = watch.schedule(() -> {
                late.set(true);
                close(stream);
            }, timeout.toNanos() - (System.nanoTime() - sentNanos), TimeUnit.NANOSECONDS);
            try (stream) {
                if (response.statusCode() != 200) {
                    throw RequestFailedException.http(response.statusCode(), message(stream));
                }
                Answer answer = new AnswerReader(clock,
                        response.headers().firstValue("x-warmpath-worker").orElse(null)).read(stream);
                readToTheEnd(stream);
                return answer;
            } finally {
                limit.cancel(false);
            }
        } catch (IOException e) {
            throw failure(e, late.get());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new RequestFailedException(RequestFailedException.BROKEN, "interrupted");
        }
    }

    /** A body that is left before its end takes its connection with it, or worse, with the next request on that. */
    private static void readToTheEnd(InputStream stream) {
        try {
            stream.transferTo(OutputStream.nullOutputStream());
        } catch (IOException e) {
            // whatever comes behind the answer is none of it
        }
    }

    private HttpRequest.Builder request(String path) {
        var request = HttpRequest.newBuilder(url.resolve(path)).timeout(timeout)
                .header("content-type", "application/json");
        return key == null ? request : request.header("authorization", "Bearer " + key);
    }

    private JsonNode json(HttpRequest.Builder request) throws RequestFailedException {
        try {
            HttpResponse<InputStream> response = client.send(request.build(),
                    BodyHandlers.limiting(BodyHandlers.ofInputStream(), MOST_OF_AN_ERROR << 8));
            try (InputStream body = response.body()) {
                if (response.statusCode() != 200) {
                    throw RequestFailedException.http(response.statusCode(), message(body));
                }
                return JSON.readTree(body.readAllBytes());
            }
        } catch (JacksonException e) {
            throw new RequestFailedException(RequestFailedException.UNREADABLE, "no JSON");
        } catch (IOException e) {
            throw failure(e, false);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new CommandException("interrupted");
        }
    }

    private static RequestFailedException failure(IOException failure, boolean late) {
        if (late || failure instanceof HttpTimeoutException) {
            return new RequestFailedException(RequestFailedException.TIMED_OUT, "no whole answer in time");
        }
        return new RequestFailedException(failure instanceof ConnectException ? RequestFailedException.REFUSED
                : RequestFailedException.BROKEN, String.valueOf(failure.getMessage()));
    }

    private static String message(InputStream body) throws IOException {
        String text = new String(body.readNBytes(MOST_OF_AN_ERROR), StandardCharsets.UTF_8).strip();
        try {
            JsonNode json = JSON.readTree(text);
            text = json.path("error").path("message").asString(json.path("message").asString(text));
        } catch (JacksonException e) {
            // then it is what it is
        }
        return text.length() > LONGEST_MESSAGE ? text.substring(0, LONGEST_MESSAGE) + "…" : text;
    }

    private static void close(InputStream stream) {
        try {
            stream.close();
        } catch (IOException e) {
            // it is closed, then
        }
    }

    @Override
    public void close() {
        watch.shutdownNow();
        client.shutdownNow();
        client.close();
    }
}
