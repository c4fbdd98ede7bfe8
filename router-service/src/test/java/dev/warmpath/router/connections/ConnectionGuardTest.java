package dev.warmpath.router.connections;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.protocol.generate.FinishReason;
import dev.warmpath.router.ErrorRow;
import dev.warmpath.router.FakeWorker;
import dev.warmpath.router.RunningRouter;
import dev.warmpath.router.metrics.RouterMetrics;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import java.io.IOException;
import java.io.InputStream;
import java.net.Socket;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.reactor.netty.NettyReactiveWebServerFactory;
import org.springframework.boot.test.context.TestConfiguration;
import org.springframework.boot.web.server.WebServerFactoryCustomizer;
import org.springframework.context.annotation.Bean;
import org.springframework.test.context.TestPropertySource;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Sinks;

/** Raw sockets that do as little as they can, against deadlines of a second and room for 220 connections. */
@TestPropertySource(properties = {
    "warmpath.connections.max=220",
    "warmpath.connections.header-timeout=1s",
    "warmpath.connections.body-idle-timeout=1s",
    "warmpath.connections.body-rate=1MB",
    "warmpath.connections.write-idle-timeout=1s",
    "warmpath.connections.write-rate=1MB",
    "warmpath.dispatch.first-token-timeout=1500ms",
    "server.netty.idle-timeout=1h",
})
class ConnectionGuardTest extends RunningRouter {

    private static final String HEADERS =
            "POST /v1/completions HTTP/1.1\r\nhost: r\r\ncontent-type: application/json\r\n";
    private static final String NOWHERE = "GET /nowhere HTTP/1.1\r\nhost: r\r\n\r\n";
    private static final String BODY = "{\"model\":\"tiny\",\"prompt\":\"Hi\"}";

    /** Of tokens with 2,000 letters: 12 MB, which no socket's buffers hold. */
    private static final int LONG_CONTEXT = 6_000;

    /** What the router has taken from its clients' sockets. */
    @TestConfiguration(proxyBeanMethods = false)
    static class CountingBytes {

        @Bean
        LongAdder bytesRead() {
            return new LongAdder();
        }

        @Bean
        WebServerFactoryCustomizer<NettyReactiveWebServerFactory> countingBytes(LongAdder bytesRead) {
            return factory -> factory.addServerCustomizers(server -> server.doOnChannelInit((_, channel, _) ->
                    channel.pipeline().addFirst(new ChannelInboundHandlerAdapter() {
                        @Override
                        public void channelRead(ChannelHandlerContext ctx, Object message) {
                            bytesRead.add(((ByteBuf) message).readableBytes());
                            ctx.fireChannelRead(message);
                        }
                    })));
        }
    }

    @Autowired LongAdder bytesRead;
    @Autowired OpenConnections publicConnections;
    @Autowired ConnectionProperties limits;
    private final List<Socket> sockets = new ArrayList<>();

    @Override
    protected int contextLength() {
        return LONG_CONTEXT;
    }

    @AfterEach
    void close() throws IOException {
        for (Socket socket : sockets) {
            socket.close();
        }
        eventually(() -> publicConnections.open() == 0);
    }

    @ErrorRow("408 request_timeout")
    @Test
    void two_hundred_headers_that_never_end_are_408() throws IOException {
        for (int i = 0; i < 200; i++) {
            connectAndWrite(HEADERS);
        }

        for (Socket socket : sockets) {
            assertThat(readToEnd(socket)).startsWith("HTTP/1.1 408").endsWith("""
                    {"error":{"message":"the headers did not come within 1 s","type":"invalid_request_error",\
                    "param":null,"code":"request_timeout"}}""");
        }
    }

    @Test
    void headers_that_come_byte_by_byte_have_the_same_deadline() throws IOException {
        assertThat(trickle("GET / HTTP/1.1\r\nx: ", "a")).contains("HTTP/1.1 408", "the headers did not come within 1 s");
    }

    @Test
    void two_hundred_bodies_that_never_come_are_408_and_their_places_free() throws IOException {
        for (int i = 0; i < 200; i++) {
            connectAndWrite(HEADERS + "content-length: 5\r\n\r\n{");
        }

        int admitted = 0;
        for (Socket socket : sockets) {
            String answer = readToEnd(socket);
            boolean isAdmitted = answer.startsWith("HTTP/1.1 408");
            // the others were told at once that there is no place, and closed when the rest did not come
            assertThat(answer).contains(isAdmitted
                    ? "request_timeout" : "4 requests are in flight, which is this router's limit");
            admitted += isAdmitted ? 1 : 0;
        }
        assertThat(admitted).isGreaterThanOrEqualTo(4);
        eventually(() -> inFlight() == 0);
    }

