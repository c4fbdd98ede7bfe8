package dev.warmpath.router.live;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.protocol.block.BlockHashChain;
import dev.warmpath.protocol.block.ExtraKeys;
import dev.warmpath.protocol.block.HashSettings;
import dev.warmpath.protocol.generate.FinishReason;
import dev.warmpath.protocol.pool.PoolBlocks;
import dev.warmpath.protocol.pool.PoolCounters;
import dev.warmpath.protocol.pool.PoolFrame;
import dev.warmpath.protocol.pool.PoolRequest;
import dev.warmpath.protocol.pool.PoolShape;
import dev.warmpath.protocol.pool.RequestState;
import dev.warmpath.router.FakeWorker;
import dev.warmpath.router.RunningRouter;
import io.netty.handler.codec.http.HttpHeaderNames;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.BitSet;
import java.util.HexFormat;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Predicate;
import org.junit.jupiter.api.Test;
import org.reactivestreams.Publisher;
import org.springframework.test.context.TestPropertySource;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Sinks;
import reactor.netty.http.server.HttpServerResponse;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ObjectNode;

/** The feed and all around it on the management port of a whole router, with workers that show made-up pools. */
@TestPropertySource(properties = "warmpath.live.demo=true")
class LiveRoutesTest extends RunningRouter {

    private static final PoolCounters COUNTERS = new PoolCounters(2, 5, 3, 100, 40, 60, 7, 9, 1, 0, 4, 1, 0);

    /** As workers here register, and the null block. */
    private static final int BLOCKS = 101;

    private static byte[] cells(JsonNode pool) {
        byte[] cells = Base64.getDecoder().decode(pool.path("cells").asString());
        assertThat(cells).hasSize(BLOCKS);
        return Arrays.copyOf(cells, 6);
    }

    /** The feed as a browser reads it, over a socket of its own. */
    private final class Viewer implements AutoCloseable {
        private final Socket socket;
        private final BufferedReader lines;

        Viewer(String query) throws IOException {
            socket = new Socket("127.0.0.1", managementPort());
            socket.getOutputStream().write(("GET /live" + query + " HTTP/1.1\r\nhost: localhost:" + managementPort()
                    + "\r\n\r\n").getBytes(StandardCharsets.US_ASCII));
            lines = new BufferedReader(new InputStreamReader(socket.getInputStream(), StandardCharsets.UTF_8));
        }

        String statusLine() throws IOException {
            return lines.readLine();
        }

        /** The next event of that name for which this is so; those before are passed over. */
        JsonNode next(String name, Predicate<JsonNode> wanted) {
            try {
                for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                    if (line.equals("event: " + name)) {
                        JsonNode data = JSON.readTree(lines.readLine().substring("data: ".length()));
                        if (wanted.test(data)) {
                            return data;
                        }
                    }
                }
                throw new IOException("the feed has ended");
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }

        JsonNode next(String name) {
            return next(name, _ -> true);
        }

        @Override
        public void close() throws IOException {
            socket.close();
        }
    }

    private static PoolFrame frame(long sample, boolean whole, int... idsAndReferences) {
        int count = idsAndReferences.length / 2;
        int[] ids = new int[count];
        int[] references = new int[count];
        boolean[] keyed = new boolean[count];
        long[] keys = new long[count];
        for (int i = 0; i < count; i++) {
            ids[i] = idsAndReferences[2 * i];
            references[i] = idsAndReferences[2 * i + 1];
            keyed[i] = references[i] != 1;
            keys[i] = keyed[i] ? 0xabcL + i : 0;
        }
        var host = new BitSet();
        host.set(1);
        return new PoolFrame(sample, 1_000, whole, /* held */ false, new PoolShape(4, BLOCKS, 3, 1), COUNTERS,
                new PoolBlocks(ids, references, keyed, keys, new long[count]), new int[] {5, 6}, host,
                List.of(new PoolRequest("r-1", 0, RequestState.RUNNING, 20, 8, 20, 3, 0)));
    }

