package dev.warmpath.worker.poolfeed;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.warmpath.protocol.event.EventFrames;
import dev.warmpath.protocol.fleet.FleetToken;
import dev.warmpath.protocol.fleet.Protocol;
import dev.warmpath.protocol.pool.PoolCodec;
import dev.warmpath.protocol.pool.PoolCopy;
import dev.warmpath.protocol.pool.PoolFrame;
import dev.warmpath.worker.engine.EngineBooks;
import dev.warmpath.worker.kvcache.KvCacheSettings;
import dev.warmpath.worker.routerlink.FleetGate;
import dev.warmpath.worker.scheduler.SchedulerSettings;
import java.io.BufferedReader;
import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.net.Socket;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.springframework.http.server.reactive.ReactorHttpHandlerAdapter;
import org.springframework.web.reactive.function.server.HandlerStrategies;
import org.springframework.web.reactive.function.server.RouterFunction;
import org.springframework.web.reactive.function.server.RouterFunctions;
import org.springframework.web.reactive.function.server.ServerResponse;
import reactor.netty.DisposableServer;
import reactor.netty.http.server.HttpServer;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** The pool of a whole engine over a real server. */
class PoolRoutesTest {

    private static final String STREAM = Protocol.POOL_PATH + "?epoch=7";
    private static final int BLOCKS = 5_000;

    private final HttpClient http = HttpClient.newHttpClient();
    private final AtomicLong nowNanos = new AtomicLong();
    private volatile long nanosPerLook = Duration.ofHours(1).toNanos();
    private PoolRig rig;
    private PoolRoutes routes;
    private DisposableServer server;

    @BeforeEach
    void open() {
        rig = new PoolRig(KvCacheSettings.of(BLOCKS, 16), SchedulerSettings.of(256, 8, 300));
        routes = new PoolRoutes(rig.engine, "w", 7, null, () -> nowNanos.addAndGet(nanosPerLook));
        serve(routes.routes());
    }

    private void serve(RouterFunction<ServerResponse> served) {
        serve(served, FleetToken.of("hush"));
    }

    private void serve(RouterFunction<ServerResponse> served, FleetToken token) {
        server = HttpServer.create().host("127.0.0.1").port(0)
                .handle(new ReactorHttpHandlerAdapter(RouterFunctions.toHttpHandler(served,
                        HandlerStrategies.builder().webFilter(
                                new FleetGate(token, FleetToken.of("boss"), "w", 7)).build())))
                .bindNow();
    }

    @AfterEach
    void close() {
        server.disposeNow();
        rig.close();
    }

    @Test
    void a_reader_is_told_the_whole_pool_and_then_what_changes() throws Exception {
        rig.submit(PoolRig.request("r", 0, 40, 10));
        rig.step();
        var copy = new PoolCopy();
        try (DataInputStream in = frames()) {
            PoolFrame first = next(in, copy);
            assertThat(first.whole()).isTrue();
            assertThat(first.blocks().ids()).containsExactly(1, 2, 3);
            assertThat(first.next()).hasSize(256).startsWith(4, 5, 6);
            assertThat(first.counters().usedBlocks()).isEqualTo(3);
            assertThat(first.counters().steps()).isEqualTo(1);

            rig.submit(PoolRig.request("other", 100, 16, 10));
            rig.step();
            while (copy.references(4) == 0) {
                assertThat(next(in, copy).whole()).isFalse();
            }
            assertThat(copy.last().blocks().ids()).contains(4).doesNotContain(1, 2);
            assertThat(copy.last().requests()).hasSize(2);
            assertThat(copy.references(1)).isEqualTo(1);
        }
    }

    @Test
    void readers_share_one_sampler_which_ends_when_the_last_one_has_left() throws Exception {
        DataInputStream one = frames();
        DataInputStream other = frames();
        var ones = new PoolCopy();
        var others = new PoolCopy();
        next(one, ones);
        next(other, others);
        while (ones.last().sample() != others.last().sample()) {   // both are told the same samples
            next(ones.last().sample() < others.last().sample() ? one : other,
                    ones.last().sample() < others.last().sample() ? ones : others);
        }
        one.close();
        next(other, others);
        assertThat(routes.feed().isSampling()).isTrue();

        other.close();
        while (routes.feed().isSampling()) {
            Thread.sleep(5);
        }
        try (DataInputStream again = frames()) {
            assertThat(next(again, new PoolCopy()).whole()).isTrue();
        }
    }

