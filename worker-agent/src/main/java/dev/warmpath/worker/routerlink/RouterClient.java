package dev.warmpath.worker.routerlink;

import com.fasterxml.jackson.annotation.JsonIgnoreProperties;
import dev.warmpath.protocol.fleet.FleetToken;
import dev.warmpath.protocol.fleet.RefusalReason;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.json.JsonMapper;

/** Posts to routers, and tells a refusal from a failure. Blocking; for virtual threads. */
final class RouterClient {

    private static final Duration TIMEOUT = Duration.ofSeconds(2);
    private static final int OK_STATUSES = 200;

    private final HttpClient http = HttpClient.newBuilder()
            .version(HttpClient.Version.HTTP_1_1)
            .connectTimeout(TIMEOUT)
            .followRedirects(HttpClient.Redirect.NEVER)
            .build();
    private final FleetToken token;
    private final JsonMapper json;

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
        HttpRequest.Builder request = HttpRequest.newBuilder(router.resolve(path))
                .timeout(TIMEOUT)
                .header("Content-Type", "application/json")
                .POST(HttpRequest.BodyPublishers.ofByteArray(json.writeValueAsBytes(body)));
        String header = token.header();
        if (header != null) {
            request.header("Authorization", header);
        }
        HttpResponse<String> response = http.send(request.build(), HttpResponse.BodyHandlers.ofString());
        return response.statusCode() / 100 * 100 == OK_STATUSES ? null : refusal(response);
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
