package dev.warmpath.router.openai;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.AppenderBase;
import dev.warmpath.protocol.generate.FinishReason;
import dev.warmpath.router.FakeWorker;
import dev.warmpath.router.RunningRouter;
import java.io.IOException;
import java.net.Socket;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.slf4j.LoggerFactory;

/** Whatever a client does over its socket: no warning, no stack trace, no 5xx, and the next client is answered. */
class ClientFaultsTest extends RunningRouter {

    private static final String POST = "POST /v1/completions HTTP/1.1\r\nhost: r\r\ncontent-type: application/json\r\n";
    private static final String BODY = "{\"model\":\"tiny\",\"prompt\":\"Hi\",\"max_tokens\":50%s}";

    /** Some 20 MB of events: more than lies between router and client. */
    private static final int UNREAD_TOKENS = 100_000;

    private final List<ILoggingEvent> events = new CopyOnWriteArrayList<>();
    private final AppenderBase<ILoggingEvent> appender = new AppenderBase<>() {
        @Override
        protected void append(ILoggingEvent event) {
            boolean isTrouble = event.getLevel().isGreaterOrEqual(Level.WARN) || event.getThrowableProxy() != null;
            // routers of other tests live on in this process, and follow workers and Redis on threads of their own
            if (isTrouble && !event.getThreadName().matches("(fleet|redis|lettuce)-.*")) {
                event.getFormattedMessage();
                events.add(event);
            }
        }
    };
    private String serverErrors = "";

    @Override
    protected int contextLength() {
        return 2 * UNREAD_TOKENS;
    }

    @BeforeEach
    void listen() {
        serverErrors = serverErrors();
        appender.start();
        ((Logger) LoggerFactory.getLogger(Logger.ROOT_LOGGER_NAME)).addAppender(appender);
    }

    @AfterEach
    void nothing_was_logged_and_no_5xx_counted() {
        eventually(() -> inFlight() == 0);
        assertThat(get("/v1/models").statusCode()).isEqualTo(200);
        ((Logger) LoggerFactory.getLogger(Logger.ROOT_LOGGER_NAME)).detachAppender(appender);
        assertThat(events).isEmpty();
        assertThat(serverErrors()).isEqualTo(serverErrors);
    }

