package dev.warmpath.router.completion;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.warmpath.router.admission.AdmissionControl;
import dev.warmpath.router.admission.AdmissionControl.Permit;
import dev.warmpath.router.admission.OverloadedException;
import dev.warmpath.router.metrics.RouterMetrics;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import reactor.core.Disposable;

class ComputationPoolTest {

    private final AdmissionControl admission =
            new AdmissionControl(() -> 8, 1_000, new RouterMetrics(new SimpleMeterRegistry()), System::nanoTime);
    private final SimpleMeterRegistry meters = new SimpleMeterRegistry();
    private final ComputationPool pool = new ComputationPool(
            new CompletionProperties(/* threads */ 1, /* queue */ 1), new RouterMetrics(meters));
    private final CountDownLatch begun = new CountDownLatch(1);
    private final CountDownLatch end = new CountDownLatch(1);

    @AfterEach
    void stop() {
        end.countDown();
        pool.destroy();
    }

    @Test
    void a_client_who_leaves_makes_no_room_while_its_computation_runs_or_waits() throws InterruptedException {
        var computed = new AtomicInteger();
        Disposable running = start(() -> {
            await(begun, end);
            return computed.incrementAndGet();
        });
        begun.await();
        Disposable waiting = start(computed::incrementAndGet);

        running.dispose();
        waiting.dispose();
        assertThat(admission.inFlight()).isEqualTo(2);
        assertThat(admission.heldBytes()).isEqualTo(20);

        end.countDown();
        while (admission.inFlight() > 0) {
            Thread.sleep(1);
        }
        assertThat(computed.get()).as("what waited was passed over").isEqualTo(1);
        assertThat(admission.heldBytes()).isZero();
    }

    @Test
    void a_computation_that_finds_the_queue_full_is_refused_and_keeps_nothing() throws InterruptedException {
        start(() -> {
            await(begun, end);
            return 0;
        });
        begun.await();
        start(() -> 0);
        assertThat(meters.get("warmpath.tokenizer.queue").gauge().value()).isEqualTo(1);

        try (Permit permit = admission.enter(10)) {
            assertThatThrownBy(() -> pool.run(permit, () -> 0).block()).isInstanceOf(OverloadedException.class)
                    .hasMessage("1 computations wait for a thread already");
        }
        assertThat(admission.inFlight()).isEqualTo(2);
        assertThat(meters.get("warmpath.admission.refusals").tag("limit", "threads").counter().count()).isEqualTo(1);
        assertThat(meters.get("warmpath.tokenizer.wait").timer().count()).as("one has a thread").isEqualTo(1);
    }

    @Test
    void an_error_reaches_who_waits_and_the_thread_goes_on() {
        try (Permit permit = admission.enter(10)) {
            assertThatThrownBy(() -> pool.run(permit, () -> {
                throw new AssertionError("broken");
            }).block()).hasMessageContaining("broken");
            assertThat(pool.run(permit, () -> 7).block()).isEqualTo(7);
        }
    }

    /** As a request does it: its permit is closed when it ends or is cancelled. */
    private Disposable start(Supplier<Integer> work) {
        Permit permit = admission.enter(10);
        permit.hold(10);
        return pool.run(permit, work).doFinally(_ -> permit.close()).subscribe();
    }

    private static void await(CountDownLatch begun, CountDownLatch end) {
        begun.countDown();
        try {
            end.await();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }
}
