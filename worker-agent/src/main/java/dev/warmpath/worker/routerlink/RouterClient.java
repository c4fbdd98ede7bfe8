package dev.warmpath.worker.routerlink;

import com.fasterxml.jackson.annotation.JsonIgnoreProperties;
import dev.warmpath.protocol.fleet.FleetToken;
import dev.warmpath.protocol.fleet.Handshake;
import dev.warmpath.protocol.fleet.RefusalReason;
import dev.warmpath.protocol.fleet.RequestProof;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpTimeoutException;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.json.JsonMapper;

/**
 * Posts to routers, and tells a refusal from a failure. Blocking; for virtual threads.
 *
 * <p>Each request proves that it comes from the fleet, see {@link RequestProof}. What the proof has to be made for, the
 * router says when it refuses the first one, and again after it has been started anew.
 *
 * <p>Whatever listens at a router's address, a whole answer has come within two seconds and {@link #MAX_ANSWER_BYTES},
 * or there is none.
 */
final class RouterClient {

    private static final Duration TIMEOUT = Duration.ofSeconds(2);
    /** Refusals are a few hundred. */
    private static final int MAX_ANSWER_BYTES = 64 << 10;
    private static final int OK_STATUSES = 200;

    private final HttpClient http = HttpClient.newBuilder()
            .version(HttpClient.Version.HTTP_1_1)
            .connectTimeout(TIMEOUT)
            .followRedirects(HttpClient.Redirect.NEVER)
            .build();
    private final FleetToken token;
    private final JsonMapper json;
    private final String sender = Handshake.newNonce(new SecureRandom());
    private final AtomicLong number = new AtomicLong();
    /** By router, as many as {@link RouterLink} has found; a refusal replaces what is old. */
    private final Map<URI, String> challenges = new ConcurrentHashMap<>();

    RouterClient(FleetToken token, JsonMapper json) {
        this.token = token;
        this.json = json;
    }

    /** The router has understood, and does not want it. */
    record Refusal(RefusalReason reason, String detail) {}

    @JsonIgnoreProperties(ignoreUnknown = true)
    private record Problem(@Nullable RefusalReason reason, @Nullable String detail) {}

    /**
     * @return null if the router took it
     * @throws IOException if it gave no answer, or one that is not of this protocol
     */
    @Nullable Refusal post(URI router, String path, Object body) throws IOException, InterruptedException {
        byte[] content = json.writeValueAsBytes(body);
        HttpResponse<String> response = send(router, path, content);
        String challenge = response.headers().firstValue(RequestProof.CHALLENGE_HEADER).orElse(null);
        if (challenge != null && Handshake.isNonce(challenge)) {
            challenges.put(router, challenge);
            response = send(router, path, content);
        }
        return response.statusCode() / 100 * 100 == OK_STATUSES ? null : refusal(response);
    }

    private HttpResponse<String> send(URI router, String path, byte[] body) throws IOException, InterruptedException {
        HttpRequest.Builder request = HttpRequest.newBuilder(router.resolve(path))
                .header("Content-Type", "application/json")
                .POST(HttpRequest.BodyPublishers.ofByteArray(body));
        String challenge = challenges.get(router);
        if (challenge != null && !token.isNone()) {
            request.header(RequestProof.HEADER,
                    RequestProof.of(token, challenge, sender, number.incrementAndGet(), path, body));
        }
        CompletableFuture<HttpResponse<String>> answer = http.sendAsync(request.build(),
                HttpResponse.BodyHandlers.limiting(HttpResponse.BodyHandlers.ofString(), MAX_ANSWER_BYTES));
        try {
            return answer.get(TIMEOUT.toNanos(), TimeUnit.NANOSECONDS);
        } catch (TimeoutException e) {
            throw new HttpTimeoutException("no whole answer within " + TIMEOUT.toMillis() + " ms");
        } catch (ExecutionException e) {
            throw e.getCause() instanceof IOException io ? io : new IOException(e.getCause());
        } finally {
            answer.cancel(/* mayInterruptIfRunning */ true);       // whoever answered half is hung up on
        }
    }

    private Refusal refusal(HttpResponse<String> response) throws IOException {
        try {
            Problem problem = json.readValue(response.body(), Problem.class);
            if (problem != null && problem.reason() != null) {
                return new Refusal(problem.reason(), String.valueOf(problem.detail()));
            }
        } catch (JacksonException e) {
            // no problem document: somebody else answers at that address
        }
        throw new IOException("router answered " + response.statusCode());
    }
}
