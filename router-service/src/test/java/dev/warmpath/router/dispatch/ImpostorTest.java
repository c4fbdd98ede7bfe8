package dev.warmpath.router.dispatch;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.protocol.fleet.Protocol;
import dev.warmpath.protocol.generate.FinishReason;
import dev.warmpath.router.FakeWorker;
import dev.warmpath.router.RouterApplication;
import dev.warmpath.router.RunningRouter;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.Test;
import org.springframework.test.context.ContextConfiguration;
import org.springframework.test.context.TestPropertySource;

/** A router with the token {@code hush}. */
@ContextConfiguration(classes = RouterApplication.class)
@TestPropertySource(properties = "warmpath.fleet.token=hush")
class ImpostorTest extends RunningRouter {

    private static final int[] PROMPT = {10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21};
    private static final String REQUEST = "{'model':'tiny','prompt':[10,11,12,13,14,15,16,17,18,19,20,21]}";
    private static final String ANSWER = "{\"type\":\"tokens\",\"index\":0,\"ids\":[20]}\n{\"type\":\"finished\","
            + "\"reason\":\"length\",\"usage\":{\"promptTokens\":12,\"cachedTokens\":0,\"completionTokens\":1}}\n";

    @Test
    void who_takes_a_dead_workers_address_reads_no_prompt_and_no_token_and_no_request_fails() throws IOException {
        FakeWorker.Script answer = FakeWorker.finishing(FinishReason.LENGTH, 0, ids("from w0"));
        // the router keeps no connection, whose end it might find out with a request: the next one asks who is there
        FakeWorker dead = join("w0").doing((request, response) -> answer.answer(request, response.keepAlive(false)));
        announce(dead, PROMPT, 3);                                 // requests would go there
        join("w1").doing(FakeWorker.finishing(FinishReason.LENGTH, 0, ids("fine")));
        assertThat(post("/v1/completions", REQUEST).headers().firstValue("x-warmpath-worker")).hasValue("w0");
        int port = dead.baseUrl().getPort();
        dead.close();

        List<String> heard = new CopyOnWriteArrayList<>();
        try (ServerSocket impostor = listen(port)) {
            Thread.ofVirtual().start(() -> answerEverybody(impostor, heard));
            for (int i = 0; i < 20; i++) {
                HttpResponse<String> response = post("/v1/completions", REQUEST);
                assertThat(response.statusCode()).as(response.body()).isEqualTo(200);
                assertThat(response.headers().firstValue("x-warmpath-worker")).hasValue("w1");
            }
            assertThat(management("/actuator/workers").body()).doesNotContain("\"w0\"");
        }

        assertThat(heard).isNotEmpty().allSatisfy(request -> assertThat(request)
                .startsWith("GET " + Protocol.HANDSHAKE_PATH + " HTTP/1.1\r\n")
                .doesNotContain("hush", "Bearer", "10,11,12"));
    }

    private static ServerSocket listen(int port) throws IOException {
        var socket = new ServerSocket();
        socket.setReuseAddress(true);
        socket.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), port));
        return socket;
    }

    /** Says to whatever comes what a worker would say to a prompt. */
    private static void answerEverybody(ServerSocket impostor, List<String> heard) {
        while (!impostor.isClosed()) {
            try (Socket socket = impostor.accept()) {
                InputStream in = socket.getInputStream();
                byte[] bytes = new byte[65_536];
                int count = in.read(bytes);
                if (count < 0) {
                    continue;                                      // a probe that only connects
                }
                heard.add(new String(bytes, 0, count, StandardCharsets.UTF_8));
                socket.getOutputStream().write(("HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\n"
                        + "Content-Length: " + ANSWER.length() + "\r\n\r\n" + ANSWER).getBytes(StandardCharsets.UTF_8));
                socket.getOutputStream().flush();
                count = in.read(bytes);
                if (count > 0) {
                    heard.add(new String(bytes, 0, count, StandardCharsets.UTF_8));
                }
            } catch (IOException e) {
                // the router has hung up
            }
        }
    }
}
