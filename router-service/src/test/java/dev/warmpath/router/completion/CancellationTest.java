package dev.warmpath.router.completion;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.protocol.generate.FinishReason;
import dev.warmpath.router.ErrorAnswer;
import dev.warmpath.router.ErrorRow;
import dev.warmpath.router.FakeWorker;
import dev.warmpath.router.RunningRouter;
import java.io.IOException;
import java.net.Socket;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A client that goes away takes its work with it; permits and bookings come back on every way. */
class CancellationTest extends RunningRouter {

    private static final String BODY = "{'model':'tiny','prompt':'Hi','max_tokens':50%s}";

    @ParameterizedTest
    @ValueSource(strings = {"", ",'stream':true"})
    void a_client_that_leaves_during_the_prefill_closes_the_workers_connection(String extra) throws Exception {
        FakeWorker worker = join("w0").doing(FakeWorker.hangingAfter());

        Socket client = rawClient(BODY.formatted(extra));
        worker.requests().take();
        assertThat(inFlight()).isEqualTo(2);                    // one permit, one booking
        client.close();

        eventually(() -> worker.openConnections() == 0 && inFlight() == 0);
    }

    /** The connection is closed in the very moment when the answer begins, or just before or after: 1 of 60 hits. */
    @Test
    void a_client_that_leaves_when_the_answer_begins_closes_the_workers_connection() throws Exception {
        FakeWorker worker = join("w0").doing(FakeWorker.hangingAfter());

        for (int i = 0; i < 150; i++) {
            Socket client = rawClient(BODY.formatted(""));
            worker.requests().take();
            client.close();

            eventually(() -> worker.openConnections() == 0 && inFlight() == 0);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"", ",'stream':true"})
    void a_client_that_leaves_during_the_decode_closes_the_workers_connection(String extra) throws Exception {
        FakeWorker worker = join("w0").doing(FakeWorker.drawing(ids("a")[0]));

        Socket client = rawClient(BODY.formatted(extra));
        worker.requests().take();
        if (!extra.isEmpty()) {
            assertThat(client.getInputStream().readNBytes(200)).startsWith("HTTP/1.1 200 OK".getBytes());
        }
        client.close();

        eventually(() -> worker.openConnections() == 0 && inFlight() == 0);
        assertThat(management("/actuator/prometheus").body())
                .contains("warmpath_requests_total{api=\"completions\",model=\"tiny\",outcome=\"cancelled\"}");
    }

    @Override
    protected int contextLength() {
        return 1_000_000;
    }

    @Test
    void a_client_that_does_not_read_stops_the_worker_and_is_given_up() throws IOException {
        var drawn = new AtomicInteger();
        FakeWorker worker = join("w0").doing(FakeWorker.drawingAsFastAsItIsRead(ids("a")[0], drawn));

        try (Socket client = rawClient("{'model':'tiny','stream':true,'prompt':'Hi','max_tokens':900000}")) {
            eventually(() -> drawn.get() > 0 && worker.openConnections() == 0 && inFlight() == 0);

            // what was drawn fits into the sockets' buffers; a router that reads ahead would have taken all
            assertThat(drawn.get()).isLessThan(300_000);
            assertThat(new String(client.getInputStream().readAllBytes(), StandardCharsets.UTF_8))
                    .startsWith("HTTP/1.1 200 OK").doesNotContain("[DONE]");
        }
    }

    @ErrorRow("503 server_is_overloaded")
    @Test
    void one_request_more_than_4_in_flight_is_503_and_a_place_given_back_is_taken_again() throws Exception {
        FakeWorker worker = join("w0").doing(FakeWorker.hangingAfter(ids("a")));
        List<Socket> clients = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            clients.add(rawClient(BODY.formatted("")));
            worker.requests().take();
        }

        HttpResponse<String> refused = post("/v1/completions", BODY.formatted(""));
        for (Socket client : clients) {
            client.close();
        }
        eventually(() -> inFlight() == 0);
        worker.doing(FakeWorker.finishing(FinishReason.LENGTH, 0, ids("ok")));
        HttpResponse<String> taken = post("/v1/completions", BODY.formatted(""));

        assertThat(ErrorAnswer.of(refused)).isEqualTo(ErrorAnswer.of(503, ErrorAnswer.object(
                "4 requests are in flight, which is this router's limit", "service_unavailable_error", null,
                "server_is_overloaded"), "retry-after: 1"));
        assertThat(taken.statusCode()).isEqualTo(200);
    }
}
