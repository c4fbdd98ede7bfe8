package dev.warmpath.worker.generate;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.protocol.generate.FailureReason;
import dev.warmpath.protocol.generate.FinishReason;
import dev.warmpath.protocol.generate.GenerateEvent;
import dev.warmpath.protocol.generate.GenerateEvent.Finished;
import dev.warmpath.protocol.generate.GenerateEvent.Tokens;
import dev.warmpath.protocol.generate.GenerateEvent.Usage;
import dev.warmpath.worker.engine.GenerationListener;
import dev.warmpath.worker.engine.TokenScores;
import java.time.Duration;
import java.util.Arrays;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.Test;
import reactor.core.scheduler.Schedulers;
import reactor.test.StepVerifier;

/** The bridge from the engine's thread to the network: backpressure, cancellation, order. */
class TokenStreamTest {

    private static final Usage USAGE = new Usage(10, 0, 5);
    private final AtomicInteger cancels = new AtomicInteger();
    private final Outbox outbox = new Outbox();
    private final TokenStream answer = new TokenStream(outbox.lane(), /* choices */ 1, /* logprobs */ false, null);
    private final GenerationListener stream = answer.listeners().getFirst();

    @Test
    void a_reader_that_asks_seldom_gets_fewer_and_longer_events_and_loses_nothing() {
        StepVerifier.create(answer.events(cancels::incrementAndGet), /* initial request */ 0)
                .expectSubscription()
                .then(() -> {
                    for (int token = 1; token <= 5; token++) {
                        stream.onToken(token, 0f);
                    }
                    stream.onFinished(FinishReason.LENGTH, USAGE);
                    outbox.send();
                })
                .expectNoEvent(Duration.ofMillis(50))
                .thenRequest(1)
                .assertNext(event -> assertThat(ids(event)).containsExactly(1, 2, 3, 4, 5))
                .thenRequest(1)
                .expectNext(new Finished(FinishReason.LENGTH, USAGE))
                .verifyComplete();
        assertThat(cancels).hasValue(0);
    }

    @Test
    void news_from_before_the_subscription_is_kept() {
        stream.onToken(7, -0.5f);
        stream.onFinished(FinishReason.STOP, USAGE);
        outbox.send();

        StepVerifier.create(answer.events(cancels::incrementAndGet))
                .assertNext(event -> assertThat(((Tokens) event).scores()).isNull())
                .expectNext(new Finished(FinishReason.STOP, USAGE))
                .verifyComplete();
    }

    @Test
    void a_reader_that_leaves_cancels_once() {
        StepVerifier.create(answer.events(cancels::incrementAndGet))
                .then(() -> {
                    stream.onToken(7, 0f);
                    outbox.send();
                })
                .expectNextCount(1)
                .thenCancel()
                .verify();
        stream.onToken(8, 0f);
        outbox.send();

        assertThat(cancels).hasValue(1);
    }

    @Test
    void news_that_meet_a_leaving_reader_never_break_the_engines_thread() {
        for (int i = 0; i < 20_000; i++) {
            var left = new TokenStream(outbox.lane(), 1, false, null);
            var leaving = left.listeners().getFirst();
            var subscription = left.events(() -> { }).subscribe();
            Schedulers.parallel().schedule(subscription::dispose);
            for (int token = 0; token < 5; token++) {
                leaving.onToken(token, 0f);
                outbox.send();
            }
            leaving.onFinished(FinishReason.LENGTH, USAGE);
            outbox.send();
        }
    }

    @Test
    void log_probabilities_travel_with_their_tokens() {
        var with = new TokenStream(outbox.lane(), 1, /* logprobs */ true, null);
        with.listeners().getFirst().onToken(1, -0.25f);
        with.listeners().getFirst().onToken(2, -0.5f);
        outbox.send();

        StepVerifier.create(with.events(cancels::incrementAndGet).next())
                .assertNext(event -> assertThat(((Tokens) event).scores().logprobs()).containsExactly(-0.25f, -0.5f))
                .verifyComplete();
    }

    @Test
    void choices_that_have_news_take_turns_and_the_stream_ends_with_the_last_of_them() {
        var three = new TokenStream(outbox.lane(), 3, false, null);
        GenerationListener first = three.listeners().get(0);
        GenerationListener second = three.listeners().get(1);
        GenerationListener third = three.listeners().get(2);
        StepVerifier.create(three.events(cancels::incrementAndGet).map(TokenStreamTest::text), /* request */ 0)
                .then(() -> {
                    second.onToken(20, 0f);
                    first.onToken(10, 0f);
                    second.onToken(21, 0f);
                    second.onFinished(FinishReason.STOP, USAGE);
                    outbox.send();
                })
                .thenRequest(Long.MAX_VALUE)
                .expectNext("1: [20, 21]", "0: [10]", "1: STOP")
                .then(() -> {
                    third.onFinished(FinishReason.STOP, USAGE);
                    first.onFinished(FinishReason.LENGTH, USAGE);
                    outbox.send();
                })
                .expectNext("2: STOP", "0: LENGTH")
                .verifyComplete();
        assertThat(cancels).hasValue(0);
    }

