package dev.warmpath.router.openai;

import static dev.warmpath.router.ErrorAnswer.object;
import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.protocol.generate.FailureReason;
import dev.warmpath.router.ErrorAnswer;
import dev.warmpath.router.ErrorRow;
import dev.warmpath.router.FakeWorker;
import dev.warmpath.router.FakeWorker.Script;
import dev.warmpath.router.RunningRouter;
import java.io.IOException;
import java.net.Socket;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeSet;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Each row of the page's table of errors, provoked and compared with all of its body. Rows that ask for other settings
 * are provoked by tests elsewhere, which have {@link ErrorRow} as well.
 */
class ErrorTableTest extends RunningRouter {

    private static final Path PAGE = Path.of("../docs/api.md");
    private static final Path TESTS = Path.of("src/test/java");
    private static final String INVALID = "invalid_request_error";
    private static final String UNAVAILABLE = "service_unavailable_error";
    private static final String API_ERROR = "api_error";
    private static final String TEXT = "{'model':'tiny','prompt':'Hi'}";

    @Test
    void the_page_has_the_errors_that_tests_provoke_and_no_others() throws IOException {
        assertThat(provoked()).isEqualTo(rowsOfThePage());
    }

    private static TreeSet<String> rowsOfThePage() throws IOException {
        var rows = new TreeSet<String>();
        Files.readAllLines(PAGE).stream().dropWhile(line -> !line.equals("| status | code | when |")).skip(2)
                .takeWhile(line -> line.startsWith("|")).forEach(line -> {
                    String[] cells = line.split(" \\| ");
                    List<String> statuses = found("\\d{3}", cells[0]);
                    List<String> codes = found("[a-z_]{2,}", cells[1]);
                    assertThat(statuses.size()).as(line).isIn(1, codes.size());
                    for (int i = 0; i < codes.size(); i++) {
                        rows.add(statuses.get(Math.min(i, statuses.size() - 1)) + " " + codes.get(i));
                    }
                });
        return rows;
    }

    private static List<String> found(String pattern, String text) {
        return Pattern.compile(pattern).matcher(text).results().map(MatchResult::group).toList();
    }

    private static TreeSet<String> provoked() throws IOException {
        var rows = new TreeSet<String>();
        try (Stream<Path> files = Files.walk(TESTS)) {
            for (Path file : files.filter(path -> path.toString().endsWith("Test.java")).toList()) {
                for (String annotation : found("@ErrorRow\\([^)]*\\)", Files.readString(file))) {
                    rows.addAll(found("\\d{3} [a-z_]+", annotation));
                }
            }
        }
        return rows;
    }

    /** @param one empty: none */
    private static String[] headers(String one) {
        return one.isEmpty() ? new String[0] : new String[] {one};
    }

    private static void assertError(HttpResponse<String> answer, int status, String body, String... headers) {
        assertThat(ErrorAnswer.of(answer)).isEqualTo(ErrorAnswer.of(status, body, headers));
    }

