package dev.warmpath.acceptance;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.protocol.block.BlockHashChain;
import dev.warmpath.protocol.block.ExtraKeys;
import dev.warmpath.protocol.block.HashSettings;
import dev.warmpath.protocol.event.BlockChange;
import dev.warmpath.protocol.event.Medium;
import dev.warmpath.protocol.fleet.FleetToken;
import dev.warmpath.protocol.fleet.Protocol;
import dev.warmpath.protocol.fleet.Registration;
import dev.warmpath.router.RouterApplication;
import dev.warmpath.router.fleet.Fleet;
import dev.warmpath.router.prefix.PrefixIndex;
import dev.warmpath.router.prefix.WorkerKeys;
import dev.warmpath.worker.routerlink.FleetGate;
import dev.warmpath.worker.routerlink.KvEventPublisher;
import dev.warmpath.worker.routerlink.KvEventStream;
import dev.warmpath.worker.routerlink.ModelFileServing;
import dev.warmpath.worker.routerlink.ModelFiles;
import dev.warmpath.worker.routerlink.RouterLink;
import dev.warmpath.worker.routerlink.RouterLinkProperties;
import dev.warmpath.worker.routerlink.WorkerLoad;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.core.io.FileSystemResource;
import org.springframework.http.server.reactive.ReactorHttpHandlerAdapter;
import org.springframework.web.reactive.function.server.HandlerStrategies;
import org.springframework.web.reactive.function.server.RouterFunctions;
import reactor.netty.DisposableServer;
import reactor.netty.http.server.HttpServer;
import tools.jackson.databind.json.JsonMapper;

/** A whole router and a worker's side of the fleet, a token between them: registration, files, events, departure. */
class FleetLinkTest {

    /** The smallest tokenizer that is one: byte-level BPE over three letters. */
    private static final String TOKENIZER = """
            {"version": "1.0", "truncation": null, "padding": null, "added_tokens": [], "normalizer": null,
             "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true},
             "post_processor": null,
             "decoder": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true},
             "model": {"type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": null,
                       "end_of_word_suffix": null, "fuse_unk": false, "byte_fallback": false,
                       "vocab": {"a": 0, "b": 1, "c": 2}, "merges": []}}
            """;

    @TempDir Path directory;

    @Test
    void what_a_worker_announces_is_what_its_router_matches() throws Exception {
        Files.writeString(directory.resolve("model.safetensors"), "weights");
        Files.writeString(directory.resolve("tokenizer.json"), TOKENIZER);
        ModelFiles files = ModelFiles.read(List.of(directory.resolve("model.safetensors")), ModelFiles.UNCHANGED,
                Map.of("tokenizer.json", new FileSystemResource(directory.resolve("tokenizer.json"))), null, "tiny",
                HashSettings.ofBlockSize(16), 2_048, 3);
        var events = new KvEventPublisher("w", 7);
        var stream = new KvEventStream(events);
        DisposableServer server = worker(stream, files);
        try (ConfigurableApplicationContext router = router()) {
            RouterLink link = link(router, server, files, events);
            Fleet fleet = router.getBean(Fleet.class);
            PrefixIndex index = router.getBean(PrefixIndex.class);
            link.start();
            Await.until("the model is served, or the reason is known", () -> fleet.model("tiny") != null
                    || fleet.snapshot().stream().anyMatch(seen -> seen.problem() != null));
            assertThat(fleet.snapshot()).allSatisfy(seen -> assertThat(seen.problem()).isNull());

            WorkerKeys keys = fleet.workers(fleet.model("tiny")).getFirst().keys();
            BlockHashChain chain = BlockHashChain.of(
                    HashSettings.ofBlockSize(16), ExtraKeys.NONE, new Random(1).ints(160, 0, 3).toArray());
            events.publish(List.of(new BlockChange.Stored(Medium.DEVICE,
                    IntStream.range(0, 7).mapToLong(chain::key).toArray())));
            Await.until("stored blocks match", () -> index.match(chain, 9).blocks(keys) == 7);
            events.publish(List.of(new BlockChange.Removed(Medium.DEVICE, new long[] {chain.key(6), chain.key(5)})));
            Await.until("removed blocks do not", () -> index.match(chain, 9).blocks(keys) == 5);

            link.close();
            server.disposeNow();                                   // nobody listens any more, and
            stream.stop();                                         // what was open ends
            Await.until("the worker is gone", () -> fleet.snapshot().isEmpty());
            assertThat(index.match(chain, 9).blocks(keys)).isZero();
        } finally {
            server.disposeNow();
        }
    }

    private static ConfigurableApplicationContext router() {
        return new SpringApplicationBuilder(RouterApplication.class).run("--server.port=0",
                "--management.server.port=0", "--warmpath.fleet.token=hush", "--warmpath.fleet.lease-duration=1h");
    }

    private static DisposableServer worker(KvEventStream stream, ModelFiles files) {
        var routes = stream.routes().and(new ModelFileServing(files).routes());
        return HttpServer.create().host("127.0.0.1").port(0)
                .handle(new ReactorHttpHandlerAdapter(RouterFunctions.toHttpHandler(routes,
                        HandlerStrategies.builder().webFilter(
                                new FleetGate(FleetToken.of("hush"), FleetToken.of("boss"), "w", 7)).build())))
                .bindNow();
    }

    private static RouterLink link(ConfigurableApplicationContext router, DisposableServer server, ModelFiles files,
            KvEventPublisher events) {
        String port = router.getEnvironment().getProperty("local.management.port");
        var properties = new RouterLinkProperties(
                List.of(URI.create("http://127.0.0.1:" + port)), "hush", null, Duration.ofSeconds(1),
                Duration.ZERO);
        var registration = new Registration(Protocol.VERSION, "w", 7,
                URI.create("http://127.0.0.1:" + server.port()), files.description(), 1_000, 8, true);
        var idle = new WorkerLoad(0, 0, 1_000, 0, 0, false, 0, List.of(), 0, null, false, 0);
        return new RouterLink(properties, registration, () -> idle,
                events, JsonMapper.builder().build());
    }
}