    /** 300 requests with long names fill the sockets' buffers in a few frames. */
    @Test
    void a_reader_that_pauses_finds_a_whole_pool_and_not_a_queue_of_changes() throws Exception {
        for (int i = 0; i < 300; i++) {
            rig.submit(PoolRig.request("€".repeat(256), i, 16, 1));
        }
        try (var socket = new Socket()) {
            socket.setReceiveBufferSize(4_096);
            socket.connect(server.address());
            socket.getOutputStream().write(("GET %s HTTP/1.1\r\nhost: w\r\nauthorization: Bearer hush\r\n\r\n")
                    .formatted(STREAM).getBytes(StandardCharsets.US_ASCII));
            while (routes.feed().pauses() == 0) {
                Thread.sleep(5);
            }

            var in = new DataInputStream(new Unchunked(socket.getInputStream()));
            var copy = new PoolCopy();
            long last = next(in, copy).sample();
            PoolFrame frame = next(in, copy);
            while (!frame.whole()) {                               // what was on its way when it paused
                assertThat(frame.sample()).isEqualTo(last + 1);
                last = frame.sample();
                frame = next(in, copy);
            }
            assertThat(frame.sample()).isGreaterThan(last + 1);
            assertThat(frame.requests()).hasSize(256);
            assertThat(next(in, copy).whole()).as("and goes on from there").isFalse();
        }
        while (routes.feed().isSampling()) {
            Thread.sleep(5);
        }
    }

    /** The body of a chunked answer, whose head it passes over. */
    private static final class Unchunked extends InputStream {

        private final InputStream in;
        private int left;

        Unchunked(InputStream in) throws IOException {
            this.in = in;
            while (!line().isEmpty()) {
                // the head
            }
        }

        @Override
        public int read() throws IOException {
            if (left == 0) {
                String size = line();
                left = Integer.parseInt(size.isEmpty() ? line() : size, 16);
            }
            left--;
            return in.read();
        }

        private String line() throws IOException {
            var line = new StringBuilder();
            for (int next = in.read(); next != '\n' && next >= 0; next = in.read()) {
                line.append((char) next);
            }
            return line.toString().strip();
        }
    }

    @Test
    void the_seventeenth_reader_is_refused_until_one_leaves() throws Exception {
        List<DataInputStream> readers = new ArrayList<>();
        for (int i = 0; i < 16; i++) {
            readers.add(frames());
        }
        for (int i = 0; i < 84; i++) {
            HttpResponse<String> refused = send("GET", STREAM);
            assertThat(refused.statusCode()).isEqualTo(503);
            assertThat(refused.body()).contains("16 others look at this worker's pool");
        }
        readers.getFirst().close();
        while (routes.feed().readerCount() == 16) {
            Thread.sleep(5);
        }
        readers.set(0, frames());
        assertThat(next(readers.getFirst(), new PoolCopy()).whole()).isTrue();
        for (DataInputStream each : readers) {
            each.close();
        }
    }

    @Test
    void fifty_readers_that_leave_as_soon_as_they_have_asked_take_nobodys_place() throws Exception {
        for (int i = 0; i < 50; i++) {
            try (var socket = new Socket()) {
                socket.connect(server.address());
                socket.getOutputStream().write(("GET %s HTTP/1.1\r\nhost: w\r\nauthorization: Bearer hush\r\n\r\n")
                        .formatted(STREAM).getBytes(StandardCharsets.US_ASCII));
            }
        }
        try (DataInputStream in = framesOnceThereIsRoom()) {
            assertThat(next(in, new PoolCopy()).whole()).isTrue();
            while (routes.feed().readerCount() > 1) {
                Thread.sleep(5);
            }
        }
    }

    private DataInputStream framesOnceThereIsRoom() throws IOException, InterruptedException {
        while (true) {
            HttpResponse<InputStream> answer = open(STREAM);
            if (answer.statusCode() == 200) {
                return new DataInputStream(answer.body());
            }
            answer.body().close();
        }
    }

