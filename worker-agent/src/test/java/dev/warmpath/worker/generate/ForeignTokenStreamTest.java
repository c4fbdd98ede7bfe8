package dev.warmpath.worker.generate;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.process.TestEngine;
import dev.warmpath.protocol.generate.FinishReason;
import dev.warmpath.protocol.generate.GenerateEvent;
import dev.warmpath.protocol.generate.GenerateEvent.Finished;
import dev.warmpath.protocol.generate.GenerateEvent.Tokens;
import dev.warmpath.protocol.generate.GenerateEvent.Usage;
import dev.warmpath.protocol.generate.GenerateRequest;
import dev.warmpath.protocol.generate.SamplingParameters;
import dev.warmpath.protocol.generate.StopConditions;
import dev.warmpath.worker.foreign.generate.EngineKind;
import dev.warmpath.worker.foreign.generate.EngineLink;
import dev.warmpath.worker.foreign.generate.EngineProbe;
import dev.warmpath.worker.foreign.generate.ForeignEngine;
import dev.warmpath.worker.foreign.generate.ForeignGeneration;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** The bridge to the network with a foreign engine's event loop in the place of our engine's thread. */
class ForeignTokenStreamTest {

    private static final Duration TIMEOUT = Duration.ofMinutes(10);

    @Test
    void each_of_many_streams_gets_its_tokens_and_its_end() throws Exception {
        String token = "{\"choices\":[{\"index\":0,\"text\":\"x\",\"token_ids\":[%d],\"finish_reason\":%s}]}";
        List<String> events = IntStream.range(0, 50)
                .mapToObj(i -> token.formatted(i, i == 49 ? "\"length\"" : "null")).toList();
        try (TestEngine server = TestEngine.start()
                .answer("/v1/models", TestEngine.json(200, "{\"data\":[{\"id\":\"m\",\"max_model_len\":2048}]}"))
                .answer("/v1/completions", TestEngine.json(200, token.formatted(1, "null")),
                        TestEngine.stream(events))) {
            EngineLink link = EngineLink.to(server.address());
            var outbox = new Outbox();
            try (var engine = new ForeignEngine(link, EngineProbe.connect(link, EngineKind.VLLM), 0, 0, () -> 1, _ -> 0,
                    outbox::send, () -> { }, () -> { })) {
                List<CompletableFuture<List<GenerateEvent>>> answers = IntStream.range(0, 30)
                        .mapToObj(_ -> answer(engine, new TokenStream(outbox.lane(), 2, false, null))).toList();
                for (CompletableFuture<List<GenerateEvent>> answer : answers) {
                    check(answer.get(TIMEOUT.toMinutes(), TimeUnit.MINUTES));
                }
            }
        }
    }

    private static CompletableFuture<List<GenerateEvent>> answer(ForeignEngine engine, TokenStream stream) {
        List<ForeignGeneration> choices = engine.submit(GenerateRequest.of("r", new int[] {1, 2},
                SamplingParameters.GREEDY, StopConditions.maxTokens(50)).withChoices(2),
                List.copyOf(stream.listeners()));
        return stream.events(() -> choices.forEach(engine::cancel)).collectList().toFuture();
    }

    private static void check(List<GenerateEvent> answer) {
        for (int choice = 0; choice < 2; choice++) {
            int index = choice;
            assertThat(answer.stream().filter(event -> event instanceof Tokens tokens && tokens.index() == index)
                    .flatMapToInt(event -> IntStream.of(((Tokens) event).ids())))
                    .containsExactlyElementsOf(IntStream.range(0, 50).boxed().toList());
            assertThat(answer).contains(new Finished(choice, FinishReason.LENGTH, new Usage(2, 0, 50)));
        }
    }
}