    @Test
    void a_body_that_trickles_is_408() throws IOException {
        assertThat(trickle(HEADERS + "content-length: 100000\r\n\r\n", "a"))
                .contains("HTTP/1.1 408", "with less than 1048576 bytes a second");
    }

    @Test
    void a_chunked_body_whose_lengths_trickle_is_408() throws IOException {
        assertThat(trickle(HEADERS + "transfer-encoding: chunked\r\n\r\n", "0"))
                .contains("HTTP/1.1 408", "nothing of the body came for 1 s");
    }

    @Test
    void a_connection_without_a_request_is_closed_without_a_word_on_both_ports() throws IOException {
        Socket socket = connect();
        Socket management = connect(managementPort());
        assertThat(readToEnd(socket)).isEmpty();
        assertThat(readToEnd(management)).isEmpty();
    }

    @Test
    void the_next_request_of_a_connection_has_its_own_deadline() throws IOException {
        join("w0").doing(FakeWorker.finishing(FinishReason.LENGTH, 0, ids("ok")));
        String request = HEADERS + "content-length: " + BODY.length() + "\r\n\r\n" + BODY;
        Socket socket = connectAndWrite(request);
        assertThat(readAnswer(socket)).startsWith("HTTP/1.1 200");
        for (int i = 0; i < 2; i++) {
            write(socket, request);
            assertThat(readAnswer(socket)).startsWith("HTTP/1.1 200");
        }
        write(socket, "P");
        assertThat(readToEnd(socket)).startsWith("HTTP/1.1 408");
    }

    /** Longer than every deadline here. */
    @Test
    void a_request_that_waits_for_its_answer_has_no_deadline_of_the_connection() throws Exception {
        FakeWorker worker = join("w0").doing(FakeWorker.hangingAfter());
        Socket socket = connectAndWrite(HEADERS + "content-length: " + BODY.length() + "\r\n\r\n" + BODY);
        worker.requests().take();

        assertThat(readAnswer(socket)).startsWith("HTTP/1.1 504");
    }

    @Test
    void one_connection_too_many_closes_an_idle_one_and_no_busy_one() throws Exception {
        FakeWorker worker = join("w0").doing(FakeWorker.hangingAfter());
        Socket busy = connectAndWrite(HEADERS + "content-length: " + BODY.length() + "\r\n\r\n" + BODY);
        worker.requests().take();
        List<Socket> idle = new ArrayList<>();
        for (int i = 0; i < 219; i++) {
            Socket socket = connectAndWrite(NOWHERE);
            assertThat(readAnswer(socket)).startsWith("HTTP/1.1 404");
            idle.add(socket);
        }
        eventually(() -> publicConnections.open() == 220);

        Socket newest = connectAndWrite(NOWHERE);
        assertThat(readAnswer(newest)).startsWith("HTTP/1.1 404");
        eventually(() -> publicConnections.open() == 220);
        eventually(() -> idle.stream().filter(ConnectionGuardTest::isClosed).count() == 1);
        assertThat(isClosed(newest)).isFalse();
        assertThat(readAnswer(busy)).startsWith("HTTP/1.1 504");
    }

    /** Its answer costs nothing, and the body that it promised never comes. */
    @Test
    void who_has_its_answer_and_owes_a_body_makes_room_for_others() throws Exception {
        List<Socket> owing = new ArrayList<>();
        for (int i = 0; i < 220; i++) {
            Socket socket = connectAndWrite("POST /nowhere HTTP/1.1\r\nhost: r\r\ncontent-length: 5\r\n\r\n");
            assertThat(readAnswer(socket)).startsWith("HTTP/1.1 404");
            owing.add(socket);
        }
        for (int i = 0; i < 5; i++) {
            assertThat(readAnswer(connectAndWrite(NOWHERE))).startsWith("HTTP/1.1 404");
        }
    }

