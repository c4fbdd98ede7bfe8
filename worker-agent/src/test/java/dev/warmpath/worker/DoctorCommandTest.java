package dev.warmpath.worker;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.process.TestEngine;
import dev.warmpath.worker.foreign.event.PublishingEngine;
import dev.warmpath.worker.foreign.generate.Captures;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * {@code doctor} at an engine that says of itself what a vLLM of 0.32 has said, stores blocks of 32 tokens, publishes
 * them, and has the tokenizer of warmpath-tiny; or is not quite so.
 */
class DoctorCommandTest {

    private static final Path TINY = Path.of("../models/warmpath-tiny");
    private static final JsonMapper JSON = JsonMapper.shared();

    private final PublishingEngine events = new PublishingEngine(100, /* answersHaveTopic */ true);
    private final TestEngine engine = Captures.vllm32();
    private final Set<String> computed = new HashSet<>();
    private boolean tellsCached = true;
    private boolean publishes = true;

    private record Said(int status, String text) {

        List<String> lines(String grade) {
            return text.lines().filter(line -> line.startsWith("  " + grade)).toList();
        }
    }

    DoctorCommandTest() {
        engine.answer("/v1/completions", this::complete);
        engine.answer("/detokenize", exchange -> {
            int id = JSON.readTree(exchange.request().body()).path("tokens").path(0).asInt();
            TestEngine.json(200, JSON.writeValueAsString(Map.of("prompt", texts().get(id)))).write(exchange);
        });
        publishAt(events.source().endpoint().replace("127.0.0.1", "*"),
                events.source().replayEndpoint().replace("127.0.0.1", "*"));
    }

    private void publishAt(String endpoint, String replay) {
        engine.answer("/kv_event_sources", TestEngine.json(200, JSON.writeValueAsString(
                Map.of("0", Map.of("endpoint", endpoint, "replay_endpoint", replay, "topic", "")))));
    }

    private void complete(TestEngine.Exchange exchange) throws IOException {
        JsonNode prompt = JSON.readTree(exchange.request().body()).path("prompt");
        int[] ids = prompt.valueStream().mapToInt(JsonNode::asInt).toArray();
        boolean isNew;
        synchronized (this) {
            isNew = computed.add(Arrays.toString(ids));
            if (isNew && publishes && ids.length > 32) {
                events.publishStored(ids, 32);
            }
        }
        String details = tellsCached ? "{\"cached_tokens\":" + (isNew ? 0 : ids.length / 32 * 32) + "}" : "null";
        TestEngine.json(200, "{\"choices\":[{\"token_ids\":[5]}],\"usage\":{\"prompt_tokens_details\":" + details
                + "}}").write(exchange);
    }

