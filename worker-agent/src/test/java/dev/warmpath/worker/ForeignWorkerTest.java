package dev.warmpath.worker;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.process.TestEngine;
import dev.warmpath.protocol.fleet.Protocol;
import dev.warmpath.protocol.fleet.Registration;
import dev.warmpath.protocol.generate.FinishReason;
import dev.warmpath.protocol.generate.GenerateEvent;
import dev.warmpath.protocol.generate.GenerateRequest;
import dev.warmpath.protocol.generate.SamplingParameters;
import dev.warmpath.protocol.generate.StopConditions;
import dev.warmpath.worker.foreign.event.EventSource;
import dev.warmpath.worker.foreign.event.Messages;
import dev.warmpath.worker.foreign.event.PublishingEngine;
import dev.warmpath.worker.foreign.generate.Captures;
import dev.warmpath.worker.routerlink.KvEventPublisher;
import dev.warmpath.worker.routerlink.ModelFiles;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.boot.test.context.SpringBootTest.WebEnvironment;
import org.springframework.boot.test.web.server.LocalManagementPort;
import org.springframework.boot.test.web.server.LocalServerPort;
import org.springframework.http.HttpMethod;
import org.springframework.http.MediaType;
import org.springframework.test.context.DynamicPropertyRegistry;
import org.springframework.test.context.DynamicPropertySource;
import org.springframework.web.reactive.function.client.WebClient;

/** A whole worker over HTTP beside an engine that says what a vLLM of 0.32 has said; no router, a fleet token. */
@SpringBootTest(webEnvironment = WebEnvironment.RANDOM_PORT, properties = {
    "warmpath.worker.id=w", "warmpath.worker.base-url=http://127.0.0.1:1", "warmpath.engine.kind=vllm",
    "warmpath.routerlink.token=secret", "management.server.port=0"})
class ForeignWorkerTest {

    private static final Duration TIMEOUT = Duration.ofMinutes(1);
    private static final TestEngine ENGINE = Captures.vllm32();
    private static final PublishingEngine EVENTS = new PublishingEngine(100, /* answersHaveTopic */ true);

    @TempDir
    static Path model;

    @Autowired
    Registration registration;

    @Autowired
    KvEventPublisher publisher;

    @Autowired
    ModelFiles files;

    @LocalServerPort
    int port;

    @LocalManagementPort
    int managementPort;

    /** A folder without weights, of a vocabulary in which the captured tokens are. */
    @DynamicPropertySource
    static void engine(DynamicPropertyRegistry properties) throws IOException {
        for (String name : List.of("tokenizer.json", "tokenizer_config.json")) {
            Files.copy(Path.of("../models/warmpath-tiny").resolve(name), model.resolve(name));
        }
        Files.writeString(model.resolve("config.json"), """
                {"model_type": "of another engine", "vocab_size": 49152}""");
        EventSource source = EVENTS.source();
        ENGINE.answer("/v1/completions", Captures.answer("vllm-0.32/completions-ids-return-token-ids"))
                .answer("/kv_event_sources", TestEngine.json(200, """
                        {"0": {"endpoint": "%s", "replay_endpoint": "%s", "topic": ""}}"""
                        .formatted(source.endpoint().replace("127.0.0.1", "*"),
                                source.replayEndpoint().replace("127.0.0.1", "*"))));
        properties.add("warmpath.engine.url", ENGINE::address);
        properties.add("warmpath.model.directory", () -> model);
    }

    @AfterAll
    static void close() {
        EVENTS.close();
        ENGINE.close();
    }

    @Test
    void routers_are_told_of_the_engines_blocks_context_and_model() {
        assertThat(registration.blockCount()).isEqualTo(80);
        assertThat(registration.prefixClosed()).isTrue();
        assertThat(registration.assumed()).isFalse();
        assertThat(registration.model().name()).isEqualTo("smollm2-135m");
        assertThat(registration.model().contextLength()).isEqualTo(2_048);
        assertThat(registration.model().vocabularySize()).isEqualTo(49_152);
        assertThat(registration.model().parts().blockSize()).isEqualTo(32);
        assertThat(registration.model().parts().hashSeed()).isEqualTo("0");
        assertThat(files.description()).isEqualTo(registration.model());
    }