    private HttpRequest.Builder management(String path, String method, String body) {
        return HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + managementPort() + path))
                .header("content-type", "application/json")
                .method(method, HttpRequest.BodyPublishers.ofString(body.replace('\'', '"')));
    }

    private HttpResponse<String> page(String path, String method, String body) {
        return send(management(path, method, body).header(PageGuard.PAGE_HEADER, "1")
                .header("origin", "http://127.0.0.1:" + managementPort()).build());
    }

    private static Publisher<Void> json(HttpServerResponse response, int status, String body) {
        return response.status(status).header(HttpHeaderNames.CONTENT_TYPE, "application/json")
                .sendString(Mono.just(body.replace('\'', '"')));
    }

    @Test
    void a_viewer_is_greeted_and_told_of_the_fleet_again_and_again() throws IOException {
        join("a");
        try (var viewer = new Viewer("")) {
            assertThat(viewer.statusLine()).isEqualTo("HTTP/1.1 200 OK");
            JsonNode hello = viewer.next("hello");
            assertThat(hello.path("demo").asBoolean()).isTrue();
            assertThat(hello.path("playground").asString()).isEqualTo("open");
            assertThat(hello.path("models").valueStream().map(JsonNode::asString)).containsExactly(MODEL);
            assertThat(hello.path("history").path("step_seconds").asInt()).isEqualTo(1);

            for (int i = 0; i < 3; i++) {
                JsonNode worker = viewer.next("fleet").path("workers").path(0);
                assertThat(worker.path("id").asString()).isEqualTo("a");
                assertThat(worker.path("state").asString()).isEqualTo("ready");
                assertThat(worker.path("grade").asString()).isEqualTo("exact");
                assertThat(worker.path("blocks").asInt()).isEqualTo(100);
                assertThat(worker.path("usage").isNull()).as("it has told nothing yet").isTrue();
            }
        }
    }

    @Test
    void a_pool_is_told_whole_and_then_by_its_changes_and_whole_to_who_comes_later() throws IOException {
        Sinks.Many<PoolFrame> frames = Sinks.many().replay().all();
        join("a").showing("GET", FakeWorker.frames(frames.asFlux()));
        frames.tryEmitNext(frame(1, true, 1, 1, 2, 2, 3, 0));

        try (var viewer = new Viewer("?pools=a")) {
            JsonNode whole = viewer.next("pool");
            assertThat(whole.path("whole").asBoolean()).isTrue();
            assertThat(cells(whole)).as("null, filling once, shared twice, cached, and free ones")
                    .containsExactly(0, 3 | 1 << 3, 5 | 2 << 3, 2, 1, 1);
            assertThat(Base64.getDecoder().decode(whole.path("host").asString())).containsExactly(0, 1, 0);
            assertThat(whole.path("next").toString()).isEqualTo("[5,6]");
            assertThat(whole.path("counters").path("recompute_preemptions").asInt()).isEqualTo(1);
            assertThat(whole.path("requests").path(0).toString()).isEqualTo("{\"id\":\"r-1\",\"choice\":0,"
                    + "\"state\":\"running\",\"prompt_tokens\":20,\"cached_tokens\":8,\"computed_tokens\":20,"
                    + "\"drawn_tokens\":3,\"scheduled_tokens\":0}");

            frames.tryEmitNext(frame(2, false, 2, 1, 4, 40));
            JsonNode change = viewer.next("pool");
            assertThat(change.path("whole").asBoolean()).isFalse();
            assertThat(change.path("sample").asInt()).isEqualTo(2);
            assertThat(change.has("host")).as("it is as before").isFalse();
            assertThat(change.path("changed").toString()).as("40 are told as 31, the most")
                    .isEqualTo("[2," + (3 | 1 << 3) + ",4," + (5 | 31 << 3) + "]");
            assertThat(viewer.next("fleet").path("workers").path(0).path("held").asBoolean(true)).isFalse();

            try (var late = new Viewer("?pools=a")) {
                JsonNode now = late.next("pool");
                assertThat(now.path("sample").asInt()).isEqualTo(2);
                assertThat(cells(now)).containsExactly(0, 3 | 1 << 3, 3 | 1 << 3, 2, (byte) (5 | 31 << 3), 1);
            }
        }
    }

    @Test
    void a_frame_that_does_not_fit_is_not_believed_and_the_pool_is_asked_for_anew() throws IOException {
        var answers = new ArrayList<>(List.of(
                Flux.just(frame(1, true, 1, 1), frame(3, false, 1, 2)).concatWith(Flux.never()),
                Flux.just(frame(9, true, 1, 7)).concatWith(Flux.never())));
        join("a").showing("GET", response -> FakeWorker.frames(answers.removeFirst()).apply(response));

        try (var viewer = new Viewer("?pools=a")) {
            JsonNode anew = viewer.next("pool", pool -> pool.path("sample").asInt() > 1);
            assertThat(anew.path("sample").asInt()).isEqualTo(9);
            assertThat(anew.path("whole").asBoolean()).isTrue();
        }
    }

    @Test
    void a_pool_of_another_size_than_the_worker_registered_with_takes_no_memory_and_is_not_shown() throws IOException {
        PoolFrame good = frame(1, true);
        PoolFrame huge = new PoolFrame(1, 1, true, false, new PoolShape(4, 1 << 24, 0, 1), COUNTERS, PoolBlocks.NONE,
                new int[0], new BitSet(), List.of());
        join("a").showing("GET", FakeWorker.frames(Flux.just(huge).concatWith(Flux.never())));
        try (var viewer = new Viewer("?pools=a")) {
            JsonNode refused = viewer.next("pool");
            assertThat(refused.path("unavailable").asString()).startsWith("it does not answer now");
            assertThat(good.shape().blockCount()).isEqualTo(BLOCKS);
        }
    }

    @Test
    void a_worker_that_falls_silent_is_said_to_be_so_and_shown_whole_when_it_is_back() throws IOException {
        var answers = new ArrayList<>(List.of(Flux.just(frame(1, true, 1, 1)),
                Flux.just(frame(1, true, 1, 1)).concatWith(Flux.never())));
        join("a").showing("GET", response -> FakeWorker.frames(answers.removeFirst()).apply(response));

        try (var viewer = new Viewer("?pools=a")) {
            assertThat(viewer.next("pool", pool -> pool.has("unavailable")).path("unavailable").asString())
                    .startsWith("it does not answer now");
            assertThat(cells(viewer.next("pool"))).containsExactly(0, 3 | 1 << 3, 1, 1, 1, 1);
        }
    }

    @Test
    void a_viewer_that_is_far_behind_is_told_all_of_the_pool_in_place_of_100_changes() throws IOException {
        Sinks.Many<PoolFrame> frames = Sinks.many().replay().all();
        join("a").showing("GET", FakeWorker.frames(frames.asFlux()));
        frames.tryEmitNext(frame(1, true));
        try (var viewer = new Viewer("?pools=a")) {
            viewer.next("pool");
            for (int sample = 2; sample <= 101; sample++) {
                frames.tryEmitNext(frame(sample, false, 1 + sample % 5, sample % 3));
            }
            JsonNode last = viewer.next("pool", pool -> pool.path("sample").asInt() == 101);
            try (var late = new Viewer("?pools=a")) {
                JsonNode whole = late.next("pool");
                assertThat(whole.path("sample").asInt()).isEqualTo(101);
                assertThat(whole.path("whole").asBoolean()).isTrue();
                assertThat(last.path("requests")).isEqualTo(whole.path("requests"));
            }
        }
    }

    @Test
    void a_worker_without_a_pool_says_so_once_and_others_are_watched_in_its_place() throws IOException {
        join("a");
        join("b").showing("GET", FakeWorker.frames(Flux.just(frame(1, true)).concatWith(Flux.never())));
        join("c").showing("GET", FakeWorker.frames(Flux.just(frame(1, true)).concatWith(Flux.never())));

        try (var viewer = new Viewer("?pools=a")) {
            assertThat(viewer.next("pool").toString()).isEqualTo(
                    "{\"worker\":\"a\",\"unavailable\":\"its engine keeps its pool to itself\"}");
        }
        try (var viewer = new Viewer("")) {
            viewer.next("pool", pool -> pool.path("worker").asString().equals("c"));
            assertThat(viewer.next("fleet").path("workers").path(0).path("pool").asBoolean(true)).isFalse();
        }
    }

    @Test
    void a_pool_is_not_read_any_more_when_nobody_watches_it() throws IOException {
        FakeWorker worker = join("a")
                .showing("GET", FakeWorker.frames(Flux.just(frame(1, true)).concatWith(Flux.never())));
        try (var viewer = new Viewer("?pools=a")) {
            viewer.next("pool");
            assertThat(worker.openConnections()).isEqualTo(1);
        }
        eventually(() -> worker.openConnections() == 0);
    }

    @Test
    void the_33rd_viewer_is_refused_and_let_in_when_one_has_left() throws IOException {
        List<Viewer> viewers = new ArrayList<>();
        try {
            for (int i = 0; i < LiveFeed.MAX_VIEWERS; i++) {
                viewers.add(new Viewer(""));
                viewers.getLast().next("hello");
            }
            try (var tooMany = new Viewer("")) {
                assertThat(tooMany.statusLine()).isEqualTo("HTTP/1.1 503 Service Unavailable");
            }
            viewers.removeLast().close();
            eventually(() -> {
                try (var next = new Viewer("")) {
                    return next.statusLine().equals("HTTP/1.1 200 OK");
                } catch (IOException e) {
                    throw new UncheckedIOException(e);
                }
            });
        } finally {
            for (Viewer each : viewers) {
                each.close();
            }
        }
    }

    @Test
    void a_decision_is_told_when_it_is_made_and_when_it_has_ended_as_the_endpoint_tells_it() throws IOException {
        var goOn = Sinks.<Void>empty();
        join("a").doing(FakeWorker.pausingUntil(goOn.asMono(), 5, 6));
        try (var viewer = new Viewer("")) {
            viewer.next("hello");
            var answer = CompletableFuture.supplyAsync(() ->
                    post("/v1/completions", "{'model':'tiny','prompt':'the keys and the queries','max_tokens':2}"));

            JsonNode made = viewer.next("decision");
            assertThat(made.path("outcome").isNull()).isTrue();
            goOn.tryEmitEmpty();
            JsonNode ended = viewer.next("decision");

            assertThat(answer.join().statusCode()).isEqualTo(200);
            String request = ended.path("request").asString();
            assertThat(ended.path("id").asString()).isEqualTo(request + "/1/" + ended.path("at").asString());
            assertThat(made.path("id")).isEqualTo(ended.path("id"));
            JsonNode told = json(management("/actuator/decisions/" + request)).path("decisions").path(0);
            ((ObjectNode) ended).remove("id");
            assertThat(ended).isEqualTo(told);
            assertThat(viewer.next("fleet", fleet -> fleet.path("router").path("completion_tokens").asLong() > 0)
                    .path("router").path("first_token_ms").path("p50").asDouble()).isPositive();
        }
    }

    @Test
    void the_page_is_served_with_a_policy_that_lets_nothing_in_from_elsewhere() {
        HttpResponse<String> page = management("/");
        assertThat(page.statusCode()).isEqualTo(200);
        assertThat(page.headers().firstValue("content-type")).hasValue("text/html;charset=UTF-8");
        assertThat(page.headers().firstValue("content-security-policy").orElseThrow())
                .startsWith("default-src 'none'; script-src 'self'").contains("frame-ancestors 'none'");
        assertThat(page.body()).contains("ui/app.js").doesNotContain("http://", "https://");

        String tag = page.headers().firstValue("etag").orElseThrow();
        assertThat(send(management("/", "GET", "").header("if-none-match", tag).build()).statusCode()).isEqualTo(304);
        for (String path : List.of("/ui/nothing.js", "/ui/../application.yaml",
                "/ui/%2e%2e/application.yaml", "/ui/")) {
            assertThat(management(path).statusCode()).as(path).isEqualTo(404);
        }
    }

    @Test
    void who_asks_in_another_machines_name_sees_nothing_and_other_pages_change_nothing() throws IOException {
        join("a").showing("PUT /hold", response -> response.status(204).send());
        try (var socket = new Socket("127.0.0.1", managementPort())) {
            socket.getOutputStream().write("GET /live HTTP/1.1\r\nhost: rebound.example\r\nconnection: close\r\n\r\n"
                    .getBytes(StandardCharsets.US_ASCII));
            assertThat(new String(socket.getInputStream().readAllBytes(), StandardCharsets.UTF_8))
                    .startsWith("HTTP/1.1 403").contains("localhost and loopback addresses only");
        }
        assertThat(send(management("/live/workers/a/hold", "PUT", "").build()).statusCode()).isEqualTo(403);
        assertThat(send(management("/live/workers/a/hold", "PUT", "").header(PageGuard.PAGE_HEADER, "1")
                .header("origin", "http://localhost:3000").build()).statusCode()).isEqualTo(403);
        assertThat(send(management("/live/workers/a/hold", "PUT", "").header(PageGuard.PAGE_HEADER, "1")
                .header("origin", "null").build()).statusCode()).isEqualTo(403);
        assertThat(page("/live/workers/a/hold", "PUT", "").statusCode()).isEqualTo(204);
    }

    @Test
    void what_a_worker_says_of_a_block_comes_with_its_text_and_its_refusals_as_they_are() {
        String tokens = Arrays.toString(ids("the keys"));
        join("a").showing("GET /blocks/3", response -> json(response, 200,
                        "{'block':3,'state':'shared','references':2,'tokens':" + tokens + "}"))
                .showing("POST /step", response -> json(response, 409, "{'status':409,'detail':'it is not held'}"));

        JsonNode block = json(management("/live/workers/a/blocks/3"));
        assertThat(block.path("text").asString()).isEqualTo("the keys");
        assertThat(block.path("worker").asString()).isEqualTo("a");
        HttpResponse<String> step = page("/live/workers/a/step", "POST", "");
        assertThat(step.statusCode()).isEqualTo(409);
        assertThat(step.body()).contains("it is not held");
        assertThat(management("/live/workers/b/blocks/3").statusCode()).isEqualTo(404);
    }

    @Test
    void a_worker_that_says_nonsense_or_too_much_is_told_as_a_bad_gateway() {
        join("a").showing("GET /blocks/1", response -> json(response, 200, "[1]"))
                .showing("GET /blocks/2", response -> json(response, 200, "{"))
                .showing("GET /requests/long", response -> response.status(200)
                        .sendString(Flux.just("{'a':'").concatWith(Flux.just("x".repeat(1 << 20)).repeat(20))));

        for (String path : List.of("blocks/1", "blocks/2", "requests/long")) {
            assertThat(management("/live/workers/a/" + path).statusCode()).as(path).isEqualTo(502);
        }
    }

    @Test
    void what_two_prompts_share_is_the_hottest_prefix_with_its_holders_and_its_text() {
        FakeWorker worker = join("a").doing(FakeWorker.finishing(FinishReason.LENGTH, 0, 5));
        int[] prompt = {41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, 52};
        int[] other = {41, 42, 43, 44, 45, 46, 47, 48, 53, 50, 51, 52};
        announce(worker, prompt, 2);
        for (int[] each : List.of(prompt, other)) {
            assertThat(post("/v1/completions", "{'model':'tiny','max_tokens':1,'prompt':" + Arrays.toString(each) + "}")
                    .statusCode()).isEqualTo(200);
        }

        JsonNode hottest = json(management("/live/prefixes")).path("prefixes").valueStream()
                .filter(each -> each.path("text").asString().equals(TOKENIZER.decode(Arrays.copyOf(prompt, 8))))
                .findFirst().orElseThrow();

        assertThat(hottest.path("hits").asInt()).isEqualTo(2);
        assertThat(hottest.path("depth_blocks").asInt()).isEqualTo(2);
        assertThat(hottest.path("tokens").asInt()).isEqualTo(8);
        assertThat(hottest.path("workers").toString()).isEqualTo("[\"a\"]");
    }

    @Test
    void a_typed_prompts_chain_is_the_one_that_workers_hash() {
        FakeWorker worker = join("a");
        int[] prompt = TOKENIZER.encode("the keys and the values and the queries", true);
        announce(worker, prompt, 1);

        JsonNode chain = json(page("/live/playground/chain", "POST",
                "{'model':'tiny','prompt':'the keys and the values and the queries'}"));

        var expected = BlockHashChain.of(HashSettings.ofBlockSize(4), ExtraKeys.NONE, prompt);
        assertThat(chain.path("prompt_tokens").asInt()).isEqualTo(prompt.length);
        assertThat(chain.path("blocks")).hasSize(expected.blockCount());
        String parent = chain.path("seed").asString();
        for (int block = 0; block < expected.blockCount(); block++) {
            JsonNode link = chain.path("blocks").path(block);
            assertThat(link.path("hash").asString()).isEqualTo(HexFormat.of().formatHex(expected.hash(block)));
            assertThat(link.path("parent").asString()).isEqualTo(parent);
            assertThat(link.path("workers")).hasSize(block == 0 ? 1 : 0);
            parent = link.path("hash").asString();
        }
        assertThat(page("/live/playground/chain", "POST", "{'model':'other','prompt':'a'}").statusCode())
                .isEqualTo(404);
        assertThat(page("/live/playground/chain", "POST", "{").statusCode()).isEqualTo(400);
        assertThat(page("/live/playground/chain", "POST", "").statusCode()).isEqualTo(400);
    }

    @Test
    void a_prompt_of_the_playground_goes_the_way_of_any_request_and_streams() {
        join("a").doing(FakeWorker.finishing(FinishReason.LENGTH, 4, 5, 6, 7));
        String body = "{'model':'tiny','stream':true,'max_tokens':3,'messages':[{'role':'user','content':'the keys'}]}";

        HttpResponse<String> route = page("/live/playground/route", "POST", body);
        assertThat(json(route)).isEqualTo(json(post("/v1/route", body)));
        HttpResponse<String> answer = page("/live/playground/chat/completions", "POST", body);

        assertThat(answer.statusCode()).isEqualTo(200);
        assertThat(answer.headers().firstValue("x-warmpath-worker")).hasValue("a");
        assertThat(answer.headers().firstValue("content-type").orElseThrow()).startsWith("text/event-stream");
        assertThat(events(answer.body()).getLast()).isEqualTo("[DONE]");
        assertThat(page("/live/playground/chat/completions", "POST", "{'model':'other','messages':[]}").statusCode())
                .as("errors are the API's own").isEqualTo(400);
        assertThat(page("/live/playground/route", "POST", "{'a':'" + "x".repeat(2 << 20) + "'}").statusCode())
                .isEqualTo(413);
    }

    @Test
    void of_17_prompts_of_the_page_at_a_time_the_last_is_refused_until_one_has_been_answered() throws Exception {
        FakeWorker worker = join("a").doing(FakeWorker.hangingAfter(5));
        // the API lets four in: the others wait there, and count here
        List<Socket> sockets = new ArrayList<>();
        try {
            for (int i = 0; i < Playground.MAX_REQUESTS; i++) {
                sockets.add(sendPrompt());
            }
            eventually(() -> worker.generations() == 4);
            eventually(() -> page("/live/playground/route", "POST", "{}").statusCode() == 503);
            sockets.removeFirst().close();
            eventually(() -> page("/live/playground/route", "POST", "{}").statusCode() == 400);
        } finally {
            for (Socket each : sockets) {
                each.close();
            }
        }
        eventually(() -> worker.generations() == 0);
    }

    private Socket sendPrompt() throws IOException {
        byte[] body = "{\"model\":\"tiny\",\"stream\":true,\"messages\":[{\"role\":\"user\",\"content\":\"the\"}]}"
                .getBytes(StandardCharsets.US_ASCII);
        var socket = new Socket("127.0.0.1", managementPort());
        socket.getOutputStream().write(("POST /live/playground/chat/completions HTTP/1.1\r\nhost: localhost\r\n"
                + "content-type: application/json\r\n" + PageGuard.PAGE_HEADER + ": 1\r\ncontent-length: "
                + body.length + "\r\n\r\n").getBytes(StandardCharsets.US_ASCII));
        socket.getOutputStream().write(body);
        return socket;
    }

    @Test
    void a_page_that_leaves_in_the_middle_of_an_answer_ends_it() throws IOException {
        FakeWorker worker = join("a").doing(FakeWorker.hangingAfter(5, 6));
        try (Socket socket = sendPrompt()) {
            assertThat(socket.getInputStream().read()).isEqualTo('H');
            assertThat(worker.generations()).isEqualTo(1);
        }
        eventually(() -> worker.generations() == 0);
    }
}