    /** By the router's own order: clients have their answers a moment before their connections are idle. */
    @Test
    void whoever_was_idle_longest_makes_room() {
        var connections = new OpenConnections(/* max */ 3, "public", new RouterMetrics(new SimpleMeterRegistry()));
        List<ConnectionGuard> guards =
                Stream.generate(() -> new ConnectionGuard(limits, connections, System::nanoTime)).limit(6).toList();
        for (ConnectionGuard guard : guards.subList(0, 3)) {
            assertThat(connections.opened(guard)).isNull();
        }
        connections.busy(guards.get(0));
        connections.busy(guards.get(1));
        connections.idle(guards.get(1));
        assertThat(connections.opened(guards.get(3))).isSameAs(guards.get(2));
        connections.closed(guards.get(2));
        assertThat(connections.opened(guards.get(4))).isSameAs(guards.get(1));
        connections.closed(guards.get(1));
        connections.idle(guards.get(0));
        assertThat(connections.opened(guards.get(5))).isSameAs(guards.get(3));
    }

    private static boolean isClosed(Socket socket) {
        try {
            socket.setSoTimeout(1);
            return socket.getInputStream().read() < 0;
        } catch (SocketTimeoutException e) {
            return false;
        } catch (IOException e) {
            return true;
        }
    }

    /** Of 12 MB. */
    private Socket beginToReadALongAnswer() throws IOException {
        join("w0");
        loadLongToken(480, 2_000);
        String body = "{\"model\":\"tiny\",\"tokens\":[" + "480,".repeat(LONG_CONTEXT - 1) + "480]}";
        Socket socket = connectAndWrite(HEADERS.replace("/v1/completions", "/detokenize")
                + "content-length: " + body.length() + "\r\n\r\n" + body);
        assertThat(new String(socket.getInputStream().readNBytes(15), StandardCharsets.US_ASCII))
                .isEqualTo("HTTP/1.1 200 OK");
        return socket;
    }

    /** 200 bytes each 10 ms, and never a pause. */
    @Test
    void an_answer_that_is_read_by_trickle_is_given_up() throws IOException {
        Socket socket = beginToReadALongAnswer();
        int read = 0;
        while (publicConnections.open() > 0) {
            read += socket.getInputStream().readNBytes(200).length;
            LockSupport.parkNanos(Duration.ofMillis(10).toNanos());
        }

        assertThat(read).isLessThan(12_000_000);
        eventually(() -> inFlight() == 0 && heldBytes() == 0);
    }

    @Test
    void answers_that_nobody_reads_are_given_up() throws IOException {
        Socket socket = beginToReadALongAnswer();

        eventually(() -> publicConnections.open() == 0);
        assertThat(readToEnd(socket)).doesNotContain("HTTP/1.1 408");
        eventually(() -> inFlight() == 0 && heldBytes() == 0);
    }

    /** The router does not read the next body before its turn, so that its deadline does not run. */
    @Test
    void half_of_a_next_request_cuts_no_answer_that_goes_on() throws IOException {
        // longer than the silence that is borne within a body
        join("w0").doing(FakeWorker.pausing(Mono.delay(Duration.ofMillis(1_300)), ids("ok and ok")));
        String body = BODY.replace("}", ",\"stream\":true}");
        Socket socket = connectAndWrite(HEADERS + "content-length: " + body.length() + "\r\n\r\n" + body
                + HEADERS + "content-length: 5\r\n\r\n{");

        // to the end: then the half has its deadline
        assertThat(readToEnd(socket)).startsWith("HTTP/1.1 200").contains("data: [DONE]", "HTTP/1.1 408");
    }

    /** A connection of which nothing is read says nothing of its end, until something is written to it. */
    @Test
    void who_resets_behind_half_of_a_next_request_keeps_a_place_until_the_answer_is_there_and_no_longer()
            throws IOException, InterruptedException {
        var goOn = Sinks.<Void>empty();
        FakeWorker worker = join("w0").doing(FakeWorker.pausingUntil(goOn.asMono(), ids("ok and ok")));
        Socket socket = connectAndWrite(HEADERS + "content-length: " + BODY.length() + "\r\n\r\n" + BODY
                + HEADERS + "content-length: 5\r\n\r\n{");
        worker.requests().take();
        assertThat(inFlight()).isPositive();
        socket.setSoLinger(true, 0);
        socket.close();

        goOn.tryEmitEmpty();
        eventually(() -> inFlight() == 0 && publicConnections.open() == 0);
    }

