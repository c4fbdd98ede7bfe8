package dev.warmpath.worker.routerlink;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.worker.WorkerApplication;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.net.SocketException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.boot.test.context.SpringBootTest.WebEnvironment;
import org.springframework.boot.test.web.server.LocalManagementPort;
import org.springframework.boot.test.web.server.LocalServerPort;

/** A whole worker with a token, and connections on which nobody says anything, or half of it. */
@Tag("full")
@SpringBootTest(classes = WorkerApplication.class, webEnvironment = WebEnvironment.RANDOM_PORT, properties = {
    "warmpath.worker.id=w", "warmpath.worker.base-url=http://127.0.0.1:1", "warmpath.kv.block-count=129",
    "warmpath.model.directory=../models/warmpath-tiny", "warmpath.compute.backend=vector", "warmpath.compute.threads=1",
    "warmpath.compute.warm-up=0s", "warmpath.compute.longest-step=1h", "warmpath.routerlink.token=secret",
    "management.server.port=0", "server.netty.idle-timeout=2s",
})
class SilentStrangersTest {

    private static final String UNANSWERED = "";
    private static final String HALF_A_HEAD = "GET /metrics HTTP/1.1\r\nHost: w";
    private static final String NO_BODY = "POST /v1/generate HTTP/1.1\r\nHost: w\r\nContent-Type: application/json\r\n"
            + "Content-Length: 16000000\r\n\r\n[";
    private static final String NOTHING_MORE = "GET /metrics HTTP/1.1\r\nHost: w\r\n\r\n";

    @LocalServerPort
    int port;

    @LocalManagementPort
    int managementPort;

    @Test
    void a_connection_on_which_nothing_comes_is_closed_on_either_port() throws IOException {
        List<Socket> open = new ArrayList<>();
        for (int each : new int[] {port, managementPort}) {
            for (String said : List.of(UNANSWERED, HALF_A_HEAD, NO_BODY, NOTHING_MORE)) {
                var socket = new Socket(InetAddress.getLoopbackAddress(), each);
                socket.getOutputStream().write(said.getBytes(StandardCharsets.US_ASCII));
                open.add(socket);
            }
        }
        for (Socket socket : open) {
            try (socket) {
                assertThat(socket.getInputStream().readAllBytes()).as("all of it, for its end comes").isNotNull();
            } catch (SocketException e) {
                // it was broken off: what was sent was not read
            }
        }
    }
}