    @Test
    void tokens_of_the_engine_come_as_ndjson_with_its_usage() {
        ENGINE.answer("/v1/completions", Captures.answer("vllm-0.32/completions-ids-stream-return-token-ids-usage"));

        List<GenerateEvent> events = WebClient.create("http://127.0.0.1:" + port).post()
                .uri(Protocol.GENERATE_PATH).headers(headers -> headers.setBearerAuth("secret"))
                .contentType(MediaType.APPLICATION_JSON).bodyValue(GenerateRequest.of("r", Captures.PROMPT,
                        SamplingParameters.GREEDY, StopConditions.pastTheEnd(8)))
                .retrieve().bodyToFlux(GenerateEvent.class).collectList().block(TIMEOUT);

        assertThat(events).hasSizeGreaterThan(1);
        assertThat(events.getLast()).isInstanceOfSatisfying(GenerateEvent.Finished.class, finished -> {
            assertThat(finished.reason()).isEqualTo(FinishReason.LENGTH);
            assertThat(finished.usage().promptTokens()).isEqualTo(40);
            assertThat(finished.usage().completionTokens()).isEqualTo(events.stream()
                    .filter(GenerateEvent.Tokens.class::isInstance)
                    .mapToInt(event -> ((GenerateEvent.Tokens) event).ids().length).sum());
        });
        assertThat(metrics()).contains("warmpath_foreign_outcomes_total{outcome=\"finished\",reason=\"length\"} 1.0",
                "warmpath_foreign_answers 1.0");
    }

    /** Two blocks of a prompt of 70 tokens, as the first capture has them. */
    @Test
    void what_the_engine_stores_is_announced() {
        EVENTS.publish(Messages.of("vllm-0.32-int").getFirst().payload());

        long deadline = System.nanoTime() + TIMEOUT.toNanos();
        while (publisher.state().setSize() < 2 && System.nanoTime() - deadline < 0) {
            Thread.onSpinWait();
        }
        assertThat(publisher.state().setSize()).isEqualTo(2);
        assertThat(metrics()).contains("warmpath_foreign_events_announced_blocks 2.0",
                "warmpath_foreign_events_total{kind=\"batch\"} 1.0",
                "warmpath_foreign_events_following{kind=\"vllm\"} 1.0");
    }

    @Test
    void of_a_pool_that_the_engine_keeps_to_itself_nothing_is_shown_or_stepped() {
        WebClient worker = WebClient.builder().baseUrl("http://127.0.0.1:" + port)
                .defaultHeaders(headers -> headers.setBearerAuth("secret")).build();
        for (String asked : List.of("GET " + Protocol.POOL_PATH + "?epoch=1", "GET " + Protocol.POOL_BLOCKS_PATH + "1",
                "GET " + Protocol.POOL_REQUESTS_PATH + "a%2Fb", "PUT " + Protocol.POOL_HOLD_PATH,
                "DELETE " + Protocol.POOL_HOLD_PATH, "POST " + Protocol.POOL_STEP_PATH)) {
            String[] parts = asked.split(" ");
            String answer = worker.method(HttpMethod.valueOf(parts[0]))
                    .uri(URI.create("http://127.0.0.1:" + port + parts[1]))
                    .exchangeToMono(response -> response.bodyToMono(String.class)
                            .map(body -> response.statusCode().value() + " " + body))
                    .block(TIMEOUT);
            assertThat(answer).as(asked).startsWith("404 ").contains("this worker keeps no pool of its own");
        }
    }

    @Test
    void every_meter_that_alerts_and_dashboards_ask_for_is_there() throws IOException {
        List<String> asked = new ArrayList<>();
        for (String file : List.of("rules/warmpath.yaml", "dashboards/workers.json")) {
            Pattern.compile("warmpath_foreign_\\w+").matcher(Files.readString(Path.of("../helm/warmpath/files", file)))
                    .results().map(MatchResult::group).forEach(asked::add);
        }
        String metrics = metrics();

        assertThat(asked).hasSizeGreaterThan(8).allSatisfy(meter -> assertThat(metrics).contains("\n" + meter));
    }

    private String metrics() {
        return WebClient.create("http://127.0.0.1:" + managementPort).get().uri("/actuator/prometheus").retrieve()
                .bodyToMono(String.class).block(TIMEOUT);
    }
}