    @Test
    void another_epoch_is_a_conflict_and_without_the_token_nothing_is_shown_or_stepped() throws Exception {
        assertThat(send("GET", Protocol.POOL_PATH + "?epoch=6").body())
                .contains("worker w has epoch 7, the reader expects 6");
        for (String path : List.of(STREAM, Protocol.POOL_BLOCKS_PATH + "1", Protocol.POOL_REQUESTS_PATH + "r")) {
            assertThat(send("GET", path, "Bearer wrong").statusCode()).isEqualTo(401);
        }
        assertThat(send("PUT", Protocol.POOL_HOLD_PATH, "Bearer wrong").statusCode()).isEqualTo(401);
        assertThat(send("DELETE", Protocol.POOL_HOLD_PATH, "Bearer wrong").statusCode()).isEqualTo(401);
        assertThat(send("POST", Protocol.POOL_STEP_PATH, "Bearer wrong").statusCode()).isEqualTo(401);
        boolean held = rig.look(EngineBooks::held);
        assertThat(held).isTrue();
    }

    @Test
    void a_block_is_json_in_snake_case() throws Exception {
        rig.submit(PoolRig.request("r", 0, 20, 10));
        rig.step();

        JsonNode block = json(send("GET", Protocol.POOL_BLOCKS_PATH + "1"));
        String hash = block.get("hash").asString();
        assertThat(block.toString()).isEqualTo(("{\"block\":1,\"state\":\"used\",\"references\":1,\"key\":\"%s\","
                + "\"hash\":\"%s\",\"group\":0,\"token_count\":16,\"tokens\":[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15],"
                + "\"last_use_ms_ago\":0,\"held_by\":[{\"request\":\"r\",\"choice\":0,\"index\":0}]}")
                .formatted(hash.substring(48), hash));
        assertThat(send("GET", Protocol.POOL_BLOCKS_PATH + "0").body()).isEqualTo("{\"block\":0,\"state\":\"null\","
                + "\"references\":0,\"key\":null,\"hash\":null,\"group\":null,\"token_count\":0,\"tokens\":null,"
                + "\"last_use_ms_ago\":null,\"held_by\":[]}");
    }

    @Test
    void a_block_that_is_none_is_not_found() throws Exception {
        for (String name : List.of("5000", "-1", "2147483648", "99999999999999999999", "1e3", "x", "%00",
                "%F0%9D%84%9E", "1%2F2", "..%2f1")) {
            HttpResponse<String> answer = send("GET", Protocol.POOL_BLOCKS_PATH + name);
            assertThat(answer.statusCode()).as(name).isEqualTo(404);
        }
        assertThat(send("GET", Protocol.POOL_BLOCKS_PATH + "5000").body()).contains("this pool has no block 5000");
    }

    @Test
    void a_requests_tables_are_json_in_snake_case_whatever_its_name() throws Exception {
        String odd = "a b/../ä?&=%2F;x=1#\"\\ 𝄞";
        rig.submit(PoolRig.request(odd, 0, 20, 10));
        rig.step();

        HttpResponse<String> answer = send("GET", Protocol.POOL_REQUESTS_PATH
                + URLEncoder.encode(odd, StandardCharsets.UTF_8).replace("+", "%20"));

        assertThat(json(answer).get("request").asString()).isEqualTo(odd);
        assertThat(answer.body()).endsWith(",\"choices\":[{\"choice\":0,\"state\":\"running\","
                + "\"prompt_tokens\":20,\"cached_tokens\":0,\"computed_tokens\":20,\"scheduled_tokens\":20,"
                + "\"drawn_tokens\":1,\"groups\":[{\"block_size\":16,\"window\":null,\"blocks\":[1,2],"
                + "\"references\":[1,1],\"keyed\":[true,false]}],\"host_blocks\":[]}]}");
        HttpResponse<String> none = send("GET", Protocol.POOL_REQUESTS_PATH + "x".repeat(300));
        assertThat(none.statusCode()).isEqualTo(404);
        assertThat(none.body()).contains("no request of that id runs or waits here");
    }