    /** As a byte-level decoder writes them. */
    private static Map<Integer, String> texts() {
        try {
            JsonNode tokenizer = JSON.readTree(Files.readAllBytes(TINY.resolve("tokenizer.json")));
            Map<Integer, String> texts = new HashMap<>();
            tokenizer.path("model").path("vocab").properties()
                    .forEach(token -> texts.put(token.getValue().asInt(), token.getKey().replace('\u0120', ' ')));
            tokenizer.path("added_tokens").forEach(token -> texts.put(token.path("id").asInt(),
                    token.path("content").asString()));
            return texts;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @AfterEach
    void close() {
        events.close();
        engine.close();
    }

    @Test
    void of_an_engine_that_is_started_right_everything_is_fine() {
        Said said = doctor("--model", TINY.toString());

        assertThat(said.status()).as(said.text()).isZero();
        assertThat(said.text().lines()).containsExactly("vllm=" + engine.address(),
                "  ok       answers: vLLM 0.32.0, model smollm2-135m, started from smollm2-135m-instruct",
                "  ok       has a context of 2,048 tokens",
                "  ok       takes token ids and tells them",
                "  ok       reuses prefixes, by 80 blocks of 32 tokens",
                "  ok       tells again what it stored before, at " + events.source().replayEndpoint(),
                "  ok       tells what it stores, at " + events.source().endpoint(),
                "  ok       tells cached tokens: 32 of a prompt of 33 sent twice",
                "  ok       has the tokenizer of ../models/warmpath-tiny, as 38 tokens show");
    }

    @Test
    void each_flag_that_is_missing_is_named_and_all_at_once() {
        tellsCached = false;
        engine.answer("/kv_event_sources", TestEngine.json(200, "{}"));
        Said said = doctor();

        assertThat(said.status()).isEqualTo(1);
        assertThat(said.lines("missing")).singleElement().asString().contains("it publishes no events",
                "--kv-events-config '{\"enable_kv_cache_events\":true", "WARMPATH_ENGINE_EVENTS_ENDPOINT");
        assertThat(said.lines("warning")).hasSize(2).anyMatch(line -> line.contains("--enable-prompt-tokens-details"))
                .anyMatch(line -> line.contains("Give --model, the folder from which it was started"));
    }

    @Test
    void one_that_tells_no_ids_is_looked_at_all_the_same() {
        engine.answer("/v1/completions", Captures.answer("vllm-0.32/completions-ids"))
                .answer("/inference/v1/generate", Captures.answer("vllm-0.32/generate-without-enable-scale-out"));
        engine.answer("/metrics", TestEngine.json(200, "vllm:cache_config_info{block_size=\"32\",num_gpu_blocks=\"81\","
                + "enable_prefix_caching=\"False\"} 1\n"));
        engine.answer("/kv_event_sources", TestEngine.json(200, "{}"));
        Said said = doctor();

        assertThat(said.status()).isEqualTo(1);
        assertThat(said.lines("missing")).satisfiesExactly(
                ids -> assertThat(ids).contains("gives no token ids").endsWith(". Start it with --enable-scale-out"),
                prefixes -> assertThat(prefixes).contains("reuses no prefixes").endsWith("--enable-prefix-caching"),
                sockets -> assertThat(sockets).contains("it publishes no events"));
    }

    @Test
    void blocks_that_are_too_long_are_told() {
        engine.answer("/metrics", TestEngine.json(200, "vllm:cache_config_info{block_size=\"2048\","
                + "num_gpu_blocks=\"81\",enable_prefix_caching=\"True\"} 1\n"));
        Said said = doctor();

        assertThat(said.lines("missing")).singleElement().asString()
                .contains("blocks have 2048 tokens, and routers take at most 1024").contains("--block-size");
    }

    /** It counts no tokens, so that nothing is amiss that could be seen. */
    @Test
    void a_server_that_takes_text_only_is_tried_with_text_where_there_is_a_model_to_spell_by() {
        engine.answer("/v1/models", TestEngine.json(200, "{\"data\":[{\"id\":\"tiny\",\"owned_by\":\"me\"}]}"));
        engine.answer("/v1/completions", exchange -> (JSON.readTree(exchange.request().body()).path("prompt").isString()
                ? TestEngine.json(200, "{\"choices\":[{\"text\":\"a\",\"finish_reason\":\"length\"}]}")
                : TestEngine.json(500, "{\"error\":{\"message\":\"no ids\"}}")).write(exchange));
        Said alone = run("--engine", "openai=" + engine.address());
        assertThat(alone.status()).isEqualTo(1);
        assertThat(alone.lines("missing")).singleElement().asString().contains("no ids", "Give --model");

        Said said = run("--engine", "openai=" + engine.address(), "--model", TINY.toString());
        assertThat(said.lines("warning")).anyMatch(line -> line.contains("text only")
                && line.endsWith("WARMPATH_ENGINE_MAXINFLIGHT to 1"));
        assertThat(said.lines("missing")).singleElement().asString().contains("how long its context is. Set --context");
    }

    @Test
    void sockets_that_cannot_be_reached_are_told_by_their_addresses() {
        publishAt("tcp://*:1", "tcp://*:2");
        Said said = doctor();

        assertThat(said.lines("missing")).satisfiesExactly(
                live -> assertThat(live).contains("socket of events, tcp://127.0.0.1:1, cannot be reached from here"),
                replay -> assertThat(replay).contains("socket of replay, tcp://127.0.0.1:2, cannot be reached"));
    }

    @Test
    void one_that_keeps_nothing_to_be_told_again_is_asked_for_a_replay_endpoint() {
        engine.answer("/kv_event_sources", TestEngine.json(200, "{\"0\": {\"endpoint\": \""
                + events.source().endpoint() + "\", \"topic\": \"\"}}"));
        Said said = doctor();

        assertThat(said.lines("missing")).singleElement().asString()
                .contains("Give --kv-events-config a replay_endpoint");
        assertThat(said.lines("ok")).anyMatch(line -> line.endsWith("tells what it stores, at "
                + events.source().endpoint()));
    }

    @Test
    void sockets_on_which_nothing_comes_are_told() {
        publishes = false;
        Said said = run(Duration.ofMillis(100), "--engine", "vllm=" + engine.address());

        assertThat(said.status()).isEqualTo(1);
        assertThat(said.lines("missing")).satisfiesExactly(
                replay -> assertThat(replay).contains("nothing came from its replay socket, "
                        + events.source().replayEndpoint() + ". Is it this engine's"),
                live -> assertThat(live).contains("nothing came from its socket of events"));
    }

    @Test
    void a_folder_of_another_model_is_told_by_the_tokens_that_differ(@TempDir Path other)
            throws IOException {
        Files.copy(TINY.resolve("config.json"), other.resolve("config.json"));
        Files.writeString(other.resolve("tokenizer.json"), Files.readString(TINY.resolve("tokenizer.json"))
                .replace("<|assistant|>", "<|other|>").replace("<|pad|>", "<|more|>"));
        Said said = doctor("--model", other.toString());

        assertThat(said.status()).isEqualTo(1);
        assertThat(said.lines("missing")).singleElement().asString()
                .contains("another tokenizer than " + other, "token 2046 is '<|assistant|>' there and '<|other|>' here",
                        "token 2047 is '<|pad|>' there", "Set --model to the folder from which the engine was started");
    }

    @Test
    void who_does_not_tell_its_tokens_is_no_fault() {
        engine.answer("/detokenize", TestEngine.json(400, "{\"error\":{\"message\":\"Tokenizer not available\"}}"));
        Said said = doctor("--model", TINY.toString());

        assertThat(said.status()).isZero();
        assertThat(said.lines("warning")).singleElement().asString().contains("/detokenize answers 400");
    }

    @Test
    void several_engines_are_looked_at_one_after_the_other_and_one_that_is_away_is_told() {
        Said said = run("--engine", "openai=http://127.0.0.1:1", "--engine", "vllm=" + engine.address());

        assertThat(said.status()).isEqualTo(1);
        assertThat(said.text()).startsWith("openai=http://127.0.0.1:1" + System.lineSeparator()
                + "  missing  the engine at http://127.0.0.1:1 does not answer: there is no such host, or nobody "
                + "listens. ");
        assertThat(said.lines("ok")).hasSize(7);
    }

    @Test
    void several_models_are_told_and_what_says_which_one() {
        engine.answer("/v1/models", TestEngine.json(200, """
                {"data": [{"id": "embedder", "root": "e"}, {"id": "llama", "root": "l", "max_model_len": 4096}]}"""));

        assertThat(doctor().lines("missing")).singleElement().asString()
                .contains("serves several models, and WARMPATH_ENGINE_MODEL does not say which one is meant: embedder, "
                        + "llama");
        assertThat(doctor("--warmpath.engine.model=llama").status()).isZero();
    }

    @Test
    void wrong_arguments_are_a_sentence_and_another_status() {
        assertThat(run()).satisfies(said -> {
            assertThat(said.status()).isEqualTo(2);
            assertThat(said.text()).contains("doctor needs an engine to look at; it takes --engine KIND=URL");
        });
        assertThat(run("--engine", "http://127.0.0.1:8000").text()).contains("--engine takes KIND=URL");
        assertThat(run("--engine").text()).contains("--engine needs a value");
        assertThat(run("--gpu").text()).contains("doctor does not know '--gpu'");
        assertThat(run("--engine=vllm=http://127.0.0.1:1/v1").text())
                .contains("WARMPATH_ENGINE_URL cannot be used").contains("beside host and port");
        assertThat(run("--engine=vllm=http://127.0.0.1:1", "--warmpath.engine.modl=a"))
                .satisfies(said -> assertThat(said.status()).isEqualTo(1))
                .satisfies(said -> assertThat(said.text()).contains("WARMPATH_ENGINE_MODL"));
    }

    private Said doctor(String... more) {
        List<String> arguments = new ArrayList<>(List.of("--engine", "vllm=" + engine.address()));
        arguments.addAll(List.of(more));
        return run(arguments.toArray(String[]::new));
    }

    private static Said run(String... arguments) {
        return run(Duration.ofMinutes(10), arguments);
    }

    private static Said run(Duration patience, String... arguments) {
        var bytes = new ByteArrayOutputStream();
        var out = new PrintStream(bytes, /* autoFlush */ true, StandardCharsets.UTF_8);
        int status = DoctorCommand.run(List.of(arguments), patience, LauncherWords::of, out, out);
        return new Said(status, bytes.toString(StandardCharsets.UTF_8));
    }
}