    /** A request that waits may lie in a buffer of 64 KiB with what follows it; the rest stays where it was. */
    @Test
    void what_is_sent_behind_a_request_is_read_when_that_has_its_answer() throws IOException {
        var goOn = Sinks.<Void>empty();
        join("w0").doing(FakeWorker.pausingUntil(goOn.asMono(), ids("ok and ok")));
        String body = BODY.replace("}", ",\"stream\":true}");
        Socket socket = connectAndWrite(HEADERS + "content-length: " + body.length() + "\r\n\r\n" + body);
        assertThat(readUntil(socket, "data: ")).startsWith("HTTP/1.1 200");
        long before = bytesRead.sum();

        String waiting = "POST /nowhere HTTP/1.1\r\nhost: r\r\ncontent-length: 16000\r\n\r\n" + " ".repeat(16_000);
        write(socket, waiting.repeat(64));
        readUntil(socket, ": still at it");
        assertThat(bytesRead.sum() - before).isBetween(1L, 2L << 16);

        goOn.tryEmitEmpty();
        readUntil(socket, "data: [DONE]");
        for (int i = 0; i < 64; i++) {
            readUntil(socket, "HTTP/1.1 404");
        }
    }

    /** 404 and 415 are answered before the body has come, and most of it is of no use. */
    @ParameterizedTest
    @ValueSource(strings = {"/nowhere HTTP/1.1\r\ncontent-type: application/json", "/v1/route HTTP/1.1\r\nx: y"})
    void a_body_that_goes_on_for_ever_after_its_answer_is_cut_off(String request) throws IOException {
        Socket socket = connectAndWrite("POST " + request + "\r\nhost: r\r\ntransfer-encoding: chunked\r\n\r\n");
        long before = bytesRead.sum();
        String chunk = "100000\r\n" + " ".repeat(1 << 20) + "\r\n";
        int sent = 0;
        try {
            for (; sent < 256; sent++) {
                write(socket, chunk);
            }
        } catch (SocketException e) {
            // closed by the other side, as it should be
        }
        assertThat(sent).isLessThan(256);
        // and no more than what lies in a socket at once
        assertThat(bytesRead.sum() - before).isBetween(64L << 20, 66L << 20);
    }

    private Socket connect() throws IOException {
        return connect(uri("/").getPort());
    }

    private Socket connect(int port) throws IOException {
        var socket = new Socket("127.0.0.1", port);
        sockets.add(socket);
        return socket;
    }

    private static void write(Socket socket, String text) throws IOException {
        socket.getOutputStream().write(text.getBytes(StandardCharsets.US_ASCII));
    }

    /** Half of every deadline: who has come to write within this time was not held up past one. */
    private static boolean isPrompt(long sinceNanos) {
        return System.nanoTime() - sinceNanos < 500_000_000L;
    }

    /** A connection that was given its first bytes well before they were due; a thread that is held up begins anew. */
    private Socket connectAndWrite(String text) throws IOException {
        while (true) {
            long start = System.nanoTime();
            Socket socket = connect();
            try {
                write(socket, text);
                if (isPrompt(start)) {
                    return socket;
                }
            } catch (SocketException e) {
                assertThat(isPrompt(start)).as("held up: " + e).isFalse();
            }
            sockets.remove(socket);
            socket.close();
        }
    }

    /** Then writes the text every 20 ms until something is answered; a thread that is held up begins anew. */
    private String trickle(String begin, String text) throws IOException {
        while (true) {
            Socket socket = connectAndWrite(begin);
            long written = System.nanoTime();
            while (isPrompt(written) && socket.getInputStream().available() == 0) {
                written = System.nanoTime();
                write(socket, text);
                LockSupport.parkNanos(20_000_000L);
            }
            if (isPrompt(written)) {
                return readAnswer(socket);
            }
        }
    }

    /** All up to the end of this text. */
    private static String readUntil(Socket socket, String text) throws IOException {
        var read = new StringBuilder();
        while (read.length() < text.length() || read.indexOf(text, read.length() - text.length()) < 0) {
            int next = socket.getInputStream().read();
            assertThat(next).as("what came so far: " + read).isNotNegative();
            read.append((char) next);
        }
        return read.toString();
    }

    private static String readToEnd(Socket socket) throws IOException {
        try {
            return new String(socket.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        } catch (SocketException e) {
            return "";
        }
    }

    /** Headers and the body of their length. */
    private static String readAnswer(Socket socket) throws IOException {
        InputStream in = socket.getInputStream();
        var answer = new StringBuilder();
        while (answer.indexOf("\r\n\r\n") < 0) {
            int next = in.read();
            assertThat(next).as("the answer so far: " + answer).isNotNegative();
            answer.append((char) next);
        }
        String head = answer.toString().toLowerCase(Locale.ROOT);
        String length = head.substring(head.indexOf("content-length: ") + 16);
        byte[] body = in.readNBytes(Integer.parseInt(length.substring(0, length.indexOf('\r'))));
        return answer + new String(body, StandardCharsets.UTF_8);
    }
}