    @Test
    void the_engine_is_held_stepped_and_released_over_http() throws Exception {
        rig.engine.release();
        assertThat(send("POST", Protocol.POOL_STEP_PATH).statusCode()).as("not held").isEqualTo(409);
        assertThat(send("PUT", Protocol.POOL_HOLD_PATH).statusCode()).isEqualTo(204);
        rig.submit(PoolRig.request("r", 0, 20, 100));

        assertThat(send("POST", Protocol.POOL_STEP_PATH).body()).isEqualTo("{\"stepped\":true,\"tokens\":1}");
        assertThat(send("POST", Protocol.POOL_STEP_PATH).body()).isEqualTo("{\"stepped\":true,\"tokens\":1}");
        try (DataInputStream in = frames()) {
            PoolFrame frame = next(in, new PoolCopy());
            assertThat(frame.held()).isTrue();
            assertThat(frame.counters().generatedTokens()).isEqualTo(2);
        }
        assertThat(send("DELETE", Protocol.POOL_HOLD_PATH).statusCode()).isEqualTo(204);
        assertThat(send("DELETE", Protocol.POOL_HOLD_PATH).statusCode()).as("twice").isEqualTo(204);
        while (rig.engine.snapshot().work().generatedTokens() < 100) {
            Thread.sleep(5);
        }
        HttpResponse<String> late = send("POST", Protocol.POOL_STEP_PATH);
        assertThat(late.statusCode()).isEqualTo(409);
        assertThat(late.body()).contains("the engine is not held: hold it first");
    }

    /** The clock stands still. */
    @Test
    void looks_have_a_budget_and_say_so_when_it_is_used_up() throws Exception {
        nanosPerLook = 0;
        int looks = 0;
        while (send("GET", Protocol.POOL_BLOCKS_PATH + "1").statusCode() == 200) {
            looks++;
        }
        assertThat(looks).isBetween(1, 20);
        HttpResponse<String> refused = send("GET", Protocol.POOL_REQUESTS_PATH + "r");
        assertThat(refused.statusCode()).isEqualTo(429);
        assertThat(refused.body()).contains("no more than a thousandth of the engine's time");
        assertThat(send("POST", Protocol.POOL_STEP_PATH).statusCode()).as("no look").isEqualTo(200);

        nanosPerLook = Duration.ofHours(1).toNanos();
        assertThat(send("GET", Protocol.POOL_BLOCKS_PATH + "1").statusCode()).isEqualTo(200);
    }

    /** What a browser sends for a page of another site, and for one whose name points here since it was loaded. */
    @Test
    void no_web_page_reads_or_does_anything_on_a_loopback_port_without_a_token() throws Exception {
        server.disposeNow();
        serve(routes.routes(), FleetToken.of(null));
        int port = server.port();
        String here = "Host: 127.0.0.1:" + port + "\r\n";
        for (String request : List.of("POST " + Protocol.POOL_RESET_PATH, "POST " + Protocol.POOL_STEP_PATH,
                "PUT " + Protocol.POOL_HOLD_PATH, "DELETE " + Protocol.POOL_HOLD_PATH, "GET " + STREAM,
                "GET " + Protocol.POOL_BLOCKS_PATH + "1", "GET " + Protocol.POOL_REQUESTS_PATH + "r")) {
            assertThat(status(request, here + "Origin: https://evil.example\r\n")).as(request).isEqualTo(403);
            assertThat(status(request, here + "Origin: null\r\n")).as(request).isEqualTo(403);
            assertThat(status(request, "Host: evil.example:" + port + "\r\n")).as(request).isEqualTo(403);
            assertThat(status(request, "")).as(request).isIn(400, 403);
        }
        String look = "GET " + Protocol.POOL_BLOCKS_PATH + "1";
        assertThat(status(look, here)).isEqualTo(200);
        assertThat(status(look, "Host: localhost:" + port + "\r\n")).isEqualTo(200);
        assertThat(status(look, "Host: [::1]:" + port + "\r\n")).isEqualTo(200);
    }