    @ErrorRow({"400 invalid_value", "400 missing_value", "400 unknown_parameter", "400 unsupported_parameter",
        "400 invalid_json", "400 context_length_exceeded", "404 model_not_found"})
    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '`', nullValues = "-", textBlock = """
        400 | invalid_value           | top_p      | 'top_p' is 2, which is outside 0 to 1 | {'model':'tiny','prompt':'Hi','top_p':2}
        400 | invalid_value           | stop[1]    | 'stop[1]' must be a string, not an integer | {'model':'tiny','prompt':'Hi','stop':['a',7]}
        400 | invalid_json            | model      | 'model' is there twice                | {'model':'tiny','model':'tiny'}
        400 | missing_value           | prompt     | 'prompt' is missing                   | {'model':'tiny'}
        400 | unknown_parameter       | tmperature | 'tmperature' is not a known field     | {'model':'tiny','prompt':'Hi','tmperature':0}
        400 | unsupported_parameter   | store      | 'store' is not supported (other than false) | {'model':'tiny','prompt':'Hi','store':true}
        400 | invalid_json            | -          | the body is not JSON that can be read (line 1, column 17) | {'model':'tiny',}
        400 | invalid_json            | -          | the body is empty                     | ``
        400 | context_length_exceeded | max_tokens | This model's maximum context length is 64 tokens. The prompt has 3, and 'max_tokens' asks for 62 more | {'model':'tiny','prompt':[1,2,3],'max_tokens':62}
        404 | model_not_found         | model      | the model 'big' is not served here; served are 'small', 'tiny' | {'model':'big','prompt':'Hi'}
        """)
    void a_body_that_cannot_be_taken(int status, String code, String param, String message, String body) {
        join("w0");
        joinWithModel("w1", "small");

        assertError(post("/v1/completions", body), status, object(message, INVALID, param, code));
    }

    /** Answered by the server beneath. */
    @ParameterizedTest
    @ValueSource(strings = {"zz\r\n{", "-1\r\n", "5\r\n{    XX", "5\r\n{    \r\nzz\r\n"})
    void a_body_whose_chunks_cannot_be_told_apart_is_a_400_without_a_body(String chunks) throws IOException {
        try (Socket client = new Socket("127.0.0.1", uri("/").getPort())) {
            client.getOutputStream().write(("POST /v1/completions HTTP/1.1\r\nhost: r\r\n"
                    + "content-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n" + chunks)
                    .getBytes(StandardCharsets.US_ASCII));

            assertThat(client.getInputStream().readAllBytes()).asString(StandardCharsets.US_ASCII).isEqualTo(
                    "HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
        }
    }

    @ErrorRow({"404 not_found", "405 method_not_allowed", "406 not_acceptable", "415 unsupported_media_type"})
    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
        GET    | /nowhere             | x: y                      | 404 | not_found              | ''             | this path is not served
        POST   | /v1/nowhere          | x: y                      | 404 | not_found              | ''             | this path is not served
        GET    | /v1/models/big       | x: y                      | 404 | model_not_found        | ''             | the model 'big' is not served here; served are 'tiny'
        GET    | /v1/chat/completions | x: y                      | 405 | method_not_allowed     | allow: POST    | GET is not served on this path, but POST
        DELETE | /v1/models           | x: y                      | 405 | method_not_allowed     | allow: GET     | DELETE is not served on this path, but GET
        GET    | /v1/models           | accept: image/png         | 406 | not_acceptable         | ''             | answers are application/json or text/event-stream, which 'accept' leaves out
        POST   | /v1/completions      | content-type: text/plain  | 415 | unsupported_media_type | ''             | content-type is 'text/plain', it must be application/json
        POST   | /tokenize            | content-type: rubbish     | 415 | unsupported_media_type | ''             | content-type is 'rubbish', it must be application/json
        POST   | /v1/completions      | x: y                      | 415 | unsupported_media_type | ''             | content-type is missing, it must be application/json
        POST   | /v1/route            | content-encoding: gzip    | 415 | unsupported_media_type | ''             | content-encoding 'gzip' is not supported, send the body as it is
        """)
    void a_path_a_method_or_a_type_that_is_not_served(String method, String path, String header, int status,
            String code, String answered, String message) {
        join("w0");
        HttpResponse<String> answer = send(HttpRequest.newBuilder(uri(path)).headers(header.split(": "))
                .header("x-request-id", "the-client's-own").method(method, BodyPublishers.ofString("{}")).build());

        assertError(answer, status, object(message, INVALID, code.startsWith("model") ? "model" : null, code),
                headers(answered));
        assertThat(answer.headers().firstValue("x-request-id")).hasValue("the-client's-own");
    }

    @ErrorRow("413 body_too_large")
    @Test
    void a_body_of_a_byte_more_than_16_mebibytes() {
        assertError(post("/v1/completions", " ".repeat((16 << 20) + 1)), 413,
                object("the body is longer than 16777216 bytes", INVALID, null, "body_too_large"));
    }

    static Stream<Arguments> failures_of_the_only_worker() {
        return Stream.of(
                Arguments.of(FakeWorker.failingAfter(FailureReason.UNUSABLE_LOGITS, "NaN"), 422, object(
                        "the model computes no usable probabilities for this request; others are served, and another "
                                + "try would end the same way", INVALID, null, "unusable_logits"), ""),
                Arguments.of(FakeWorker.failingAfter(FailureReason.RULES_LEAVE_NOTHING, "no token is left"), 422,
                        object("no token is left", INVALID, null, "unusable_logits"), ""),
                Arguments.of(FakeWorker.failingAfter(FailureReason.ENGINE_FAILURE, "device lost"), 502,
                        object("the worker 'w0' failed on this request", API_ERROR, null, "engine_failure"), ""),
                Arguments.of(FakeWorker.refusing(503, FailureReason.QUEUE_FULL, "full"), 503,
                        object("the worker 'w0' has no room for this request now", UNAVAILABLE, null,
                                "server_is_overloaded"), "retry-after: 1"),
                Arguments.of(FakeWorker.refusing(503, FailureReason.SHUTTING_DOWN, "bye"), 503,
                        object("the worker 'w0' is going away", UNAVAILABLE, null, "no_worker_available"),
                        "retry-after: 2"),
                Arguments.of(FakeWorker.refusing(400, FailureReason.INVALID_REQUEST, "the pool has 3 blocks"), 400,
                        object("the pool has 3 blocks", INVALID, null, "refused_by_worker"), ""),
                Arguments.of(FakeWorker.answering(200, "{\"type\":\"song\"}\n"), 502,
                        object("the worker 'w0' sent an answer that cannot be right", API_ERROR, null,
                                "invalid_worker_answer"), ""),
                Arguments.of(FakeWorker.failingAfter(FailureReason.DEADLINE_EXCEEDED, "late"), 504,
                        object("the worker 'w0' had no time left for this request", API_ERROR, null,
                                "deadline_exceeded"), ""));
    }

    @ErrorRow({"422 unusable_logits", "502 engine_failure", "503 server_is_overloaded", "503 no_worker_available",
        "504 deadline_exceeded", "400 refused_by_worker", "502 invalid_worker_answer"})
    @ParameterizedTest
    @MethodSource("failures_of_the_only_worker")
    void a_failure_of_the_only_worker(Script failure, int status, String body, String header) {
        join("w0").doing(failure);

        assertError(post("/v1/completions", TEXT), status, body, headers(header));
    }

    @ErrorRow("503 no_worker_available")
    @Test
    void no_worker_at_all() {
        assertError(post("/v1/completions", TEXT), 503, object("no worker is available for this model at present",
                UNAVAILABLE, null, "no_worker_available"), "retry-after: 2");
    }

    /** They are asked in this order, by what they hold of the prompt. */
    @ErrorRow("502 worker_lost")
    @Test
    void four_workers_that_are_lost_one_after_another() {
        int[] prompt = IntStream.range(10, 50).toArray();
        List<FakeWorker> workers = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            FakeWorker worker = join("w" + i).doing(FakeWorker.dyingAfter(ids("half of")));
            announce(worker, prompt, 9 - 3 * i);
            workers.add(worker);
        }
        String body = "{'model':'tiny','prompt':" + IntStream.of(prompt).boxed().toList() + "}";

        assertError(post("/v1/completions", body), 502, object(
                "the worker 'w3' was lost while it had this request", API_ERROR, null, "worker_lost"));
        assertThat(workers).allMatch(worker -> worker.requests().size() == 1);
    }

    static Stream<Arguments> failures_in_a_stream() {
        int[] drawn = ids("a");
        return Stream.of(
                Arguments.of(FakeWorker.dyingAfter(drawn), "worker_lost",
                        "the worker 'w0' was lost while it had this request"),
                Arguments.of(FakeWorker.failingAfter(FailureReason.ENGINE_FAILURE, "device lost", drawn),
                        "engine_failure", "the worker 'w0' failed on this request"));
    }

    @ErrorRow({"502 worker_lost", "502 engine_failure"})
    @ParameterizedTest
    @MethodSource("failures_in_a_stream")
    void a_failure_after_the_first_byte_is_the_last_event_of_a_broken_stream(Script failure, String code, String message)
            throws IOException {
        join("w0").doing(failure);

        String raw = rawCompletion("{'model':'tiny','prompt':'Hi','stream':true}");

        assertBroken(raw, code);
        assertThat(events(raw).getLast()).isEqualTo(object(message, API_ERROR, null, code));
    }
}
