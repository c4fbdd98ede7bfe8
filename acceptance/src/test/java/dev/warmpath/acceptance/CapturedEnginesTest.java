package dev.warmpath.acceptance;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.process.SharedFiles;
import dev.warmpath.process.TestEngine;
import dev.warmpath.worker.foreign.event.HeldPrompts;
import dev.warmpath.worker.foreign.event.Messages;
import dev.warmpath.worker.foreign.generate.Captures;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * A router and workers beside engines that say again what was captured of real ones, with faults: what users get, and
 * whether routers predict what the engines' events say is held.
 */
class CapturedEnginesTest {

    private static final String VLLM_32 = "beside-vllm-32";
    private static final String VLLM_20 = "beside-vllm-20";
    private static final String SGLANG = "beside-sglang";
    private static final List<byte[]> MAPS = payloads("vllm-0.32-int");
    private static final List<byte[]> BYTES = payloads("vllm-0.32-bytes-over-restart");
    private static final List<byte[]> ARRAYS = payloads("vllm-0.20-bytes");
    private static final List<byte[]> PAGES = payloads("sglang-0.5");

    private static final CapturedEngine VLLM_32_ENGINE = CapturedEngine.vllm32();
    private static final CapturedEngine VLLM_20_ENGINE = CapturedEngine.vllm20();
    private static final CapturedEngine SGLANG_ENGINE = CapturedEngine.sglang();

    @TempDir
    static Path model;

    private static LocalFleet fleet;

    /** The tokens of the captures need a larger vocabulary than the tokenizer has, whose text does not matter here. */
    @BeforeAll
    static void start() throws IOException {
        for (String name : List.of("tokenizer.json", "tokenizer_config.json")) {
            Files.copy(LocalFleet.ROOT.resolve("models").resolve(LocalFleet.MODEL).resolve(name), model.resolve(name));
        }
        Files.writeString(model.resolve("config.json"), """
                {"model_type": "of another engine", "vocab_size": 49152}""");
        VLLM_20_ENGINE.lose(ARRAYS.get(0));                         // before the worker is there
        VLLM_20_ENGINE.lose(ARRAYS.get(1));
        fleet = LocalFleet.start(1, 0, LocalFleet.patient(), List.of(), model);
        fleet.addWorker(VLLM_32_ENGINE.settings(VLLM_32));
        fleet.addWorker(VLLM_20_ENGINE.settings(VLLM_20));
        fleet.addWorker(SGLANG_ENGINE.settings(SGLANG));
        Await.until("all workers are ready", () -> {
            assertThat(IntStream.rangeClosed(1, 3).allMatch(number -> fleet.workerProcess(number).isAlive())).isTrue();
            return fleet.gateway().readyWorkers().size() == 3;
        });
    }

    @AfterAll
    static void close() {
        if (fleet != null) {
            fleet.close();
        }
        VLLM_32_ENGINE.close();
        VLLM_20_ENGINE.close();
        SGLANG_ENGINE.close();
    }

    @Test
    void a_gap_is_mended_one_that_is_too_old_forgets_and_an_engine_that_counts_from_0_has_nothing() {
        CapturedEngine engine = VLLM_32_ENGINE;
        engine.restartPublisher();
        engine.publish(MAPS.get(0));
        engine.publish(MAPS.get(1));
        awaitPredictions(VLLM_32, engine, 4);
        assertThat(explain(VLLM_32, Captures.PROMPT).path("index_grade").asString()).isEqualTo("exact");

        engine.lose(BYTES.get(0));                                 // of another kind of hash than those before
        engine.publish(BYTES.get(1));
        awaitPredictions(VLLM_32, engine, 4 + 2 + 2);

        engine.keepOnly(1);
        engine.lose(MAPS.get(1));
        engine.publish(BYTES.get(0));
        engine.held().forget();
        engine.held().apply(BYTES.get(0));
        awaitPredictions(VLLM_32, engine, 2);

        engine.restartPublisher();
        awaitPredictions(VLLM_32, engine, 0);
        engine.publish(BYTES.get(2));
        awaitPredictions(VLLM_32, engine, 2);
    }

    /** 37 batches of a cache of 80 blocks, which evicts blocks leaf up, is cleared, and stores again what it lost. */
    @Test
    void all_that_was_captured_of_a_cache_that_evicts_is_predicted() throws IOException {
        CapturedEngine engine = VLLM_32_ENGINE;
        Path file = SharedFiles.find("engines").resolve("vllm-0.32/cbor-int/events.jsonl");
        List<byte[]> batches = Files.readAllLines(file).stream().map(JsonMapper.shared()::readTree)
                .map(line -> HexFormat.of().parseHex(line.path("frames").path(2).asString())).toList();
        assertThat(batches).hasSize(37);

        engine.restartPublisher();
        batches.subList(0, 14).forEach(engine::publish);            // six prompts of 600 tokens have pushed others out
        awaitPredictions(VLLM_32, engine, 79);
        batches.subList(14, 37).forEach(engine::publish);           // and of 78 blocks one is of a prompt with a salt
        awaitPredictions(VLLM_32, engine, 77);
    }

