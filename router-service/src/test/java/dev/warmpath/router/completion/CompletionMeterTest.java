package dev.warmpath.router.completion;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.protocol.generate.FinishReason;
import dev.warmpath.protocol.generate.GenerateEvent.Usage;
import dev.warmpath.router.metrics.RouterMetrics;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.reactivestreams.Subscription;
import reactor.core.publisher.BaseSubscriber;
import reactor.core.publisher.Flux;

class CompletionMeterTest {

    private final SimpleMeterRegistry meters = new SimpleMeterRegistry();
    private final RouterMetrics metrics = new RouterMetrics(meters);

    @Test
    void a_client_that_leaves_when_its_answer_has_ended_was_answered_once() {
        var whole = new CompletionEvent.Finished(0, "", FinishReason.STOP, new Usage(3, 0, 1), true);

        read(Flux.just(whole)).cancel();

        assertThat(outcomes()).isEqualTo("answered 1");
    }

    @Test
    void a_client_that_leaves_before_that_has_left_once() {
        Subscription reading = read(Flux.never());
        reading.cancel();
        reading.cancel();

        assertThat(outcomes()).isEqualTo("cancelled 1");
    }

    /** @return can be cancelled even when all has come, as that of an answer which is being written */
    private Subscription read(Flux<CompletionEvent> events) {
        var request = new CompletionRequest("r", "chat", "tiny", null, null, null, List.of(), new int[0], false, false);
        var reading = new AtomicReference<Subscription>();
        new CompletionMeter(metrics, request).measure(events).subscribe(new BaseSubscriber<>() {
            @Override
            protected void hookOnSubscribe(Subscription subscription) {
                reading.set(subscription);
                requestUnbounded();
            }
        });
        return reading.get();
    }

    private String outcomes() {
        return meters.find("warmpath.requests").counters().stream()
                .map(each -> each.getId().getTag("outcome") + " " + (int) each.count())
                .collect(Collectors.joining(", "));
    }
}
