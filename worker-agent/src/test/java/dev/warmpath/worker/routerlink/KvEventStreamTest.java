package dev.warmpath.worker.routerlink;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.warmpath.protocol.block.HashSettings;
import dev.warmpath.protocol.event.BlockChange;
import dev.warmpath.protocol.event.BlockChange.Stored;
import dev.warmpath.protocol.event.EventFrames;
import dev.warmpath.protocol.event.KeySet;
import dev.warmpath.protocol.event.KvEventBatch;
import dev.warmpath.protocol.event.KvEventCodec;
import dev.warmpath.protocol.event.Medium;
import dev.warmpath.protocol.fleet.FleetToken;
import dev.warmpath.protocol.fleet.Protocol;
import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.core.io.FileSystemResource;
import org.springframework.http.server.reactive.ReactorHttpHandlerAdapter;
import org.springframework.web.reactive.function.server.HandlerStrategies;
import org.springframework.web.reactive.function.server.RouterFunctions;
import reactor.netty.DisposableServer;
import reactor.netty.http.server.HttpServer;

/** Event stream and model files over a real server. */
class KvEventStreamTest {

    @TempDir Path directory;
    private final KvEventPublisher publisher = new KvEventPublisher("w", 7);
    private final KvEventStream stream = new KvEventStream(publisher);
    private final HttpClient http = HttpClient.newHttpClient();
    private ModelFiles files;
    private DisposableServer server;

    @BeforeEach
    void open() throws IOException {
        Files.writeString(directory.resolve("model.safetensors"), "weights");
        Files.writeString(directory.resolve("tokenizer.json"), "{\"a\":1}");
        files = ModelFiles.read(List.of(directory.resolve("model.safetensors")), ModelFiles.UNCHANGED,
                Map.of("tokenizer.json", new FileSystemResource(directory.resolve("tokenizer.json"))), null,
                "tiny", HashSettings.ofBlockSize(16), 2_048, 512);
        var routes = stream.routes().and(new ModelFileServing(files).routes());
        server = HttpServer.create().host("127.0.0.1").port(0)
                .handle(new ReactorHttpHandlerAdapter(RouterFunctions.toHttpHandler(routes,
                        HandlerStrategies.builder().webFilter(
                                new FleetGate(FleetToken.of("hush"), FleetToken.of("boss"), "w", 7)).build())))
                .bindNow();
    }

    @AfterEach
    void close() {
        server.disposeNow();
    }

    @Test
    void a_reader_sees_a_snapshot_then_each_batch_as_it_is_published() throws Exception {
        publisher.publish(List.of(stored(1, 2)));
        try (DataInputStream in = events(7)) {
            assertThat(nextBatch(in)).isEqualTo(new KvEventBatch("w", 7, 1, true,
                    List.of(stored(inTableOrder(1, 2))), 2, publisher.state().setDigest()));
            publisher.publish(List.of(stored(3)));
            assertThat(nextBatch(in).sequence()).isEqualTo(2);
            publisher.publish(List.of(new BlockChange.Cleared()));
            assertThat(nextBatch(in).setSize()).isZero();
        }
    }

    @Test
    void a_quiet_worker_sends_an_empty_frame_each_second() throws Exception {
        try (DataInputStream in = events(7)) {
            nextBatch(in);
            assertThat(EventFrames.read(in, 1_000)).isEmpty();
            assertThat(EventFrames.read(in, 1_000)).isEmpty();
        }
    }

    @Test
    void a_reader_that_leaves_is_forgotten() throws Exception {
        DataInputStream in = events(7);
        nextBatch(in);
        assertThat(publisher.subscriberCount()).isEqualTo(1);
        in.close();
        while (publisher.subscriberCount() > 0) {
            Thread.sleep(5);
        }
    }

    /** The socket's buffers fill first: megabytes are published before a reader that reads nothing is cut. */
    @Test
    void a_reader_that_does_not_read_is_cut_and_the_engine_is_not_held_up() throws Exception {
        try (DataInputStream in = events(7)) {
            nextBatch(in);
            long[] keys = new long[10_000];
            for (int i = 0; i < 20_000 && publisher.subscriberCount() > 0; i++) {
                keys[0] = i;
                publisher.publish(List.of(stored(keys.clone())));
            }
            assertThat(publisher.subscriberCount()).isZero();
        }
    }

    @Test
    void another_epoch_is_a_conflict_that_names_both() throws Exception {
        HttpResponse<String> answer = get(Protocol.EVENTS_PATH + "?epoch=6", "Bearer hush");

        assertThat(answer.statusCode()).isEqualTo(409);
        assertThat(answer.body()).contains("worker w has epoch 7, the reader expects 6");
    }

    @Test
    void without_the_fleet_token_there_are_neither_events_nor_files() throws Exception {
        assertThat(get(Protocol.EVENTS_PATH + "?epoch=7", "Bearer wrong").statusCode()).isEqualTo(401);
        assertThat(get(Protocol.FILES_PATH + files.description().parts().tokenizer(), "Bearer wrong").statusCode())
                .isEqualTo(401);
    }

    @Test
    void when_the_worker_stops_its_streams_end_and_no_new_one_begins() throws Exception {
        try (DataInputStream in = events(7)) {
            nextBatch(in);
            stream.stop();
            assertThatThrownBy(() -> {
                while (true) {
                    EventFrames.read(in, 1_000);
                }
            }).isInstanceOf(EOFException.class);
        }
        assertThat(get(Protocol.EVENTS_PATH + "?epoch=7", "Bearer hush").statusCode()).isEqualTo(503);
    }

    @Test
    void files_are_given_out_by_digest_and_never_by_name() throws Exception {
        String tokenizer = files.description().parts().tokenizer();

        assertThat(get(Protocol.FILES_PATH + tokenizer, "Bearer hush").body()).isEqualTo("{\"a\":1}");
        for (String path : List.of(files.description().parts().weights(), "0".repeat(64), "tokenizer.json",
                "..%2ftokenizer.json", "%2e%2e/x")) {
            assertThat(get(Protocol.FILES_PATH + path, "Bearer hush").statusCode()).as(path).isEqualTo(404);
        }
    }

    private DataInputStream events(long epoch) throws IOException, InterruptedException {
        HttpRequest request = HttpRequest.newBuilder(uri(Protocol.EVENTS_PATH + "?epoch=" + epoch))
                .header("Authorization", "Bearer hush").build();
        return new DataInputStream(http.send(request, HttpResponse.BodyHandlers.ofInputStream()).body());
    }

    private static KvEventBatch nextBatch(DataInputStream in) throws IOException {
        byte[] payload = EventFrames.read(in, 1_000);
        while (payload.length == 0) {
            payload = EventFrames.read(in, 1_000);
        }
        return KvEventCodec.decode(payload);
    }

    private HttpResponse<String> get(String path, String authorization) throws IOException, InterruptedException {
        return http.send(HttpRequest.newBuilder(uri(path)).header("Authorization", authorization).build(),
                HttpResponse.BodyHandlers.ofString());
    }

    private URI uri(String path) {
        return URI.create("http://127.0.0.1:" + server.port() + path);
    }

    private static BlockChange stored(long... keys) {
        return new Stored(Medium.DEVICE, keys);
    }

    /** A snapshot's keys stand in the order of the set's table. */
    private static long[] inTableOrder(long... keys) {
        var set = new KeySet();
        for (long key : keys) {
            set.add(key);
        }
        return set.toArray();
    }
}
