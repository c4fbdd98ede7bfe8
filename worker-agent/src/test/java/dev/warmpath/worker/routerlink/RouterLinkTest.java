package dev.warmpath.worker.routerlink;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import dev.warmpath.protocol.block.HashSettings;
import dev.warmpath.protocol.event.BlockChange.Stored;
import dev.warmpath.protocol.event.Medium;
import dev.warmpath.protocol.fleet.Farewell;
import dev.warmpath.protocol.fleet.FleetToken;
import dev.warmpath.protocol.fleet.Heartbeat;
import dev.warmpath.protocol.fleet.ModelDescription;
import dev.warmpath.protocol.fleet.Protocol;
import dev.warmpath.protocol.fleet.Registration;
import dev.warmpath.protocol.fleet.RequestProof;
import dev.warmpath.protocol.fleet.RevisionParts;
import dev.warmpath.protocol.fleet.RouterId;
import dev.warmpath.protocol.fleet.RouterLoad;
import dev.warmpath.protocol.fleet.StepCost;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.net.UnknownHostException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Executors;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import tools.jackson.databind.json.JsonMapper;

/** A real link against a router that answers as each test wants. */
@ExtendWith(OutputCaptureExtension.class)
class RouterLinkTest {

    private static final String UNKNOWN = "{\"status\":404,\"reason\":\"unknown_worker\",\"detail\":\"who?\"}";
    private static final WorkerLoad IDLE = new WorkerLoad(0, 0, 0, 0, 0, false, 0, List.of(), 0, null, false, 0);
    private static final StepCost COST = new StepCost(400, 70, 90, 12.5);
    private static final List<RouterLoad> PARTS_OF_ROUTERS = List.of(new RouterLoad(new RouterId("r1"), 2, 1, 30));
    private static final RevisionParts PARTS =
            new RevisionParts("", "", "", "", "", HashSettings.SHA256_CBOR, "0", 16, 2_048);

    private final JsonMapper json = JsonMapper.builder().build();
    private final BlockingQueue<Registration> registrations = new LinkedBlockingQueue<>();
    private final BlockingQueue<Heartbeat> heartbeats = new LinkedBlockingQueue<>();
    private final BlockingQueue<Farewell> farewells = new LinkedBlockingQueue<>();
    private final BlockingQueue<String> authorizations = new LinkedBlockingQueue<>();
    private volatile int registrationStatus = 204;
    private volatile int heartbeatStatus = 204;
    private volatile String problem = "";
    private final AtomicInteger loadFailures = new AtomicInteger();
    private final AtomicBoolean held = new AtomicBoolean();
    private final HttpServer router = HttpServer.create(
            new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 16);
    private final KvEventPublisher events = new KvEventPublisher("w", 7);
    private final Registration registration = new Registration(Protocol.VERSION, "w", 7,
            URI.create("http://127.0.0.1:8000"),
            new ModelDescription("tiny", PARTS.revision(), PARTS, 1, 512), 1_000, 8, true);
    private final RouterLink link = new RouterLink(
            new RouterLinkProperties(List.of(URI.create("http://127.0.0.1:" + router.getAddress().getPort())), "hush",
                    null, Duration.ofMillis(10), Duration.ZERO),
            registration, this::load, events, json);

    RouterLinkTest() throws IOException {
        router.setExecutor(Executors.newVirtualThreadPerTaskExecutor());
        router.createContext(Protocol.REGISTRATIONS_PATH, exchange -> {
            authorizations.add(String.valueOf(exchange.getRequestHeaders().getFirst("Authorization"))
                    .replace("null", "none"));
            registrations.add(json.readValue(exchange.getRequestBody(), Registration.class));
            answer(exchange, registrationStatus);
        });
        router.createContext(Protocol.HEARTBEATS_PATH, exchange -> {
            heartbeats.add(json.readValue(exchange.getRequestBody(), Heartbeat.class));
            answer(exchange, heartbeatStatus);
        });
        router.createContext(Protocol.FAREWELLS_PATH, exchange -> {
            authorizations.add(String.valueOf(exchange.getRequestHeaders().getFirst("Authorization"))
                    .replace("null", "none"));
            farewells.add(json.readValue(exchange.getRequestBody(), Farewell.class));
            answer(exchange, 204);
        });
        router.start();
    }

