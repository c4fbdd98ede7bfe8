package dev.warmpath.worker.foreign.generate;

import java.io.IOException;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpTimeoutException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * Short questions to the engine, on connections of their own: they never queue behind generations. Blocking; for
 * virtual threads. A whole answer has come in time and within {@link #MAX_ANSWER_BYTES}, or there is none.
 */
final class EngineHttp implements AutoCloseable {

    static final String RANK_HEADER = "X-data-parallel-rank";
    private static final int MAX_ANSWER_BYTES = 8 << 20;
    private static final int OK = 200;

    private final EngineLink link;
    private final HttpClient http;

    EngineHttp(EngineLink link) {
        this.link = link;
        this.http = HttpClient.newBuilder()
                .version(HttpClient.Version.HTTP_1_1)
                .connectTimeout(link.connectTimeout())
                .followRedirects(HttpClient.Redirect.NEVER)
                .build();
    }

    record Answer(int status, byte[] body) {

        boolean isOk() {
            return status == OK;
        }

        String text() {
            return new String(body, StandardCharsets.UTF_8);
        }
    }

    Answer get(String path, Duration timeout) throws IOException, InterruptedException {
        return send(request(path).GET(), timeout);
    }

    Answer post(String path, byte[] body, Duration timeout) throws IOException, InterruptedException {
        return send(request(path).header("Content-Type", "application/json")
                .POST(HttpRequest.BodyPublishers.ofByteArray(body)), timeout);
    }

    private HttpRequest.Builder request(String path) {
        HttpRequest.Builder request = HttpRequest.newBuilder(link.address().resolve(path));
        if (link.apiKey() != null) {
            request.header("Authorization", "Bearer " + link.apiKey());
        }
        if (link.rank() != null) {
            request.header(RANK_HEADER, link.rank().toString());
        }
        return request;
    }

    private Answer send(HttpRequest.Builder request, Duration timeout) throws IOException, InterruptedException {
        CompletableFuture<HttpResponse<byte[]>> answer = http.sendAsync(request.build(),
                HttpResponse.BodyHandlers.limiting(HttpResponse.BodyHandlers.ofByteArray(), MAX_ANSWER_BYTES));
        try {
            HttpResponse<byte[]> whole = answer.get(timeout.toNanos(), TimeUnit.NANOSECONDS);
            return new Answer(whole.statusCode(), whole.body());
        } catch (TimeoutException e) {
            throw new HttpTimeoutException("no whole answer within " + timeout.toMillis() + " ms");
        } catch (ExecutionException e) {
            throw e.getCause() instanceof IOException io ? io : new IOException(e.getCause());
        } finally {
            answer.cancel(/* mayInterruptIfRunning */ true);
        }
    }

    @Override
    public void close() {
        http.shutdownNow();
    }
}