    /** As vLLM counts its blocks at each start: 81 and then 161, the one that is never given out among them. */
    @Test
    void an_engine_that_comes_back_with_more_blocks_is_taken_for_what_it_is_by_the_same_process() {
        CapturedEngine engine = VLLM_32_ENGINE;
        ProcessHandle process = fleet.workerProcess(1);
        assertThat(blockCount(VLLM_32)).isEqualTo(80);
        engine.publish(MAPS.get(0));

        engine.restartPublisher();
        engine.http().answer("/metrics", TestEngine.json(200, Captures.body("vllm-0.32/metrics-before")
                .replaceAll("process_start_time_seconds \\S+", "process_start_time_seconds 1.79536549999e+09")
                .replace("num_gpu_blocks=\"81\"", "num_gpu_blocks=\"161\"")));
        Await.until("it is registered anew", () -> blockCount(VLLM_32) == 160);
        awaitPredictions(VLLM_32, engine, 0);
        engine.publish(MAPS.get(0));
        awaitPredictions(VLLM_32, engine, 2);
        assertThat(process.isAlive()).isTrue();

        engine.restartPublisher();
        engine.http().answer("/metrics", Captures.page("vllm-0.32/metrics-before"));
        Await.until("and once more", () -> blockCount(VLLM_32) == 80);
        assertThat(process.isAlive()).isTrue();
        Await.until("it is ready", () -> fleet.gateway().readyWorkers().contains(VLLM_32));
        assertThat(complete(VLLM_32).status()).isEqualTo(200);
    }

    @Test
    void an_answer_is_the_engines_however_it_comes_and_one_that_breaks_off_is_an_error() {
        TestEngine http = VLLM_32_ENGINE.http();
        String stream = CapturedEngine.COMPLETIONS_STREAM;
        Gateway.Answer whole = complete(VLLM_32);
        assertThat(whole.status()).as(whole.body().toPrettyString()).isEqualTo(200);
        assertThat(ids(whole)).isNotEmpty();
        assertThat(whole.body().path("choices").path(0).path("finish_reason").asString()).isEqualTo("length");
        assertThat(whole.promptTokens()).isEqualTo(40);
        assertThat(whole.completionTokens()).isEqualTo(ids(whole).length);

        http.answer("/v1/completions", Captures.inPieces(stream, /* bytes */ 7));
        assertThat(ids(complete(VLLM_32))).isEqualTo(ids(whole));

        http.answer("/v1/completions", Captures.beginning(stream, /* bytes */ 900));
        assertThat(complete(VLLM_32).status()).as("the engine died").isBetween(500, 599);
        http.answer("/v1/completions", Captures.answer("vllm-0.32/completions-engine-killed"));
        assertThat(complete(VLLM_32).status()).as("it says so itself").isBetween(500, 599);
        http.answer("/v1/completions", CapturedEngine.completions());
        assertThat(ids(complete(VLLM_32))).isEqualTo(ids(whole));
    }

    @Test
    void a_worker_is_not_ready_while_its_engine_is_not_well() {
        VLLM_20_ENGINE.http().answer("/health", TestEngine.json(503, ""));
        Await.until("it is out of service", () -> !fleet.gateway().readyWorkers().contains(VLLM_20));
        assertThat(complete(VLLM_20).status()).isBetween(500, 599);
        VLLM_20_ENGINE.http().answer("/health", Captures.answer("vllm-0.32/health"));
        Await.until("it is back", () -> fleet.gateway().readyWorkers().contains(VLLM_20));
    }

    @Test
    void a_release_of_arrays_is_known_from_before_its_worker_came_and_followed() {
        CapturedEngine engine = VLLM_20_ENGINE;
        awaitPredictions(VLLM_20, engine, 4);
        engine.publish(ARRAYS.get(2));                              // with a salt
        awaitPredictions(VLLM_20, engine, 4);
        engine.lose(ARRAYS.get(3));                                 // all is cleared, and two blocks stored
        engine.publish(ARRAYS.get(2));
        awaitPredictions(VLLM_20, engine, 2);
    }

