package dev.warmpath.router;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.http.HttpResponse;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.json.JsonMapper;

/** An error as a client gets it, all of its body, and of its headers those that clients act on. */
public record ErrorAnswer(int status, String body, Map<String, String> headers) {

    private static final String[] ACTED_ON = {"content-type", "connection", "allow", "www-authenticate", "retry-after",
        "retry-after-ms", "x-should-retry"};

    /** @param headers beside the type of content, each as {@code name: value} */
    public static ErrorAnswer of(int status, String body, String... headers) {
        Map<String, String> expected = new TreeMap<>(Map.of("content-type", "application/json"));
        for (String header : headers) {
            expected.put(header.substring(0, header.indexOf(": ")), header.substring(header.indexOf(": ") + 2));
        }
        return new ErrorAnswer(status, body, expected);
    }

    public static ErrorAnswer of(HttpResponse<String> response) {
        assertThat(response.headers().firstValue("x-request-id")).isPresent();
        Map<String, String> found = new TreeMap<>();
        for (String name : ACTED_ON) {
            response.headers().firstValue(name).ifPresent(value -> found.put(name, value));
        }
        return new ErrorAnswer(response.statusCode(), response.body(), found);
    }

    /** OpenAI's error object. */
    public static String object(String message, String type, @Nullable String param, String code) {
        JsonMapper json = JsonMapper.shared();
        return "{\"error\":{\"message\":" + json.writeValueAsString(message) + ",\"type\":\"" + type + "\",\"param\":"
                + json.writeValueAsString(param) + ",\"code\":\"" + code + "\"}}";
    }
}