    @Test
    void a_choice_that_fails_ends_all_and_cancels_the_others_at_once_however_slow_the_reader_is() {
        var two = new TokenStream(outbox.lane(), 2, false, null);
        GenerationListener first = two.listeners().get(0);
        GenerationListener second = two.listeners().get(1);
        StepVerifier.create(two.events(cancels::incrementAndGet).map(TokenStreamTest::text), /* request */ 1)
                .then(() -> {
                    first.onToken(10, 0f);
                    second.onFailed(FailureReason.UNUSABLE_LOGITS, "no numbers");
                    first.onToken(11, 0f);
                    first.onFailed(FailureReason.ENGINE_FAILURE, "comes too late");
                    outbox.send();
                })
                .expectNext("0: [10]")
                .then(() -> await(() -> cancels.get() == 1))
                .thenRequest(1)
                .expectNext("UNUSABLE_LOGITS: no numbers")
                .verifyComplete();
        assertThat(cancels).hasValue(1);
    }

    @Test
    void a_slow_reader_gets_many_tokens_in_lines_that_routers_take() {
        StepVerifier.create(answer.events(cancels::incrementAndGet), /* request */ 0)
                .then(() -> {
                    for (int token = 0; token < 10_000; token++) {
                        stream.onToken(token, 0f);
                    }
                    stream.onFinished(FinishReason.LENGTH, USAGE);
                    outbox.send();
                })
                .thenRequest(4)
                .assertNext(event -> assertThat(ids(event)).hasSize(4_096).startsWith(0))
                .assertNext(event -> assertThat(ids(event)).hasSize(4_096).startsWith(4_096))
                .assertNext(event -> assertThat(ids(event)).hasSize(1_808).endsWith(9_999))
                .expectNext(new Finished(FinishReason.LENGTH, USAGE))
                .verifyComplete();
    }

    @Test
    void scores_travel_in_lines_of_64_tokens_the_prompts_first_and_infinity_is_a_number() {
        var scored = new TokenStream(outbox.lane(), 2, /* scored */ true, null);
        StepVerifier.create(scored.events(cancels::incrementAndGet), /* request */ 0)
                .then(() -> {
                    for (int i = 0; i < 70; i++) {
                        scored.listeners().getFirst().onPrompt(new Likelihood(-i, 100 + i, i));
                    }
                    scored.listeners().get(1).onToken(9, new Likelihood(Float.NEGATIVE_INFINITY, 0, 4));
                    outbox.send();
                })
                .thenRequest(3)
                .assertNext(event -> {
                    var prompt = (GenerateEvent.Prompt) event;
                    assertThat(prompt.ranks()).hasSize(64).startsWith(100, 101);
                    assertThat(prompt.scores().logprobs()).hasSize(64).startsWith(0, -1);
                    assertThat(prompt.scores().topIds()).hasSize(128).startsWith(0, 1, 1, 2, 2, 3);
                    assertThat(prompt.scores().topLogprobs()).startsWith(0, GenerateEvent.LEAST_LOGPROB, -1);
                })
                .assertNext(event -> assertThat(((GenerateEvent.Prompt) event).ranks()).hasSize(6).startsWith(164))
                .assertNext(event -> {
                    var tokens = (Tokens) event;
                    assertThat(tokens.index()).isEqualTo(1);
                    assertThat(tokens.scores().logprobs()).containsExactly(GenerateEvent.LEAST_LOGPROB);
                    assertThat(tokens.scores().topIds()).containsExactly(4, 5);
                })
                .thenCancel()
                .verify();
    }

    /** Two alternatives: {@code id} with this log-probability, and the one after it, which the model excludes. */
    private record Likelihood(float logprob, int rank, int id) implements TokenScores {

        @Override
        public int likeliestCount() {
            return 2;
        }

        @Override
        public int likeliest(int place) {
            return id + place;
        }

        @Override
        public float logprob(int place) {
            return place == 0 ? logprob : Float.NEGATIVE_INFINITY;
        }
    }

    private static void await(BooleanSupplier condition) {
        while (!condition.getAsBoolean()) {
            Thread.onSpinWait();
        }
    }

    private static String text(GenerateEvent event) {
        return switch (event) {
            case GenerateEvent.Prompt prompt -> "prompt " + Arrays.toString(prompt.ranks());
            case Tokens tokens -> tokens.index() + ": " + Arrays.toString(tokens.ids());
            case Finished finished -> finished.index() + ": " + finished.reason();
            case GenerateEvent.Failed failed -> failed.reason() + ": " + failed.message();
        };
    }

    private static int[] ids(GenerateEvent event) {
        return ((Tokens) event).ids();
    }
}
