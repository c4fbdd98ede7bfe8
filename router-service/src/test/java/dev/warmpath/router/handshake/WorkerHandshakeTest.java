package dev.warmpath.router.handshake;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.warmpath.protocol.fleet.FleetToken;
import dev.warmpath.protocol.fleet.Handshake;
import dev.warmpath.protocol.fleet.Protocol;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.util.AttributeKey;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.reactivestreams.Publisher;
import reactor.core.Exceptions;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.netty.ByteBufFlux;
import reactor.netty.DisposableServer;
import reactor.netty.NettyPipeline;
import reactor.netty.http.client.HttpClient;
import reactor.netty.http.server.HttpServer;
import reactor.netty.http.server.HttpServerRequest;
import reactor.netty.http.server.HttpServerResponse;
import reactor.netty.resources.ConnectionProvider;

/** Real connections to a worker "w" of epoch 7, to one that lies, and to sockets that say anything. */
class WorkerHandshakeTest {

    private static final FleetToken HUSH = FleetToken.of("hush");
    private static final AttributeKey<Handshake> ASKED = AttributeKey.valueOf("asked");
    private static final String PROMPT = "a prompt that is nobody else's business";

    private final ConnectionProvider connections = ConnectionProvider.create("test", 4);
    private final AtomicInteger accepted = new AtomicInteger();
    private final AtomicInteger handshakes = new AtomicInteger();
    private final List<String> prompts = new CopyOnWriteArrayList<>();
    private final AtomicInteger failures = new AtomicInteger();
    private final AtomicInteger ended = new AtomicInteger();
    private DisposableServer worker;
    private ServerSocket impostor;

    @AfterEach
    void close() throws IOException {
        connections.dispose();
        if (worker != null) {
            worker.disposeNow();
        }
        if (impostor != null) {
            impostor.close();
        }
    }

    @Test
    void both_ends_prove_themselves_once_a_connection_and_nothing_else_changes() {
        int port = worker(said -> said);

        for (int i = 0; i < 20; i++) {
            assertThat(post(port, "w", 7)).isEqualTo("200 " + PROMPT);
        }
        assertThat(Flux.range(0, 12).flatMap(_ -> send(port, "w", 7), 8).collectList().block())
                .containsOnly("200 " + PROMPT);
        // how many the pool opens depends on who is back first; each shakes hands once, whatever it carries
        assertThat(handshakes.get()).isEqualTo(accepted.get()).isBetween(1, 4);
    }

    @Test
    void a_worker_with_another_token_a_repeated_answer_or_another_epoch_gets_no_prompt() {
        assertStranger(worker(said -> new Handshake(said.routerNonce(), said.workerNonce(), "w", 8)), "w", 7,
                "what answers there does not prove that it has the fleet's token");
        worker.disposeNow();
        assertStranger(worker(said -> new Handshake("0".repeat(32), said.workerNonce(), "w", 7)), "w", 7,
                "what answers there does not prove that it has the fleet's token");
        worker.disposeNow();
        assertStranger(worker(said -> said), "w", 8, "worker w of epoch 7 answers there");
        assertStranger(worker.port(), "v", 7, "worker w of epoch 7 answers there");
        assertThat(prompts).isEmpty();
    }

