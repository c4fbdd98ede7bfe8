package dev.warmpath.worker.foreign.generate;

import static dev.warmpath.protocol.generate.StopConditions.maxTokens;
import static dev.warmpath.protocol.generate.StopConditions.pastTheEnd;
import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.process.VllmServer;
import dev.warmpath.protocol.generate.FinishReason;
import dev.warmpath.protocol.generate.GenerateEvent.Usage;
import dev.warmpath.protocol.generate.GenerateRequest;
import dev.warmpath.protocol.generate.LogitRules;
import dev.warmpath.protocol.generate.SamplingParameters;
import dev.warmpath.protocol.generate.StopConditions;
import dev.warmpath.worker.engine.GenerationListener;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.BooleanSupplier;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Against a vLLM that runs, with few blocks. */
@Tag("full")
class RealVllmTest {

    private static final Duration LONGEST = Duration.ofMinutes(10);
    private static final int BLOCKS = 80;

    private static @Nullable VllmServer server;
    private ForeignEngine engine;

    @BeforeAll
    static void start() throws InterruptedException {
        server = VllmServer.start(BLOCKS).awaitReady();
    }

    @AfterAll
    static void stop() {
        if (server != null) {
            server.close();
        }
    }

    @BeforeEach
    void connect() throws Exception {
        EngineLink link = EngineLink.to(server.uri());
        FoundEngine found = EngineProbe.connect(link, EngineKind.VLLM);
        engine = new ForeignEngine(link, found, 0, 49_152, () -> 1, _ -> 0, () -> { }, () -> { }, () -> { }).start();
    }

    @AfterEach
    void close() {
        engine.close();
    }

    @Test
    void greedy_tokens_are_the_same_with_scores_and_without_and_the_second_time_most_of_the_prompt_is_cached() {
        int[] prompt = fresh(200);
        Heard plain = ask(GenerateRequest.of("r", prompt, SamplingParameters.GREEDY, pastTheEnd(20))).awaitEnd();
        Heard scored = ask(GenerateRequest.of("r", prompt, SamplingParameters.GREEDY, pastTheEnd(20))
                .withLogprobs(true, false, 3)).awaitEnd();
        assertThat(plain.ids()).hasSize(20).isEqualTo(scored.ids());
        assertThat(plain.finished).isEqualTo(FinishReason.LENGTH);
        assertThat(plain.usage).isEqualTo(new Usage(200, 0, 20));
        assertThat(scored.usage.cachedTokens()).isGreaterThan(100);
        assertThat(scored.scores).hasSize(20);
        for (int i = 0; i < 20; i++) {
            assertThat(scored.scores.get(i)).contains(": " + scored.ids()[i] + " ");
        }
    }

    @Test
    void a_stop_token_is_the_last_and_draws_repeat_by_their_seed_choice_by_choice() {
        int[] prompt = fresh(40);
        var sampling = new SamplingParameters(1f, 0, 1f, 30);
        List<Heard> choices = askAll(GenerateRequest.of("r", prompt, sampling, pastTheEnd(12)).withChoices(3));
        for (int choice = 0; choice < 3; choice++) {
            Heard alone = ask(GenerateRequest.of("r", prompt, sampling.withSeed(30 + choice), pastTheEnd(12)));
            assertThat(alone.awaitEnd().ids()).isEqualTo(choices.get(choice).ids());
        }
        assertThat(choices.get(0).ids()).isNotEqualTo(choices.get(1).ids());
        int[] drawn = choices.get(0).ids();
        Heard stopped = ask(GenerateRequest.of("r", prompt, sampling,
                new StopConditions(12, new int[] {drawn[5]}, true)));
        assertThat(stopped.awaitEnd().finished).isEqualTo(FinishReason.STOP);
        assertThat(stopped.ids()).endsWith(drawn[5]).hasSizeLessThanOrEqualTo(6);
    }

    @Test
    void scores_of_the_prompt_come_for_every_token_but_the_first() {
        Heard heard = ask(GenerateRequest.of("r", fresh(50), SamplingParameters.GREEDY, pastTheEnd(3))
                .withLogprobs(true, true, 2)).awaitEnd();
        assertThat(heard.prompt).hasSize(49);
        assertThat(heard.ids()).hasSize(3);
        assertThat(heard.scores).hasSize(3);
    }

    @Test
    void rules_are_followed() {
        LogitRules rules = LogitRules.NONE.withAllowedTokens(500, 501).withBiases(new int[] {501}, 50f);
        Heard heard = ask(GenerateRequest.of("r", fresh(20), SamplingParameters.GREEDY.with(rules), pastTheEnd(5)));
        assertThat(heard.awaitEnd().ids()).containsExactly(501, 501, 501, 501, 501);
    }

    @Test
    void another_salt_finds_nothing_cached() {
        int[] prompt = fresh(100);
        ask(salted(prompt, "s:a")).awaitEnd();
        assertThat(ask(salted(prompt, "s:b")).awaitEnd().usage.cachedTokens()).isZero();
        assertThat(ask(salted(prompt, "s:a")).awaitEnd().usage.cachedTokens()).isEqualTo(96);
    }

    private static GenerateRequest salted(int[] prompt, String salt) {
        return new GenerateRequest("r", 0, prompt, SamplingParameters.GREEDY, maxTokens(1), false, salt, null, null, 0,
                0);
    }

    @Test
    void who_cancels_or_stops_leaves_nothing_running() {
        List<GenerationListener> listeners = new ArrayList<>();
        IntStream.range(0, 4).forEach(_ -> listeners.add(new Heard()));
        List<ForeignGeneration> all = engine.submit(GenerateRequest.of("r", fresh(30), SamplingParameters.GREEDY,
                pastTheEnd(1_900)).withChoices(4), listeners);
        listeners.forEach(each -> ((Heard) each).awaitTokens(3));
        engine.stop(all.getFirst());
        Heard stopped = ((Heard) listeners.getFirst()).awaitEnd();
        assertThat(stopped.usage.completionTokens()).isEqualTo(stopped.ids().length).isLessThan(1_900);
        all.forEach(engine::cancel);
        await(() -> engine.load().load().running() == 0 && engine.load().freeBlocks() == BLOCKS);
    }

    @Test
    void an_idle_connection_that_it_has_closed_costs_nothing() throws InterruptedException {
        ask(GenerateRequest.of("r", fresh(10), SamplingParameters.GREEDY, maxTokens(1))).awaitEnd();
        Thread.sleep(5_000);                                           // about as long as it keeps one
        for (int i = 0; i < 20; i++) {
            Heard heard = ask(GenerateRequest.of("r", fresh(10), SamplingParameters.GREEDY, maxTokens(1)));
            assertThat(heard.awaitEnd().finished).isNotNull();
        }
    }

    private Heard ask(GenerateRequest request) {
        return askAll(request).getFirst();
    }

    private List<Heard> askAll(GenerateRequest request) {
        List<Heard> all = IntStream.range(0, request.choices()).mapToObj(_ -> new Heard()).toList();
        engine.submit(request, List.copyOf(all));
        all.forEach(Heard::awaitEnd);
        return all;
    }

    /** A prompt that nobody has asked for before. */
    private static int[] fresh(int length) {
        return ThreadLocalRandom.current().ints(length, 100, 49_000).toArray();
    }

    private static void await(BooleanSupplier condition) {
        long deadline = System.nanoTime() + LONGEST.toNanos();
        while (!condition.getAsBoolean()) {
            assertThat(System.nanoTime() - deadline).isNegative();
            Thread.onSpinWait();
        }
    }
}