    @Test
    void the_older_token_endpoint_streams_answers_and_errors() {
        TestEngine http = VLLM_20_ENGINE.http();
        Gateway.Answer answer = complete(VLLM_20);
        assertThat(answer.status()).as(answer.body().toPrettyString()).isEqualTo(200);
        assertThat(ids(answer)).containsExactly(30, 198, 198, 504);
        assertThat(answer.body().path("choices").path(0).path("finish_reason").asString()).isEqualTo("length");
        assertThat(answer.cachedTokens()).isEqualTo(32);
        assertThat(answer.completionTokens()).isEqualTo(4);

        http.answer("/inference/v1/generate", Captures.answer("vllm-0.32/generate-stream-engine-killed"));
        assertThat(complete(VLLM_20).status()).as("an error in an answer of 200").isBetween(500, 599);
        http.answer("/inference/v1/generate", Captures.answer("vllm-0.20/error-generate-prompt-too-long"));
        assertThat(complete(VLLM_20).status()).isGreaterThanOrEqualTo(400);
        http.answer("/inference/v1/generate", CapturedEngine.tokens());
        assertThat(ids(complete(VLLM_20))).containsExactly(30, 198, 198, 504);
    }

    @Test
    void an_sglangs_pages_are_held_until_they_are_removed_and_its_tokens_are_told() {
        CapturedEngine engine = SGLANG_ENGINE;
        PAGES.subList(0, 4).forEach(engine::publish);
        awaitPredictions(SGLANG, engine, 4);
        PAGES.subList(4, 6).forEach(engine::publish);
        awaitPredictions(SGLANG, engine, 2);
        PAGES.subList(6, 8).forEach(engine::publish);
        awaitPredictions(SGLANG, engine, 1);

        List<String> pieces = List.of(page("5", "null", 1), page("5,6", "null", 2),
                page("5,6,2", "{\"type\":\"length\",\"length\":3}", 3), "[DONE]");
        engine.http().answer("/generate", TestEngine.stream(pieces));
        Gateway.Answer answer = complete(SGLANG);
        assertThat(answer.status()).as(answer.body().toPrettyString()).isEqualTo(200);
        assertThat(ids(answer)).containsExactly(5, 6, 2);
        assertThat(answer.cachedTokens()).isEqualTo(16);
    }

    @Test
    void a_server_that_takes_neither_ids_nor_text_ends_its_worker_at_the_start() {
        try (TestEngine server = Captures.llamaCppPython()) {
            fleet.addWorker("--warmpath.worker.id=beside-text", "--warmpath.engine.kind=openai",
                    "--warmpath.engine.url=" + server.address());
            ProcessHandle worker = fleet.workerProcess(4);
            Await.until("it has ended", () -> !worker.isAlive());
            assertThat(server.requests("/v1/completions").stream().map(TestEngine.Request::body))
                    .satisfiesExactly(ids -> assertThat(ids).contains("\"prompt\":[0]"),
                            text -> assertThat(text).contains("\"prompt\":\""));
        }
    }

    /** Until what the router predicts of every prompt that the events ever told of is what they say is held. */
    private static void awaitPredictions(String worker, CapturedEngine engine, int heldBlocks) {
        List<HeldPrompts.Prompt> prompts = engine.held().all();
        assertThat(prompts).isNotEmpty();
        assertThat(prompts.stream().filter(prompt -> prompt.heldBlocks() * blockSize(worker) == prompt.tokens().length))
                .as("by the events").hasSize(heldBlocks);
        Await.until("predictions of " + worker + " are as its engine's events", () -> prompts.stream()
                .allMatch(prompt -> matchedBlocks(worker, prompt.tokens()) == prompt.heldBlocks()));
    }

    /** Of a prompt that has one token more: the last one of any prompt is computed anew. */
    private static int matchedBlocks(String worker, int[] tokens) {
        return explain(worker, Arrays.copyOf(tokens, tokens.length + 1)).path("matched_blocks").asInt(-1);
    }

    private static int blockSize(String worker) {
        return worker.equals(SGLANG) ? 16 : 32;
    }

    private static JsonNode explain(String model, int[] prompt) {
        return fleet.gateway().explain(Map.of("model", model, "prompt", prompt));
    }

    private static int blockCount(String model) {
        return explain(model, Captures.PROMPT).path("candidates").path(0).path("block_count").asInt(0);
    }

    private static Gateway.Answer complete(String model) {
        return fleet.gateway().post("/v1/completions", Map.of("model", model, "prompt", Captures.PROMPT,
                "max_tokens", 64, "temperature", 0, "return_token_ids", true));
    }

    private static int[] ids(Gateway.Answer answer) {
        return answer.body().path("choices").path(0).path("token_ids").valueStream().mapToInt(JsonNode::asInt)
                .toArray();
    }

    private static String page(String ids, String end, int count) {
        return "{\"text\":\"x\",\"output_ids\":[" + ids + "],\"meta_info\":{\"id\":\"i\",\"finish_reason\":" + end
                + ",\"prompt_tokens\":40,\"completion_tokens\":" + count + ",\"cached_tokens\":16}}";
    }

    private static List<byte[]> payloads(String capture) {
        return Messages.of(capture).stream().map(Messages.Message::payload).toList();
    }
}