    @ParameterizedTest
    @ValueSource(strings = {
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}",
        "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 204 No Content\r\nwarmpath-nonce: 00000000000000000000000000000000\r\nwarmpath-worker: w\r\n"
                + "warmpath-epoch: 7\r\nwarmpath-proof: none\r\n\r\n",
        "HTTP/1.1 204 No Content\r\nwarmpath-nonce: x\r\nwarmpath-worker: w\r\nwarmpath-epoch: 7\r\n\r\n",
        "SSH-2.0-OpenSSH_9.2\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nENDLESS",
        "",
    })
    void whoever_took_the_address_reads_a_nonce_and_nothing_else(String answer) throws Exception {
        impostor = new ServerSocket(0, 16, InetAddress.getLoopbackAddress());
        var heard = new CopyOnWriteArrayList<String>();
        Thread.ofVirtual().start(() -> {
            while (!impostor.isClosed()) {
                try (Socket socket = impostor.accept()) {
                    answer(socket, answer, heard);
                } catch (IOException e) {
                    // the router has hung up
                }
            }
        });

        assertThatThrownBy(() -> post(impostor.getLocalPort(), "w", 7)).satisfies(e ->
                assertThat(Exceptions.unwrap(e).getCause() == null ? Exceptions.unwrap(e) : e.getCause())
                        .isInstanceOf(IOException.class));
        while (ended.get() < heard.size()) {
            Thread.onSpinWait();
        }
        assertThat(failures.get()).as("told once a connection").isEqualTo(ended.get());
        assertThat(heard).isNotEmpty().allSatisfy(request -> assertThat(request.toLowerCase())
                .startsWith("get " + Protocol.HANDSHAKE_PATH + " http/1.1\r\n")
                .matches("(?s)[^\r]*\r\nhost: worker\r\nwarmpath-nonce: [0-9a-f]{32}\r\n\r\n"));
    }

    private static void answer(Socket socket, String answer, List<String> heard) throws IOException {
        InputStream in = socket.getInputStream();
        var request = new StringBuilder();
        byte[] bytes = new byte[4096];
        while (!request.toString().endsWith("\r\n\r\n")) {
            int count = in.read(bytes);
            if (count < 0) {
                break;
            }
            request.append(new String(bytes, 0, count, StandardCharsets.UTF_8));
        }
        heard.add(request.toString());
        OutputStream out = socket.getOutputStream();
        out.write(answer.replace("ENDLESS", "").getBytes(StandardCharsets.UTF_8));
        out.flush();
        while (answer.endsWith("ENDLESS")) {
            out.write("400\r\n".getBytes(StandardCharsets.UTF_8));
            out.write(new byte[1024]);
            out.write("\r\n".getBytes(StandardCharsets.UTF_8));
        }
    }

    // ---- the router's side

    /** One for all requests: another one would have connections of its own. */
    private final HttpClient client = HttpClient.create(connections).doOnChannelInit((_, channel, _) -> {
        WorkerHandshake.addTo(channel, NettyPipeline.ReactiveBridge, HUSH);
        channel.pipeline().addBefore(NettyPipeline.ReactiveBridge, "above", new Above());
    });

    /** What those above a handshake are told. */
    private final class Above extends ChannelInboundHandlerAdapter {
        @Override
        public void exceptionCaught(ChannelHandlerContext ctx, Throwable error) {
            failures.incrementAndGet();
            ctx.fireExceptionCaught(error);
        }

        @Override
        public void channelInactive(ChannelHandlerContext ctx) {
            ended.incrementAndGet();
            ctx.fireChannelInactive();
        }
    }

    private String post(int port, String workerId, long epoch) {
        return send(port, workerId, epoch).block();
    }

    /** @return status and body */
    private Mono<String> send(int port, String workerId, long epoch) {
        return client.headers(headers -> WorkerHandshake.nameWorker(headers, workerId, epoch))
                .post().uri("http://127.0.0.1:" + port + Protocol.GENERATE_PATH)
                .send(ByteBufFlux.fromString(Mono.just(PROMPT)))
                .responseSingle((response, body) -> body.asString().defaultIfEmpty("")
                        .map(text -> response.status().code() + " " + text));
    }

    private void assertStranger(int port, String workerId, long epoch, String message) {
        assertThatThrownBy(() -> post(port, workerId, epoch))
                .hasCauseInstanceOf(StrangerException.class).cause().hasMessage(message);
    }

    // ---- the worker's side, as the worker's own gate does it

    /** @param lie what the proof is made over, of what was really said. @return its port */
    private int worker(UnaryOperator<Handshake> lie) {
        worker = HttpServer.create().host("127.0.0.1").port(0)
                .doOnChannelInit((_, _, _) -> accepted.incrementAndGet())
                .route(routes -> routes
                        .get(Protocol.HANDSHAKE_PATH, (request, response) -> shake(request, response, lie))
                        .post(Protocol.GENERATE_PATH, this::echo))
                .bindNow();
        return worker.port();
    }

    private Publisher<Void> shake(
            HttpServerRequest request, HttpServerResponse response, UnaryOperator<Handshake> lie) {
        handshakes.incrementAndGet();
        var said = new Handshake(request.requestHeaders().get(Handshake.NONCE_HEADER),
                Handshake.newNonce(new Random(handshakes.get())), "w", 7);
        request.withConnection(connection -> connection.channel().attr(ASKED).set(said));
        return response.status(204).header(Handshake.NONCE_HEADER, said.workerNonce())
                .header(Handshake.WORKER_HEADER, "w").header(Handshake.EPOCH_HEADER, "7")
                .header(Handshake.PROOF_HEADER, lie.apply(said).workerProof(HUSH)).send();
    }

    /** The first request of a connection has to carry the proof. */
    private Publisher<Void> echo(HttpServerRequest request, HttpServerResponse response) {
        boolean[] proved = new boolean[1];
        request.withConnection(connection -> {
            Handshake said = connection.channel().attr(ASKED).get();
            String proof = request.requestHeaders().get(Handshake.PROOF_HEADER);
            proved[0] = said != null && (connection.channel().attr(PROVED).get() != null
                    || said.isProvedByRouter(HUSH, proof));
            connection.channel().attr(PROVED).set(proved[0] ? true : null);
        });
        return request.receive().aggregate().asString().doOnNext(prompts::add)
                .flatMap(prompt -> response.status(proved[0] ? 200 : 401).sendString(Mono.just(prompt)).then())
                .then();
    }

    private static final AttributeKey<Boolean> PROVED = AttributeKey.valueOf("proved");
}
