package dev.warmpath.router.dispatch;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.router.ErrorAnswer;
import dev.warmpath.router.ErrorRow;
import dev.warmpath.router.FakeWorker;
import dev.warmpath.router.FakeWorker.Script;
import dev.warmpath.router.RunningRouter;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.springframework.test.context.TestPropertySource;

@TestPropertySource(properties = {"warmpath.dispatch.inter-token-timeout=1s", "warmpath.openai.heartbeat=1h"})
class NextTokenDeadlineTest extends RunningRouter {

    private static final int TOKENS = 60_000;
    private static final String STREAM = "{'model':'tiny','stream':true,'prompt':'Hi','max_tokens':50}";

    @ErrorRow("504 deadline_exceeded")
    @Test
    void a_worker_that_falls_silent_breaks_the_stream() throws IOException {
        join("w0").doing(FakeWorker.hangingAfter(ids("a")));

        String raw = rawCompletion(STREAM);

        assertBroken(raw, "deadline_exceeded");
        assertThat(events(raw).getLast()).isEqualTo(ErrorAnswer.object(
                "the worker 'w0' sent no token for 1000 ms", "api_error", null, "deadline_exceeded"));
        assertThat(text(JSON.readTree(events(raw).getFirst()))).isEqualTo("a");
    }

    /**
     * Far more than the sockets' buffers hold, so that the worker has to wait for the client, and the router for both.
     * How long is measured by a stream beside it, whose worker falls silent: that one has met the deadline.
     * The worker's own thread may be held up for as long, but not each time.
     */
    @Test
    void a_client_that_pauses_longer_than_a_worker_may_gets_its_whole_answer() throws Exception {
        FakeWorker worker = join("w0");
        long texts = 0;
        for (int attempt = 0; attempt < 5 && texts < TOKENS; attempt++) {
            texts = textsAfterAPause(worker);
        }
        assertThat(texts).isEqualTo(TOKENS);
    }

    private long textsAfterAPause(FakeWorker worker) throws IOException {
        var drawn = new AtomicInteger();
        Script paused = FakeWorker.drawingAsFastAsItIsRead(ids("a")[0], drawn);
        Script silent = FakeWorker.hangingAfter(ids("a"));
        worker.doing((request, response) ->
                (request.stop().maxTokens() == TOKENS ? paused : silent).answer(request, response));

        try (Socket client = rawClient(STREAM.replace("50", Integer.toString(TOKENS)))) {
            int before;
            do {
                before = drawn.get();
                assertBroken(rawCompletion(STREAM), "deadline_exceeded");
            } while (drawn.get() > before || before == 0);

            assertThat(before).isLessThan(TOKENS);
            return readUntil("[DONE]", client);
        }
    }

    /** @return lines with text */
    private static long readUntil(String last, Socket client) throws IOException {
        var lines = new BufferedReader(new InputStreamReader(client.getInputStream(), StandardCharsets.UTF_8));
        long texts = 0;
        for (String line = lines.readLine(); line != null && !line.contains(last); line = lines.readLine()) {
            texts += line.contains("\"text\":\"a\"") ? 1 : 0;
        }
        return texts;
    }

    @Override
    protected int contextLength() {
        return 1_000_000;
    }
}
