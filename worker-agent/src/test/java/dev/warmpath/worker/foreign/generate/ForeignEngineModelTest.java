package dev.warmpath.worker.foreign.generate;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.process.TestEngine;
import dev.warmpath.process.TestEngine.Exchange;
import dev.warmpath.protocol.generate.FailureReason;
import dev.warmpath.protocol.generate.FinishReason;
import dev.warmpath.protocol.generate.GenerateRequest;
import dev.warmpath.protocol.generate.SamplingParameters;
import dev.warmpath.protocol.generate.StopConditions;
import dev.warmpath.worker.engine.RefusedException;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Many generations at a server that answers well or breaks by chance, some of them cancelled or stopped. */
class ForeignEngineModelTest {

    private static final int GENERATIONS = 300;
    private static final int MOST_TOKENS = 60;

    /** What becomes of an answer, drawn for each; the first token says which. */
    private enum Fate { WELL, WELL_WITHOUT_USAGE, ERROR, DONE_TOO_EARLY, CUT, HUNG_UP, ENDLESS }

    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4})
    void every_generation_ends_once_with_tokens_in_order_and_nothing_stays_behind(long seed) {
        var fates = new SplittableRandom(seed);
        try (TestEngine server = TestEngine.start()
                .answer(Completions.PATH, exchange -> answer(exchange, split(fates)));
                ForeignEngine engine = new ForeignEngine(EngineLink.to(server.address()).withMostGenerations(40),
                        new FoundEngine(new EngineFacts(EngineKind.VLLM, null, "m", null, 4_096, null, 0, Map.of()),
                                new Completions("m", true)), 0, 0, () -> 1, _ -> 0, () -> { },
                        () -> { }, () -> { })) {
            run(engine, new SplittableRandom(seed + 100));
        }
    }

    private static SplittableRandom split(SplittableRandom random) {
        synchronized (random) {
            return random.split();
        }
    }

    /** One that was taken, and what is to happen to it. */
    private record Alive(Heard heard, ForeignGeneration generation, boolean cancelled, boolean stopped) {}

    private static void run(ForeignEngine engine, SplittableRandom random) {
        List<Alive> all = new ArrayList<>();
        var refused = new AtomicInteger();
        while (all.size() < GENERATIONS) {
            var heard = new Heard();
            try {
                ForeignGeneration generation = engine.submit(GenerateRequest.of("r", IntStream.range(0, 50).toArray(),
                        SamplingParameters.GREEDY, StopConditions.maxTokens(MOST_TOKENS)), List.of(heard)).getFirst();
                int choice = random.nextInt(4);
                all.add(new Alive(heard, generation, choice == 0, choice != 0));
                if (choice == 0) {
                    engine.cancel(generation);
                } else if (choice == 1) {
                    engine.stop(generation);
                }
            } catch (RefusedException full) {
                assertThat(full.reason()).isEqualTo(FailureReason.QUEUE_FULL);
                refused.incrementAndGet();
                all.stream().filter(Alive::stopped).forEach(each -> engine.stop(each.generation()));   // makes room
            }
        }
        all.stream().filter(Alive::stopped).forEach(each -> engine.stop(each.generation()));
        for (Alive each : all) {
            if (each.cancelled()) {
                each.heard().awaitTimes();
            } else {
                each.heard().awaitEnd();
            }
            check(each);
        }
        assertThat(engine.load().load().running() + engine.load().load().waiting()).isZero();
        long ended = engine.counts().cancelled();
        for (FinishReason reason : FinishReason.values()) {
            ended += engine.counts().finished(reason);
        }
        for (FailureReason reason : FailureReason.values()) {
            ended += engine.counts().failed(reason);
        }
        assertThat(ended).isEqualTo(GENERATIONS);
        assertThat(engine.counts().refused(FailureReason.QUEUE_FULL)).isEqualTo(refused.get());
    }

    private static void check(Alive each) {
        int[] ids = each.heard().ids();
        assertThat(IntStream.range(1, ids.length).allMatch(i -> ids[i] == i)).as(each.heard().toString()).isTrue();
        if (each.heard().finished != null) {
            assertThat(each.heard().usage.completionTokens()).isEqualTo(ids.length);
        }
        if (each.heard().failed != null) {
            assertThat(each.heard().failed).isIn(FailureReason.ENGINE_FAILURE, FailureReason.INVALID_REQUEST);
            assertThat(ids.length == 0 || Fate.values()[ids[0]].ordinal() >= Fate.ERROR.ordinal())
                    .as(each.heard().toString()).isTrue();
        }
    }

    private static void answer(Exchange exchange, SplittableRandom random) throws IOException {
        Fate fate = Fate.values()[random.nextInt(Fate.values().length)];
        int tokens = 1 + random.nextInt(MOST_TOKENS);
        if (fate == Fate.HUNG_UP && random.nextBoolean()) {
            exchange.hangUp();
            return;
        }
        exchange.begin();
        for (int sent = 0; sent < tokens;) {
            int more = Math.min(tokens - sent, 1 + random.nextInt(4));
            boolean isLast = sent + more == tokens;
            boolean ends = isLast && fate.ordinal() <= Fate.WELL_WITHOUT_USAGE.ordinal();
            var ids = new StringBuilder();
            for (int i = sent; i < sent + more; i++) {
                ids.append(i == sent ? "" : ",").append(i == 0 ? fate.ordinal() : i);
            }
            String event = "data: {\"choices\":[{\"index\":0,\"text\":\"x\",\"token_ids\":[" + ids + "],"
                    + "\"finish_reason\":" + (ends ? "\"length\"" : "null") + "}]}\n\n";
            int cut = random.nextInt(event.length());
            exchange.chunk(event.substring(0, cut));
            exchange.chunk(event.substring(cut));
            sent += more;
        }
        switch (fate) {
            case WELL -> {
                exchange.data("{\"choices\":[],\"usage\":{\"prompt_tokens\":50,\"prompt_tokens_details\":"
                        + "{\"cached_tokens\":16}}}");
                exchange.data("[DONE]");
                exchange.end();
            }
            case WELL_WITHOUT_USAGE -> exchange.end();
            case ERROR -> {
                int code = random.nextBoolean() ? 400 : 500;
                exchange.data("{\"error\": {\"message\": \"m\", \"code\": " + code + "}}");
                exchange.data("[DONE]");
                exchange.end();
            }
            case DONE_TOO_EARLY -> {
                exchange.data("[DONE]");
                exchange.end();
            }
            case CUT -> exchange.end();
            case HUNG_UP -> exchange.hangUp();
            case ENDLESS -> exchange.awaitHangUp();
        }
    }
}