    private WorkerLoad load() {
        if (loadFailures.getAndDecrement() > 0) {
            throw new StackOverflowError("too deep");
        }
        return new WorkerLoad(2, 1, 900, 50, 31_000, true, 2, PARTS_OF_ROUTERS, 700, COST, /* held */ true, 0);
    }

    @AfterEach
    void close() {
        link.close();
        router.stop(0);
    }

    @Test
    void a_worker_registers_and_then_says_again_and_again_how_it_is() throws InterruptedException {
        events.publish(List.of(new Stored(Medium.DEVICE, new long[] {1, 2})));
        assertThat(link.isKnown()).isFalse();
        link.start();

        assertThat(registrations.take()).isEqualTo(registration);
        assertThat(authorizations.take()).isEqualTo("none");
        long digest = events.state().setDigest();
        assertThat(heartbeats.take()).isEqualTo(new Heartbeat("w", 7, 2, 1, 900, 50, 1, 2, digest,
                /* draining */ false, 31_000, /* hanging */ true, /* pendingRequests */ 2, PARTS_OF_ROUTERS,
                /* contextTokens */ 700, COST, /* held */ true));
        heartbeats.take();
        heartbeats.take();
        assertThat(registrations).isEmpty();
        assertThat(link.isKnown()).isTrue();
    }

