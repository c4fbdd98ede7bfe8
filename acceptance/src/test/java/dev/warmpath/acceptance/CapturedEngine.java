package dev.warmpath.acceptance;

import dev.warmpath.process.TestEngine;
import dev.warmpath.worker.foreign.event.HeldPrompts;
import dev.warmpath.worker.foreign.event.PublishingEngine;
import dev.warmpath.worker.foreign.generate.Captures;
import java.util.ArrayList;
import java.util.List;

/**
 * An engine that says what real ones have said, on sockets of its own: its HTTP answers are captured bytes, the batches
 * of its cache's events captured payloads, in frames as its release makes them. What these say that it holds is kept
 * beside, by token ids. A test decides what fails.
 */
final class CapturedEngine implements AutoCloseable {

    /** As its page of event sources, captured from 0.32, says. */
    private static final String TOPIC = "kv@127.0.0.1:21000@smollm2-135m";
    private static final int BUFFERED = 100;
    static final String COMPLETIONS_STREAM = "vllm-0.32/completions-ids-stream-return-token-ids-usage";

    private final String kind;
    private final TestEngine http;
    private final PublishingEngine events;
    private final HeldPrompts held = new HeldPrompts();
    private final boolean saysWhereEventsAre;

    private CapturedEngine(String kind, TestEngine http, PublishingEngine events, boolean saysWhereEventsAre) {
        this.kind = kind;
        this.http = http;
        this.events = events;
        this.saysWhereEventsAre = saysWhereEventsAre;
    }

    /** Of maps, and hashes that are integers; its completions give token ids. */
    static CapturedEngine vllm32() {
        var events = new PublishingEngine(BUFFERED, /* answersHaveTopic */ true, TOPIC);
        TestEngine http = Captures.vllm32()
                .answer("/v1/completions", completions())
                .answer("/kv_event_sources", TestEngine.json(200, Captures.body("vllm-0.32/kv-event-sources")
                        .replaceFirst("tcp://\\*:21100", bound(events.source().endpoint()))
                        .replaceFirst("tcp://\\*:21200", bound(events.source().replayEndpoint()))));
        return new CapturedEngine("vllm", http, events, /* saysWhereEventsAre */ true);
    }

    /** Of arrays, hashes that are bytes, replays without a topic; only its endpoint for tokens gives token ids. */
    static CapturedEngine vllm20() {
        TestEngine http = Captures.vllm20()
                .answer("/v1/completions", Captures.answer("vllm-0.32/completions-ids"))
                .answer("/inference/v1/generate", tokens());
        return new CapturedEngine("vllm", http, new PublishingEngine(BUFFERED, /* answersHaveTopic */ false, TOPIC),
                /* saysWhereEventsAre */ false);
    }

    /** Captured events, of signed hashes; its pages and answers are after its sources. */
    static CapturedEngine sglang() {
        var events = new PublishingEngine(BUFFERED, /* answersHaveTopic */ true, "sg");
        TestEngine http = TestEngine.start()
                .answer("/v1/models", TestEngine.json(200, """
                        {"object":"list","data":[{"id":"m","owned_by":"sglang","root":"m","max_model_len":2048}]}"""))
                .answer("/health", TestEngine.json(200, ""))
                .answer("/server_info", TestEngine.json(200, """
                        {"version":"0.5.23","page_size":16,"max_total_num_tokens":1600,"disable_radix_cache":false,
                         "kv_events":{"publisher":"zmq","endpoint_host":"*","endpoint_port_base":%s,"topic":"sg",
                         "block_size":16,"dp_size":1,"replay_endpoint_port_base":%s}}""".formatted(
                        port(events.source().endpoint()), port(events.source().replayEndpoint()))))
                .answer("/generate", TestEngine.json(200, "{\"text\":\"a\",\"output_ids\":[7],\"meta_info\":{}}"));
        return new CapturedEngine("sglang", http, events, /* saysWhereEventsAre */ true);
    }

    /** Of 0.32. */
    static TestEngine.Answer completions() {
        return Captures.either("vllm-0.32/completions-ids-return-token-ids", COMPLETIONS_STREAM);
    }

    /** Of 0.20, whose whole answers tell no usage. */
    static TestEngine.Answer tokens() {
        return Captures.either("vllm-0.20/generate", "vllm-0.20/generate-stream");
    }

    TestEngine http() {
        return http;
    }

    HeldPrompts held() {
        return held;
    }

    /** Of a worker beside it, whose model is called as its id, and is another one by its seed alone. */
    String[] settings(String worker) {
        List<String> settings = new ArrayList<>(List.of("--warmpath.worker.id=" + worker,
                "--warmpath.model.name=" + worker, "--warmpath.kv.hash-seed=" + worker,
                "--warmpath.engine.kind=" + kind,
                "--warmpath.engine.url=" + http.address(), "--warmpath.engine.poll-interval=100ms"));
        if (!saysWhereEventsAre) {
            settings.add("--warmpath.engine.events.endpoint=" + events.source().endpoint());
            settings.add("--warmpath.engine.events.replay-endpoint=" + events.source().replayEndpoint());
        }
        return settings.toArray(String[]::new);
    }

    void publish(byte[] payload) {
        events.publish(payload);
        held.apply(payload);
    }

    /** The batch does not reach anybody, but may be asked for. */
    void lose(byte[] payload) {
        events.lose(payload);
        held.apply(payload);
    }

    /** Of batches that were, no more can be asked for from now on. */
    void keepOnly(int batches) {
        events.keepOnly(batches);
    }

    /** Ends the publisher, and starts it with nothing, counting from 0. */
    void restartPublisher() {
        events.restart();
        events.keepOnly(BUFFERED);
        held.forget();
    }

    @Override
    public void close() {
        events.close();
        http.close();
    }

    private static String bound(String endpoint) {
        return endpoint.replace("127.0.0.1", "*");
    }

    private static String port(String endpoint) {
        return endpoint.substring(endpoint.lastIndexOf(':') + 1);
    }
}
