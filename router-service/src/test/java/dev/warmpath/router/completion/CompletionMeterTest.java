package dev.warmpath.router.completion;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.protocol.generate.FinishReason;
import dev.warmpath.protocol.generate.GenerateEvent.Usage;
import dev.warmpath.router.answer.TokenDetails.Told;
import dev.warmpath.router.decisions.RequestRecord;
import dev.warmpath.router.fleet.IndexGrade;
import dev.warmpath.router.metrics.RouterMetrics;
import dev.warmpath.router.routing.CandidateBuilder;
import dev.warmpath.router.routing.CandidateCost;
import dev.warmpath.router.routing.ExpectedFirstToken;
import dev.warmpath.router.routing.LeftOut;
import dev.warmpath.router.routing.PolicyName;
import dev.warmpath.router.routing.RouteDecision;
import dev.warmpath.router.routing.RouteQuery;
import dev.warmpath.router.routing.RouteReason;
import dev.warmpath.router.routing.RouteSnapshot;
import dev.warmpath.router.tracing.RequestTrace;
import dev.warmpath.router.tracing.RequestTraces;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Timer;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.micrometer.observation.ObservationRegistry;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.reactivestreams.Subscription;
import reactor.core.publisher.BaseSubscriber;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Sinks;

class CompletionMeterTest {

    private static final CompletionEvent WHOLE =
            new CompletionEvent.Finished(
                    0, List.of(), Told.NOTHING, FinishReason.STOP, new Usage(3, 0, 1), true, /* last */ true);

    private final SimpleMeterRegistry meters = new SimpleMeterRegistry();
    private final RouterMetrics metrics = new RouterMetrics(meters);
    private long millis;
    private int closed;

    @Test
    void latencies_are_counted_from_the_arrival_and_between_texts_of_a_stream() {
        millis = 1_000;
        var meter = meter(/* streamed */ true);
        meter.isServed();
        meter.inLine();
        millis += 40;
        meter.turn();
        var events = Sinks.many().unicast().<CompletionEvent>onBackpressureBuffer();
        meter.measure(events.asFlux()).subscribe();
        millis += 60;
        events.tryEmitNext(new CompletionEvent.Text(0, "One", 1, Told.NOTHING));
        millis += 7;
        events.tryEmitNext(new CompletionEvent.Text(0, " two", 1, Told.NOTHING));
        millis += 9;
        events.tryEmitNext(WHOLE);
        millis += 4;
        events.tryEmitComplete();

        assertThat(millisOf("warmpath.queue.wait")).isEqualTo("1 in 40");
        assertThat(millisOf("warmpath.time.to.first.token")).isEqualTo("1 in 150");
        assertThat(millisOf("warmpath.inter.token.latency")).isEqualTo("1 in 7");
        assertThat(millisOf("warmpath.request.duration")).isEqualTo("1 in 170");
    }

    @Test
    void an_answer_that_comes_as_a_whole_has_no_time_between_tokens() {
        var meter = meter(/* streamed */ false);
        meter.isServed();
        meter.measure(Flux.just(new CompletionEvent.Text(0, "One", 1, Told.NOTHING),
                        new CompletionEvent.Text(0, " two", 1, Told.NOTHING), WHOLE))
                .subscribe();

        assertThat(millisOf("warmpath.inter.token.latency")).isEqualTo("0 in 0");
        assertThat(millisOf("warmpath.request.duration")).isEqualTo("1 in 50");
    }

    @Test
    void a_request_counts_for_the_policy_that_placed_it() {
        assertThat(promptTokensOfPolicies(RouteReason.PREFIX)).containsExactly(3.0);
    }

    /** No policy has chosen its worker. */
    @Test
    void a_request_on_trial_counts_for_no_policy() {
        assertThat(promptTokensOfPolicies(RouteReason.TRIAL)).isEmpty();
    }

    @Test
    void the_name_of_a_model_that_nobody_serves_makes_no_series() {
        meter(false).measure(Flux.error(new BadRequestException(
                BadRequestException.Fault.MODEL_NOT_FOUND, "model", "no"))).subscribe(_ -> {}, _ -> {});

        assertThat(meters.get("warmpath.requests").counter().getId().getTag("model")).isEqualTo("other");
        assertThat(meters.find("warmpath.request.duration").tag("model", "tiny").timer()).isNull();
    }

    @Test
    void a_client_that_leaves_when_its_answer_has_ended_was_answered_once() {
        read(Flux.just(WHOLE)).cancel();

        assertThat(outcomes()).isEqualTo("answered 1");
        assertThat(closed).isEqualTo(1);
    }

    @Test
    void a_client_that_leaves_before_that_has_left_once() {
        Subscription reading = read(Flux.never());
        reading.cancel();
        reading.cancel();

        assertThat(outcomes()).isEqualTo("cancelled 1");
        assertThat(closed).isEqualTo(1);
    }

    /** @return can be cancelled even when all has come, as that of an answer which is being written */
    private Subscription read(Flux<CompletionEvent> events) {
        var reading = new AtomicReference<Subscription>();
        meter(false).measure(events).subscribe(new BaseSubscriber<>() {
            @Override
            protected void hookOnSubscribe(Subscription subscription) {
                reading.set(subscription);
                requestUnbounded();
            }
        });
        return reading.get();
    }

    /** Of a request that came 50 ms ago. */
    private CompletionMeter meter(boolean streamed) {
        var request =
                new CompletionRequest("r", "chat", "tiny", null, null, null, List.of(), false, new int[0], false, 0,
                        LogitOverrides.NONE, streamed, null, CompletionRequest.ToolUse.NONE,
                        CompletionRequest.Answers.PLAIN, 0, CompletionRequest.Truncation.NONE);
        var record = new RequestRecord(Instant.EPOCH, null, null, _ -> closed++);
        RequestTrace trace = new RequestTraces(ObservationRegistry.NOOP, /* propagator */ null).notTraced();
        return new CompletionMeter(
                metrics, request, record, trace, (millis - 50) * 1_000_000, () -> millis * 1_000_000);
    }

    private List<Double> promptTokensOfPolicies(RouteReason reason) {
        var query = new RouteQuery(3, 16);
        CandidateCost cost = new ExpectedFirstToken()
                .choose(query, List.of(CandidateBuilder.named("a").build())).costs().getFirst();
        var decision = new RouteDecision.Routed(PolicyName.EXPECTED_FIRST_TOKEN, cost, reason, /* unknown */ -1,
                new RouteSnapshot(query, 1, IndexGrade.EXACT, 0, List.of(cost), LeftOut.NOBODY), null);
        var meter = meter(false);
        meter.isServed();
        meter.measure(Flux.just(new CompletionEvent.Routed(0, "abc", new int[3], decision), WHOLE)).subscribe();
        return meters.find("warmpath.policy.prompt.tokens").counters().stream().map(Counter::count).toList();
    }

    private String millisOf(String timer) {
        Timer found = meters.get(timer).tag("model", "tiny").timer();
        return found.count() + " in " + (int) found.totalTime(TimeUnit.MILLISECONDS);
    }

    private String outcomes() {
        return meters.find("warmpath.requests").counters().stream()
                .map(each -> each.getId().getTag("outcome") + " " + (int) each.count())
                .collect(Collectors.joining(", "));
    }
}