    /** Requests are signed for the router's challenge; each has a greater number. The token itself is never sent. */
    @Test
    void a_request_that_a_router_refuses_with_its_challenge_comes_again_signed_for_it() throws Exception {
        List<String> requests = new CopyOnWriteArrayList<>();
        List<RequestProof> proofs = new CopyOnWriteArrayList<>();
        HttpServer strict = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 16);
        strict.createContext("/", exchange -> {
            String path = exchange.getRequestURI().getPath();
            byte[] body = exchange.getRequestBody().readAllBytes();
            requests.add(exchange.getRequestHeaders().entrySet() + new String(body, StandardCharsets.UTF_8));
            String challenge = proofs.size() < 3 ? "1".repeat(32) : "2".repeat(32);  // it has been started anew
            RequestProof proof = RequestProof.parse(exchange.getRequestHeaders().getFirst("Authorization"));
            boolean holds = proof != null && proof.holds(FleetToken.of("hush"), challenge, path, body);
            if (holds) {
                proofs.add(proof);
            } else {
                exchange.getResponseHeaders().set(RequestProof.CHALLENGE_HEADER, challenge);
            }
            answer(exchange, holds ? 204 : 401);
        });
        strict.start();
        var properties = new RouterLinkProperties(List.of(
                URI.create("http://127.0.0.1:" + strict.getAddress().getPort())), "hush", null,
                Duration.ofMillis(10), Duration.ZERO);
        try (var signing = new RouterLink(properties, registration, () -> IDLE, events, json)) {
            signing.start();
            while (proofs.size() < 6) {
                Thread.sleep(5);
            }
        } finally {
            strict.stop(0);
        }
        assertThat(proofs).extracting(RequestProof::sender).containsOnly(proofs.getFirst().sender());
        assertThat(proofs).extracting(RequestProof::number).isSorted().doesNotHaveDuplicates();
        assertThat(requests).allSatisfy(request -> assertThat(request).doesNotContain("hush"));
    }

    @Test
    void a_router_that_has_forgotten_the_worker_gets_its_registration_again() throws InterruptedException {
        problem = UNKNOWN;
        heartbeatStatus = 404;
        link.start();
        registrations.take();
        registrations.take();

        heartbeatStatus = 204;
        heartbeats.clear();
        heartbeats.take();
        heartbeats.take();
    }

    @Test
    void an_error_in_the_worker_ends_neither_the_heartbeats_nor_the_farewell() throws InterruptedException {
        loadFailures.set(2);
        link.start();
        registrations.take();
        registrations.take();
        registrations.take();
        heartbeats.take();
        heartbeats.take();
        assertThat(loadFailures.get()).isNegative();
        link.close();
        assertThat(farewells.take()).isEqualTo(new Farewell("w", 7));
    }

    @Test
    void a_router_that_is_not_there_yet_is_asked_again_soon() throws InterruptedException {
        registrationStatus = 500;
        link.start();
        registrations.take();
        registrations.take();
        registrationStatus = 204;
        heartbeats.take();
    }

    @Test
    void a_refusal_is_not_repeated_at_once() throws InterruptedException {
        problem = "{\"status\":422,\"reason\":\"invalid\",\"detail\":\"no\"}";
        registrationStatus = 422;
        link.start();
        registrations.take();
        Thread.sleep(300);

        assertThat(registrations).isEmpty();
        assertThat(heartbeats).isEmpty();
        assertThat(link.isKnown()).isFalse();
    }

    @Test
    void a_worker_that_drains_has_said_so_when_it_knows_that_routers_have_heard_and_goes_on_saying_it()
            throws InterruptedException {
        assertThat(link.drain()).as("nobody is there to hear").isFalse();
        link.start();
        registrations.take();
        heartbeats.take();
        heartbeats.clear();

        assertThat(link.drain()).isTrue();
        assertThat(heartbeats).anyMatch(Heartbeat::draining);      // before it maybe one that was under way
        heartbeats.clear();
        assertThat(heartbeats.take().draining()).isTrue();
        assertThat(farewells).isEmpty();
    }

    /** No other heartbeats in this hour than the first ones and those that are asked for. */
    @Test
    void news_is_told_early_to_each_of_two_routers_and_again_to_one_that_did_not_take_it() throws Exception {
        var news = new AtomicLong();
        BlockingQueue<Heartbeat> heardBySecond = new LinkedBlockingQueue<>();
        HttpServer second = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 16);
        second.createContext("/", exchange -> answer(exchange, 204));
        second.createContext(Protocol.HEARTBEATS_PATH, exchange -> {
            heardBySecond.add(json.readValue(exchange.getRequestBody(), Heartbeat.class));
            answer(exchange, 204);
        });
        second.start();
        try (var early = earlyLink(news, router, second)) {
            early.start();
            heartbeats.take();
            heardBySecond.take();
            for (int i = 1; i <= 3; i++) {
                news.set(i);
                assertThat(heartbeats.take().pendingPromptTokens()).isEqualTo(i);
                assertThat(heardBySecond.take().pendingPromptTokens()).isEqualTo(i);
            }

            heartbeatStatus = 500;                                 // it is heard, but the worker does not know that
            news.set(4);
            assertThat(heartbeats.take().pendingPromptTokens()).isEqualTo(4);
            assertThat(heardBySecond.take().pendingPromptTokens()).isEqualTo(4);
            assertThat(heartbeats.poll(10, TimeUnit.SECONDS)).as("the same once more").isNotNull()
                    .extracting(Heartbeat::pendingPromptTokens).isEqualTo(4L);
            heartbeatStatus = 204;
            news.set(5);
            assertThat(heardBySecond.take().pendingPromptTokens()).as("who took it is not told again").isEqualTo(5);
            assertThat(registrations).hasSize(1);
        } finally {
            second.stop(0);
        }
    }

    @Test
    void a_router_that_does_not_know_the_worker_any_more_says_so_to_an_early_heartbeat() throws Exception {
        var news = new AtomicLong();
        HttpServer second = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 16);
        var secondHeard = new Semaphore(0);
        second.createContext("/", exchange -> {
            answer(exchange, 204);
            secondHeard.release();
        });
        second.start();
        try (var early = earlyLink(news, router, second)) {
            early.start();
            registrations.take();
            heartbeats.take();
            secondHeard.acquire(2);
            problem = UNKNOWN;
            heartbeatStatus = 404;
            news.set(1);
            registrations.take();
        } finally {
            second.stop(0);
        }
    }

    @Test
    void one_router_is_told_at_once_that_the_worker_is_held_and_that_it_is_let_go() throws Exception {
        try (var early = earlyLink(new AtomicLong(), router)) {
            early.start();
            assertThat(heartbeats.take().held()).isFalse();
            held.set(true);
            assertThat(heartbeats.take().held()).isTrue();
            held.set(false);
            assertThat(heartbeats.take().held()).isFalse();
        }
    }

    /** Its news are its pending tokens. */
    private RouterLink earlyLink(AtomicLong news, HttpServer... routers) {
        List<URI> urls = Arrays.stream(routers)
                .map(each -> URI.create("http://127.0.0.1:" + each.getAddress().getPort())).toList();
        return new RouterLink(new RouterLinkProperties(urls, "hush", null, Duration.ofHours(1), Duration.ofMillis(10)),
                registration, () -> {
                    long now = news.get();
                    return new WorkerLoad(1, 0, 900, now, 0, false, 1, List.of(), 0, null, held.get(),
                            now);
                }, events, json);
    }

    @Test
    void a_closed_link_has_said_farewell_and_is_silent() throws InterruptedException {
        link.start();
        heartbeats.take();
        authorizations.clear();
        link.close();
        assertThat(farewells.take()).isEqualTo(new Farewell("w", 7));
        assertThat(authorizations).containsExactly("none");

        do {
            heartbeats.clear();                                    // one that was still being read
            Thread.sleep(100);
        } while (!heartbeats.isEmpty());
        link.close();
        assertThat(farewells).isEmpty();
    }

    @Test
    void a_router_that_does_not_answer_holds_up_no_shutdown() throws IOException, InterruptedException {
        try (var silent = new ServerSocket(0, 16, InetAddress.getLoopbackAddress())) {
            var properties = new RouterLinkProperties(List.of(
                    URI.create("http://127.0.0.1:" + silent.getLocalPort()),
                    URI.create("http://127.0.0.1:" + router.getAddress().getPort())), "hush", null,
                    Duration.ofMillis(10), Duration.ZERO);
            var both = new RouterLink(properties, registration, () -> IDLE, events, json);
            both.start();
            heartbeats.take();
            both.close();
            assertThat(farewells.take()).isEqualTo(new Farewell("w", 7));
        }
    }

    /** Whoever took a router's address, or a proxy before it: headers, and then nothing. */
    @Test
    void who_answers_half_holds_up_neither_heartbeats_nor_a_drain() throws Exception {
        List<Socket> open = new CopyOnWriteArrayList<>();
        var asked = new Semaphore(0);
        try (var half = new ServerSocket(0, 16, InetAddress.getLoopbackAddress());
                var hopeful = linkTo(half)) {
            Thread.ofVirtual().start(() -> acceptAndAnswer(half, socket -> {
                open.add(socket);
                socket.getOutputStream().write(head(100));
                asked.release();
            }));
            hopeful.start();
            asked.acquire();
            assertThat(hopeful.drain()).as("somebody has heard it").isFalse();
            asked.acquire(2);                                      // that, and the registration once more
        }
    }

    @Test
    void an_answer_without_end_is_not_read_to_its_end() throws Exception {
        long claimed = 1L << 30;
        BlockingQueue<Long> taken = new LinkedBlockingQueue<>();
        try (var endless = new ServerSocket(0, 16, InetAddress.getLoopbackAddress());
                var hopeful = linkTo(endless)) {
            Thread.ofVirtual().start(() -> acceptAndAnswer(endless, socket -> {
                socket.setSendBufferSize(1 << 16);
                socket.getOutputStream().write(head(claimed));
                byte[] piece = new byte[1 << 16];
                long written = 0;
                try {
                    while (written < claimed) {
                        socket.getOutputStream().write(piece);
                        written += piece.length;
                    }
                } catch (IOException e) {
                    // it has hung up
                }
                taken.add(written);
            }));
            hopeful.start();
            assertThat(taken.take()).as("bytes, with all that lies in the sockets").isLessThan(64 << 20);
        }
    }

    private RouterLink linkTo(ServerSocket socket) {
        return new RouterLink(new RouterLinkProperties(
                List.of(URI.create("http://127.0.0.1:" + socket.getLocalPort())), "hush", null,
                Duration.ofMillis(10), Duration.ZERO),
                registration, () -> IDLE, events, json);
    }

    private interface Answer {
        void to(Socket socket) throws IOException;
    }

    /** Each request comes on a connection of its own, for none is answered to the end. */
    private static void acceptAndAnswer(ServerSocket server, Answer answer) {
        try {
            while (true) {
                Socket socket = server.accept();
                Thread.ofVirtual().start(() -> {
                    try {
                        if (socket.getInputStream().read(new byte[1 << 16]) > 0) {
                            answer.to(socket);
                        }
                    } catch (IOException e) {
                        // it has hung up
                    }
                });
            }
        } catch (IOException e) {
            // the test is over
        }
    }

    private static byte[] head(long contentLength) {
        return ("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: " + contentLength + "\r\n\r\n")
                .getBytes(StandardCharsets.US_ASCII);
    }

    @Test
    void a_name_stands_for_every_address_that_it_resolves_to_by_its_last_answer(CapturedOutput log) throws Exception {
        int port = router.getAddress().getPort();
        Map<String, List<String>> answers = new ConcurrentHashMap<>();
        var properties = new RouterLinkProperties(List.of(URI.create("http://routers:" + port),
                URI.create("http://mistyped:" + port)), "hush", null, Duration.ofMillis(10), Duration.ZERO);
        HttpServer second = HttpServer.create(new InetSocketAddress("127.0.0.2", port), 16);
        BlockingQueue<Heartbeat> heardBySecond = new LinkedBlockingQueue<>();
        BlockingQueue<Farewell> leftSecond = new LinkedBlockingQueue<>();
        second.createContext("/", exchange -> answer(exchange, 204));
        second.createContext(Protocol.HEARTBEATS_PATH, exchange -> {
            heardBySecond.add(json.readValue(exchange.getRequestBody(), Heartbeat.class));
            answer(exchange, 204);
        });
        second.createContext(Protocol.FAREWELLS_PATH, exchange -> {
            leftSecond.add(json.readValue(exchange.getRequestBody(), Farewell.class));
            answer(exchange, 204);
        });
        second.start();
        try (var named = new RouterLink(properties, registration, () -> IDLE, events,
                json, host -> addresses(host, answers.get(host)))) {
            named.resolve();
            answers.put("routers", List.of("127.0.0.1", "127.0.0.2"));
            named.resolve();
            heartbeats.take();
            heardBySecond.take();

            answers.remove("routers");                             // the name server is away: nobody is left
            named.resolve();
            heardBySecond.clear();
            heardBySecond.take();
            heardBySecond.take();
            assertThat(leftSecond).isEmpty();

            answers.put("routers", List.of("127.0.0.1"));
            named.resolve();
            assertThat(leftSecond.take()).isEqualTo(new Farewell("w", 7));
            heartbeats.clear();
            heartbeats.take();
            heartbeats.take();
            assertThat(farewells).isEmpty();
            assertThat(log).containsOnlyOnce("router name mistyped cannot be looked up")
                    .contains("router name routers is known now");
        } finally {
            second.stop(0);
        }
    }

    private static InetAddress[] addresses(String host, @Nullable List<String> known) throws UnknownHostException {
        if (known == null) {
            throw new UnknownHostException(host);
        }
        return known.stream().map(InetAddress::ofLiteral).toArray(InetAddress[]::new);
    }

    @Test
    void a_router_that_forgets_the_worker_again_and_again_is_told_of_once_and_with_what_to_look_at(CapturedOutput log)
            throws InterruptedException {
        problem = UNKNOWN;
        heartbeatStatus = 404;
        link.start();
        for (int i = 0; i < 4; i++) {
            registrations.take();
        }
        assertThat(log).containsOnlyOnce("registered with router").containsOnlyOnce("has forgotten this worker")
                .contains("it has to reach http://127.0.0.1:8000 (warmpath.worker.base-url)");
        assertThat(link.isKnown()).isFalse();
    }

    @Test
    void an_address_that_is_no_url_stops_the_start_with_a_sentence() {
        assertThatThrownBy(() -> new RouterLinkProperties(
                List.of(URI.create("router:9080")), null, null, Duration.ofSeconds(1), Duration.ZERO))
                .hasMessage("warmpath.routerlink.urls has 'router:9080', but a router's management address looks like "
                        + "http://router:9080");
    }

    private void answer(HttpExchange exchange, int status) throws IOException {
        try (exchange) {
            byte[] body = status == 204 ? new byte[0] : problem.getBytes(StandardCharsets.UTF_8);
            exchange.sendResponseHeaders(status, body.length == 0 ? -1 : body.length);
            exchange.getResponseBody().write(body);
        }
    }
}
