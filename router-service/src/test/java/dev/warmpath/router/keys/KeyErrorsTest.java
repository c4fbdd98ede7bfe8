package dev.warmpath.router.keys;

import static dev.warmpath.router.ErrorAnswer.object;
import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.protocol.generate.FinishReason;
import dev.warmpath.router.ErrorAnswer;
import dev.warmpath.router.ErrorRow;
import dev.warmpath.router.FakeWorker;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Refusals for a key, word for word. */
class KeyErrorsTest extends KeyedRouter {

    private static void assertError(HttpResponse<String> answer, int status, String body, String... headers) {
        assertThat(ErrorAnswer.of(answer)).isEqualTo(ErrorAnswer.of(status, body, headers));
    }

    @ErrorRow("401 invalid_api_key")
    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
        x: y; x: y                                            | no API key came with the request: it belongs into the header 'Authorization: Bearer KEY', or 'x-api-key: KEY'
        authorization: Bearer wp-a; x-api-key: wp-b           | different API keys came with the request, it takes one
        authorization: Bearer wp-nobody; x-api-key: wp-nobody | the API key that came with the request is not known here
        """)
    void a_key_that_is_missing_one_of_two_or_unknown(String headers, String message) {
        HttpResponse<String> answer = send(HttpRequest.newBuilder(request("/v1/completions", TEXT), (_, _) -> true)
                .headers(headers.split(": |; ")).build());

        assertError(answer, 401, object(message, "invalid_request_error", null, "invalid_api_key"),
                "www-authenticate: Bearer");
    }

    @ErrorRow("403 permission_denied")
    @Test
    void a_path_of_operators_with_another_key() {
        accept(KEYS);

        assertError(post("/v1/route", TEAM, TEXT), 403, object("this path is for operators, and the key 'team' is no "
                + "operator's", "permission_error", null, "permission_denied"));
    }

    @ErrorRow("429 rate_limit_exceeded")
    @Test
    void a_key_that_has_used_up_its_requests_its_tokens_or_asks_for_more_tokens_than_a_minute_has() {
        join("w").doing(FakeWorker.finishing(FinishReason.LENGTH, 0, 12, 13, 14, 15));
        accept(KEYS + line("few", "wp-few", "requests-per-minute=1")
                + line("brief", "wp-brief", "tokens-per-minute=6") + line("small", "wp-small", "tokens-per-minute=2"));

        assertThat(post("/v1/completions", "wp-few", TEXT).statusCode()).isEqualTo(200);
        assertError(post("/v1/completions", "wp-few", TEXT), 429, object("the key 'few' has used up its 1 requests a "
                + "minute; try again in 60000 ms", "requests", null, "rate_limit_exceeded"),
                "retry-after: 60", "retry-after-ms: 60000");
        assertThat(post("/v1/completions", "wp-brief", TEXT).statusCode()).isEqualTo(200);
        assertError(post("/v1/completions", "wp-brief", TEXT), 429, object("the key 'brief' has used up its 6 tokens a "
                + "minute; try again in 20000 ms", "tokens", null, "rate_limit_exceeded"),
                "retry-after: 20", "retry-after-ms: 20000");
        assertError(post("/v1/completions", "wp-small", TEXT), 429, object("the prompt has 3 tokens, more than the 2 "
                + "that the key 'small' has in a minute", "tokens", null, "rate_limit_exceeded"), "x-should-retry: false");
    }
}
