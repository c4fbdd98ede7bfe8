package dev.warmpath.worker.generate;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.protocol.generate.FinishReason;
import dev.warmpath.protocol.generate.GenerateEvent;
import dev.warmpath.protocol.generate.GenerateEvent.Finished;
import dev.warmpath.protocol.generate.GenerateEvent.Tokens;
import dev.warmpath.protocol.generate.GenerateEvent.Usage;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import reactor.core.scheduler.Schedulers;
import reactor.test.StepVerifier;

/** The bridge from the engine's thread to the network: backpressure, cancellation, order. */
class TokenStreamTest {

    private static final Usage USAGE = new Usage(10, 0, 5);
    private final AtomicInteger cancels = new AtomicInteger();
    private final Outbox outbox = new Outbox();
    private final TokenStream stream = new TokenStream(outbox.lane(), /* logprobs */ false, null);

    @Test
    void a_reader_that_asks_seldom_gets_fewer_and_longer_events_and_loses_nothing() {
        StepVerifier.create(stream.events(cancels::incrementAndGet), /* initial request */ 0)
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

        StepVerifier.create(stream.events(cancels::incrementAndGet))
                .assertNext(event -> assertThat(((Tokens) event).scores()).isNull())
                .expectNext(new Finished(FinishReason.STOP, USAGE))
                .verifyComplete();
    }

    @Test
    void a_reader_that_leaves_cancels_once() {
        StepVerifier.create(stream.events(cancels::incrementAndGet))
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
            var leaving = new TokenStream(outbox.lane(), false, null);
            var subscription = leaving.events(() -> { }).subscribe();
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
        var with = new TokenStream(outbox.lane(), /* logprobs */ true, null);
        with.onToken(1, -0.25f);
        with.onToken(2, -0.5f);
        outbox.send();

        StepVerifier.create(with.events(cancels::incrementAndGet).next())
                .assertNext(event -> assertThat(((Tokens) event).scores().logprobs()).containsExactly(-0.25f, -0.5f))
                .verifyComplete();
    }

    private static int[] ids(GenerateEvent event) {
        return ((Tokens) event).ids();
    }
}