    private int status(String request, String headers) throws IOException {
        try (var socket = new Socket("127.0.0.1", server.port())) {
            socket.getOutputStream().write((request + " HTTP/1.1\r\n" + headers + "Content-Length: 0\r\n"
                    + "Connection: close\r\n\r\n").getBytes(StandardCharsets.US_ASCII));
            var answer = new BufferedReader(new InputStreamReader(socket.getInputStream(), StandardCharsets.UTF_8));
            return Integer.parseInt(answer.readLine().split(" ")[1]);
        }
    }

    @Test
    void a_page_that_knows_the_token_is_refused_too() throws Exception {
        assertThat(status("GET " + Protocol.POOL_BLOCKS_PATH + "1",
                "Host: w\r\nAuthorization: Bearer hush\r\nOrigin: http://w\r\n")).isEqualTo(403);
        assertThat(status("GET " + Protocol.POOL_BLOCKS_PATH + "1",
                "Host: w\r\nAuthorization: Bearer hush\r\n")).isEqualTo(200);
    }

    @Test
    void a_worker_that_may_not_be_stepped_says_why() throws Exception {
        server.disposeNow();
        serve(new PoolRoutes(rig.engine, "w", 7, "this worker computes on a card").routes());

        for (HttpResponse<String> refused : List.of(
                send("PUT", Protocol.POOL_HOLD_PATH), send("POST", Protocol.POOL_STEP_PATH))) {
            assertThat(refused.statusCode()).isEqualTo(409);
            assertThat(refused.body()).contains("this worker computes on a card");
        }
    }

    @Test
    void when_the_engine_stops_its_readers_end_and_looks_are_answered() throws Exception {
        try (DataInputStream in = frames()) {
            var copy = new PoolCopy();
            next(in, copy);
            rig.engine.close();
            assertThatThrownBy(() -> {
                while (true) {
                    next(in, copy);
                }
            }).isInstanceOf(EOFException.class);
        }
        HttpResponse<String> block = send("GET", Protocol.POOL_BLOCKS_PATH + "1");
        assertThat(block.statusCode()).isEqualTo(503);
        assertThat(block.body()).contains("or has stopped");
        assertThat(send("PUT", Protocol.POOL_HOLD_PATH).statusCode()).isEqualTo(409);
    }

    @Test
    void when_the_worker_stops_its_streams_end_and_no_new_one_begins() throws Exception {
        try (DataInputStream in = frames()) {
            var copy = new PoolCopy();
            next(in, copy);
            routes.stop();
            assertThatThrownBy(() -> {
                while (true) {
                    next(in, copy);
                }
            }).isInstanceOf(EOFException.class);
        }
        assertThat(send("GET", STREAM).statusCode()).isEqualTo(503);
    }

    private DataInputStream frames() throws IOException, InterruptedException {
        HttpResponse<InputStream> answer = open(STREAM);
        assertThat(answer.statusCode()).isEqualTo(200);
        return new DataInputStream(answer.body());
    }

    private HttpResponse<InputStream> open(String path) throws IOException, InterruptedException {
        return http.send(HttpRequest.newBuilder(uri(path)).header("Authorization", "Bearer hush").build(),
                HttpResponse.BodyHandlers.ofInputStream());
    }

    private static PoolFrame next(DataInputStream in, PoolCopy copy) throws IOException {
        byte[] payload = EventFrames.read(in, PoolCodec.maxPayloadBytes(BLOCKS));
        while (payload.length == 0) {
            payload = EventFrames.read(in, PoolCodec.maxPayloadBytes(BLOCKS));
        }
        PoolFrame frame = PoolCodec.decode(payload);
        copy.apply(frame);
        return frame;
    }

    private HttpResponse<String> send(String method, String path) throws IOException, InterruptedException {
        return send(method, path, "Bearer hush");
    }

    private HttpResponse<String> send(String method, String path, String authorization)
            throws IOException, InterruptedException {
        return http.send(HttpRequest.newBuilder(uri(path)).header("Authorization", authorization)
                .method(method, HttpRequest.BodyPublishers.noBody()).build(), HttpResponse.BodyHandlers.ofString());
    }

    private static JsonNode json(HttpResponse<String> answer) {
        assertThat(answer.statusCode()).as(answer.body()).isEqualTo(200);
        return JsonMapper.shared().readTree(answer.body());
    }

    private URI uri(String path) {
        return URI.create("http://127.0.0.1:" + server.port() + path);
    }
}