    @ParameterizedTest
    @ValueSource(strings = {
        // chunks
        "POST transfer-encoding: chunked\r\n\r\nzz\r\n{",
        "POST transfer-encoding: chunked\r\n\r\n-1\r\n{",
        "POST transfer-encoding: chunked\r\n\r\n5\r\n{    XX",
        "POST transfer-encoding: chunked\r\n\r\nffffffffffffffff\r\n{",
        "POST transfer-encoding: chunked\r\n\r\n5\r\n{",
        // lengths
        "POST content-length: 50\r\n\r\n{",
        "POST content-length: 50\r\n\r\n",
        "POST content-length: -1\r\n\r\n{",
        "POST content-length: 5x\r\n\r\n{",
        "POST content-length: 5\r\ncontent-length: 6\r\n\r\n{}",
        "POST content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
        "POST content-length: 99999999999999999999\r\n\r\n{",
        "POST content-length: 17000000\r\n\r\n{",
        "POST expect: 100-continue\r\ncontent-length: 50\r\n\r\n",
        // headers and first lines
        "POST bad header\r\n\r\n",
        "POST x:\u0001\r\n\r\n",
        "POST content-encoding: \u00ff\r\n\r\n{}",
        "POST host\r\n",
        "GET",
        "\u0000\u0001\u0002 / HTTP/1.1\r\n\r\n",
        "GET / HTTP/9.9\r\nhost: r\r\n\r\n",
        "GET /%zz HTTP/1.1\r\nhost: r\r\n\r\n",
        "GET /v1/models/%ff%fe HTTP/1.1\r\nhost: r\r\n\r\n",
        "GET http://[::1/ HTTP/1.1\r\nhost: r\r\n\r\n",
        "GET // HTTP/1.1\r\nhost: [\r\n\r\n",
        "GET / HTTP/1.1\r\nhost: r\r\nx-forwarded-host: [\r\nforwarded: host=[\r\n\r\n",
        "GET /v1/models HTTP/1.1\r\nhost: r\r\naccept: /\r\n\r\n",
        "GET /v1/models HTTP/1.1\r\nhost: r\r\ncookie: =;;=\"\r\n\r\n",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        "OPTIONS * HTTP/1.1\r\nhost: r\r\norigin: x\r\naccess-control-request-method: POST\r\n\r\n",
        "CONNECT a:1 HTTP/1.1\r\nhost: r\r\n\r\n",
        "GET /v1/models HTTP/1.1\r\nhost: r\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n",
    })
    void a_request_that_is_broken_or_broken_off(String request) throws Exception {
        String text = request.startsWith("POST ") ? POST + request.substring(5) : request;
        for (boolean reset : new boolean[] {false, true}) {
            try (Socket socket = new Socket("127.0.0.1", uri("/").getPort())) {
                socket.getOutputStream().write(text.getBytes(StandardCharsets.ISO_8859_1));
                if (reset) {
                    Thread.sleep(20);
                    socket.setSoLinger(true, 0);
                } else {
                    socket.shutdownOutput();
                    String answer = new String(socket.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
                    assertThat(answer).doesNotStartWith("HTTP/1.1 5");
                }
            }
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"", ",\"stream\":true"})
    void a_client_that_resets_its_connection_while_it_is_answered(String extra) throws Exception {
        FakeWorker worker = join("w0").doing(FakeWorker.drawing(ids("a")[0]));
        for (int i = 0; i < 40; i++) {
            Socket socket = new Socket("127.0.0.1", uri("/").getPort());
            String body = BODY.formatted(extra);
            socket.getOutputStream().write((POST + "content-length: " + body.length() + "\r\n\r\n" + body)
                    .getBytes(StandardCharsets.US_ASCII));
            worker.requests().take();
            if (i % 2 == 0) {
                Thread.sleep(i / 2);
            }
            socket.setSoLinger(true, 0);
            socket.close();
            eventually(() -> inFlight() == 0 && worker.openConnections() == 0);
        }
    }

    @Test
    void a_client_that_does_not_read_its_stream() throws Exception {
        FakeWorker worker = join("w0").doing(
                FakeWorker.drawingAsFastAsItIsRead(ids("a")[0], new AtomicInteger()));
        try (Socket socket = new Socket("127.0.0.1", uri("/").getPort())) {
            String body = BODY.formatted(",\"stream\":true").replace("50", Integer.toString(UNREAD_TOKENS));
            socket.getOutputStream().write((POST + "content-length: " + body.length() + "\r\n\r\n" + body)
                    .getBytes(StandardCharsets.US_ASCII));
            worker.requests().take();
            eventually(() -> inFlight() == 0 && worker.openConnections() == 0);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {
        "{'model':'%s','prompt':'Hi'}",
        "{'model':'tiny','messages':[{'role':'%s','content':'Hi'}]}",
        "{'model':'tiny','messages':[{'role':'user','content':[{'type':'%s','text':'Hi'}]}]}",
        "{'model':'tiny','messages':[{'role':'user','content':'Hi','%.900s':1}]}",
        "{'model':'tiny','prompt':'Hi','%.900s':1}",
        "{'%s':1}",
        "{'model':%s}",
    })
    void a_long_value_comes_back_cut_and_without_the_parsers_words(String body) {
        join("w0");
        String path = body.contains("messages") ? "/v1/chat/completions" : "/v1/completions";
        HttpResponse<String> response = post(path, body.formatted("x".repeat(400_000)));

        assertThat(response.statusCode()).isBetween(400, 404);
        assertThat(response.body()).hasSizeLessThan(500)
                .doesNotContain("StreamRead", "REDACTED", "Source", "tools.jackson", "JsonNode", "FAIL_ON", "`");
    }

    /** Whatever can be said in JSON: an answer, or the caller's fault. */
    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '`', textBlock = """
        /v1/completions      | "prompt":"\\ud800"                           | 200
        /v1/completions      | "prompt":"\\udc00\\ud800 a"                  | 200
        /v1/completions      | "prompt":"\\u0000"                           | 200
        /v1/completions      | "prompt":"Hi","stop":"\\ud800"               | 200
        /v1/completions      | "prompt":"Hi","user":"\\ud800\\u0000"        | 200
        /v1/completions      | "prompt":[-0]                                | 200
        /v1/completions      | "prompt":[1e999999999]                       | 400
        /v1/completions      | "prompt":"Hi","temperature":-0               | 200
        /v1/completions      | "prompt":"Hi","temperature":-0.0             | 200
        /v1/completions      | "prompt":"Hi","temperature":1e-999999999     | 200
        /v1/completions      | "prompt":"Hi","temperature":1e400            | 400
        /v1/completions      | "prompt":"Hi","temperature":1e999999999      | 400
        /v1/completions      | "prompt":"Hi","temperature":NaN              | 400
        /v1/completions      | "prompt":"Hi","top_p":1e-400                 | 400
        /v1/completions      | "prompt":"Hi","top_k":1e99999999             | 400
        /v1/completions      | "prompt":"Hi","n":1e999999999                | 400
        /v1/completions      | "prompt":"Hi","n":1.0                        | 400
        /v1/completions      | "prompt":"Hi","length_penalty":1.0           | 200
        /v1/completions      | "prompt":"Hi","seed":-9223372036854775808    | 200
        /v1/completions      | "prompt":"Hi","prompt":"Ho"                  | 400
        /v1/completions      | "prompt":"Hi","pro\\u006dpt":"Ho"            | 400
        /v1/chat/completions | "messages":[{"role":"user","content":"\\ud800<think>"}] | 200
        /v1/route            | "prompt":"\\ud800"                           | 200
        /tokenize            | "prompt":"\\ud800"                           | 200
        /detokenize          | "tokens":[-0]                                | 200
        /detokenize          | "tokens":[-1]                                | 400
        /detokenize          | "tokens":[]                                  | 200
        """)
    void what_json_can_say_is_answered_or_refused(String path, String fields, int status) {
        join("w0").doing(FakeWorker.finishing(FinishReason.LENGTH, 0, ids("ok")));

        HttpResponse<String> response = post(path, "{\"model\":\"tiny\"," + fields + "}");

        assertThat(response.statusCode()).as(response.body()).isEqualTo(status);
    }

    @Test
    void more_types_than_are_read_in_an_accept_header_are_406() {
        HttpResponse<String> response = send(HttpRequest.newBuilder(uri("/v1/models"))
                .header("accept", "application/json,".repeat(51) + "*/*").build());

        assertThat(response.statusCode()).isEqualTo(406);
        assertThat(response.body()).contains("not_acceptable", "'accept' has more types than are read, which is 50");
    }

    /** Lines of the server's own meter with a status of 500 or more. */
    private String serverErrors() {
        return management("/actuator/prometheus").body().lines()
                .filter(line -> line.startsWith("http_server_requests_seconds_count") && line.contains("status=\"5"))
                .sorted().toList().toString();
    }
}
