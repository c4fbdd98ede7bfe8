package dev.warmpath.router.completion;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.protocol.generate.FinishReason;
import dev.warmpath.protocol.generate.GenerateEvent.Usage;
import dev.warmpath.router.admission.AdmissionControl;
import dev.warmpath.router.answer.TokenDetails.Told;
import dev.warmpath.router.dispatch.DispatchException;
import dev.warmpath.router.metrics.RouterMetrics;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.reactivestreams.Subscription;
import reactor.core.CoreSubscriber;
import reactor.core.publisher.Flux;
import reactor.test.publisher.TestPublisher;

class UntilCutTest {

    private static final CompletionEvent TEXT = new CompletionEvent.Text(0, "a", 1, Told.NOTHING);
    private static final CompletionEvent END =
            new CompletionEvent.Finished(
                    0, List.of(), Told.NOTHING, FinishReason.STOP, new Usage(3, 0, 1), true, /* last */ true);

    private final RouterDrain drain = new RouterDrain(
            new AdmissionControl(() -> 8, 1_000, new RouterMetrics(new SimpleMeterRegistry()), System::nanoTime),
            new DrainProperties(Duration.ZERO, Duration.ofMillis(1)));
    private final TestPublisher<CompletionEvent> answer = TestPublisher.create();
    private final AtomicInteger over = new AtomicInteger();
    private final Reader reader = new Reader();

    @Test
    void an_answer_passes_and_ends_once() {
        answer().subscribe(reader);
        answer.next(TEXT, END).complete();
        drain.stop();

        assertThat(reader.heard).containsExactly(TEXT, END, "complete");
        assertThat(over).hasValue(1);
    }

    @Test
    void a_router_that_stops_cuts_what_still_runs() {
        answer().subscribe(reader);
        answer.next(TEXT);
        drain.stop();
        answer.next(TEXT);

        assertThat(reader.heard).hasSize(2).startsWith(TEXT).last().isInstanceOf(DispatchException.class);
        answer.assertCancelled();
        assertThat(over).hasValue(1);
    }

    @Test
    void one_that_begins_when_all_were_cut_is_cut_at_once() {
        drain.stop();
        answer().subscribe(reader);

        assertThat(reader.heard).singleElement().isInstanceOf(DispatchException.class);
        assertThat(over).hasValue(1);
    }

    /** The cut comes from another thread, between being noticed and being known to the reader. */
    @Test
    void one_that_is_cut_while_it_begins_hears_of_its_beginning_first() {
        reader.whileBeginning = drain::stop;
        answer().subscribe(reader);

        assertThat(reader.heard).hasSize(2).startsWith("begin").last().isInstanceOf(DispatchException.class);
        assertThat(over).hasValue(1);
    }

    @Test
    void a_reader_that_has_left_hears_of_no_cut() {
        answer().subscribe(reader);
        Objects.requireNonNull(reader.answer).cancel();
        drain.stop();

        assertThat(reader.heard).isEmpty();
    }

    /** As Reactor's own do where a client has left already. */
    @Test
    void a_reader_that_leaves_before_it_has_begun_is_not_remembered() {
        reader.leavesAtOnce = true;
        answer().subscribe(reader);
        drain.stop();

        assertThat(reader.heard).isEmpty();
        assertThat(over).hasValue(1);
    }

    /** The cut comes from another thread while the reader is at work: it waits, and what follows is dropped. */
    @Test
    void a_cut_does_not_overtake_the_event_that_is_delivered() throws InterruptedException {
        var inside = new CountDownLatch(1);
        reader.whileReading = () -> {
            inside.countDown();
            while (!drain.isOverForNewRequests()) {
                Thread.onSpinWait();
            }
        };
        answer().subscribe(reader);
        Thread stop = Thread.ofPlatform().start(() -> {
            try {
                inside.await();
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
            drain.stop();
        });
        answer.next(TEXT);
        stop.join();

        assertThat(reader.heard).hasSize(2).startsWith(TEXT).last().isInstanceOf(DispatchException.class);
    }

    private Flux<CompletionEvent> answer() {
        return UntilCut.of(answer.flux(), drain, over::incrementAndGet);
    }

    private static final class Reader implements CoreSubscriber<CompletionEvent> {

        private final List<Object> heard = new ArrayList<>();
        private boolean leavesAtOnce;
        private @Nullable Runnable whileReading;
        private @Nullable Runnable whileBeginning;
        private @Nullable Subscription answer;

        @Override
        public void onSubscribe(Subscription subscription) {
            answer = subscription;
            if (whileBeginning != null) {
                whileBeginning.run();
                heard.add("begin");
            }
            if (leavesAtOnce) {
                subscription.cancel();
            } else {
                subscription.request(Long.MAX_VALUE);
            }
        }

        @Override
        public void onNext(CompletionEvent event) {
            if (whileReading != null) {
                whileReading.run();
            }
            heard.add(event);
        }

        @Override
        public void onError(Throwable error) {
            heard.add(error);
        }

        @Override
        public void onComplete() {
            heard.add("complete");
        }
    }
}
