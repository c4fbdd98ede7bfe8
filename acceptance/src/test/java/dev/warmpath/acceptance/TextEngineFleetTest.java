package dev.warmpath.acceptance;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.process.TestEngine;
import dev.warmpath.tokenization.ModelFiles;
import dev.warmpath.tokenization.ModelTokenizer;
import dev.warmpath.tokenization.Spelling;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** A fleet whose only worker stands beside a server that takes and gives text, one request at a time. */
class TextEngineFleetTest {

    private static final JsonMapper JSON = JsonMapper.builder().build();
    private static final ModelTokenizer TOKENIZER = tokenizer();
    private static final Spelling SPELLING = new Spelling(TOKENIZER);
    /** Words that pieces split, characters of many bytes, and what looks like a marker. */
    private static final String ANSWER = "Größe: 日本 and " + TOKENIZER.eosToken() + " spelled 😀, done.\n";
    private static final int PIECE = 3;

    private final AtomicInteger atOnce = new AtomicInteger();
    private final AtomicInteger mostAtOnce = new AtomicInteger();

    private static ModelTokenizer tokenizer() {
        Path model = LocalFleet.ROOT.resolve("models/warmpath-tiny");
        try {
            return new ModelTokenizer(new ModelFiles(Files.readAllBytes(model.resolve("tokenizer.json")),
                    Files.readAllBytes(model.resolve("tokenizer_config.json")), null, null));
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    @Test
    void clients_get_its_text_to_the_byte_and_it_gets_one_prompt_at_a_time() throws Exception {
        try (TestEngine server = TestEngine.start()
                .answer("/v1/models", TestEngine.json(200, "{\"data\":[{\"id\":\"%s\",\"owned_by\":\"me\"}]}"
                        .formatted(LocalFleet.MODEL)))
                .answer("/v1/completions", this::complete);
                LocalFleet fleet = LocalFleet.start(1, 1, LocalFleet.patient(), List.of("--warmpath.engine.kind=openai",
                        "--warmpath.engine.url=" + server.address(), "--warmpath.engine.max-in-flight=1",
                        "--warmpath.model.context-length=512", "--warmpath.engine.poll-interval=100ms"));
                ExecutorService clients = Executors.newVirtualThreadPerTaskExecutor()) {
            List<Map<String, String>> question = List.of(Map.of("role", "user", "content", "What is a KV cache?"));
            assertThat(fleet.gateway().chat(question).text()).isEqualTo(ANSWER);
            String prompt = JSON.readTree(server.requests("/v1/completions").getLast().body()).path("prompt")
                    .stringValue();
            assertThat(SPELLING.countOf(prompt)).isGreaterThan(8);
            assertThat(prompt).contains("What is a KV cache?");
            List<String> events = fleet.gateway().streamChat(question);
            assertThat(events).endsWith("[DONE]");
            assertThat(contentOf(events)).isEqualTo(ANSWER);

            List<Future<String>> answers = new ArrayList<>();
            for (int i = 0; i < 4; i++) {
                Map<String, Object> body = body("Question " + i + ": why?");
                answers.add(clients.submit(() -> fleet.gateway().post("/v1/completions", body).text()));
            }
            for (Future<String> answer : answers) {
                assertThat(answer.get()).isEqualTo(ANSWER);
            }
            assertThat(mostAtOnce).hasValue(1);

            Map<String, Object> logprobs = new HashMap<>(body("Why?"));
            logprobs.put("logprobs", 1);
            assertThat(fleet.gateway().status("/v1/completions", logprobs)).as("no worker tells them").isEqualTo(503);
            String typed = "I write " + TOKENIZER.eosToken() + " myself";
            assertThat(fleet.gateway().status("/v1/chat/completions", Map.of("model", LocalFleet.MODEL, "messages",
                    List.of(Map.of("role", "user", "content", typed))))).as("text cannot tell it").isEqualTo(400);
        }
    }

    private static Map<String, Object> body(String prompt) {
        return Map.of("model", LocalFleet.MODEL, "prompt", prompt, "max_tokens", 100, "temperature", 0);
    }

    private void complete(TestEngine.Exchange exchange) throws IOException {
        JsonNode body = JSON.readTree(exchange.request().body());
        if (!body.path("prompt").isString()) {
            TestEngine.json(500, "{\"error\":{\"message\":\"Input should be a valid string\"}}").write(exchange);
        } else if (!body.path("stream").asBoolean(false)) {
            TestEngine.json(200, "{\"choices\":[{\"text\":\"a\",\"finish_reason\":\"length\"}],\"usage\":{"
                    + "\"prompt_tokens\":" + SPELLING.countOf(body.path("prompt").stringValue()) + "}}")
                    .write(exchange);
        } else {
            mostAtOnce.accumulateAndGet(atOnce.incrementAndGet(), Math::max);
            stream(exchange);
        }
    }

    private void stream(TestEngine.Exchange exchange) throws IOException {
        exchange.begin();
        int[] characters = ANSWER.codePoints().toArray();
        for (int at = 0; at < characters.length; at += PIECE) {
            exchange.data(choice(new String(characters, at, Math.min(PIECE, characters.length - at)), null));
        }
        atOnce.decrementAndGet();
        exchange.data(choice("", "stop"));
        exchange.data("[DONE]");
        exchange.end();
    }

    private static String choice(String text, String end) {
        return JSON.writeValueAsString(JSON.createObjectNode().set("choices", JSON.createArrayNode().add(
                JSON.createObjectNode().put("text", text).put("finish_reason", end))));
    }

    private static String contentOf(List<String> events) {
        return events.stream().filter(event -> event.startsWith("{")).map(JSON::readTree)
                .map(event -> event.path("choices").path(0).path("delta").path("content").asString(""))
                .collect(Collectors.joining());
    }
}
