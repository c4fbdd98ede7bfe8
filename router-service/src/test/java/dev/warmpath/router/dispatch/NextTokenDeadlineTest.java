package dev.warmpath.router.dispatch;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.router.FakeWorker;
import dev.warmpath.router.RunningRouter;
import java.io.IOException;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.springframework.test.context.TestPropertySource;

@TestPropertySource(properties = "warmpath.dispatch.inter-token-timeout=500ms")
class NextTokenDeadlineTest extends RunningRouter {

    private static final String STREAM = "{'model':'tiny','stream':true,'prompt':'Hi','max_tokens':50}";

    @Test
    void a_worker_that_falls_silent_breaks_the_stream() throws IOException {
        join("w0").doing(FakeWorker.hangingAfter(ids("a")));

        String raw = rawCompletion(STREAM);

        assertBroken(raw, "deadline_exceeded");
        assertThat(text(JSON.readTree(events(raw).getFirst()))).isEqualTo("a");
    }

    @Test
    void a_client_that_does_not_read_stops_the_worker_and_is_given_up() throws IOException {
        var drawn = new AtomicInteger();
        FakeWorker worker = join("w0").doing(FakeWorker.drawingAsFastAsItIsRead(ids("a")[0], drawn));

        try (Socket client = rawClient(STREAM)) {
            eventually(() -> drawn.get() > 0 && worker.openConnections() == 0 && inFlight() == 0);

            // what was drawn fits into the sockets' buffers; a router that reads ahead would have taken millions
            assertThat(drawn.get()).isLessThan(1_000_000);
            assertThat(new String(client.getInputStream().readAllBytes(), StandardCharsets.UTF_8))
                    .startsWith("HTTP/1.1 200 OK").doesNotContain("[DONE]");
        }
    }
}
