package dev.warmpath.router.admission;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.warmpath.router.admission.AdmissionControl.Permit;
import dev.warmpath.router.metrics.RouterMetrics;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

class AdmissionControlTest {

    private final SimpleMeterRegistry meters = new SimpleMeterRegistry();
    private final AtomicInteger places = new AtomicInteger(2);
    private long nanos;
    private final AdmissionControl admission = new AdmissionControl(
            places::get, /* budgetBytes */ 6_400, new RouterMetrics(meters), () -> nanos);

    @Test
    void two_places_are_taken_and_given_back_once_each() {
        Permit first = holding(10);
        Permit second = holding(20);

        assertThatThrownBy(() -> admission.enter(0)).isInstanceOf(OverloadedException.class)
                .hasMessage("2 requests are in flight, which is this router's limit");
        first.close();
        first.close();
        assertThat(admission.inFlight()).isEqualTo(1);
        assertThat(admission.heldBytes()).isEqualTo(20);
        second.close();
        assertThat(admission.inFlight()).isZero();
        assertThat(admission.heldBytes()).isZero();
        assertThat(refusals("places")).isEqualTo(1);
    }

    @Test
    void the_oldest_request_is_the_first_that_has_not_gone() {
        Permit first = admission.enter(0);
        nanos += 2_000_000_000L;
        Permit second = admission.enter(0);
        nanos += 500_000_000L;
        assertThat(oldestSeconds()).isEqualTo(2.5);

        Permit share = Objects.requireNonNull(first.share());
        first.close();
        assertThat(oldestSeconds()).as("a computation for it still runs").isEqualTo(2.5);
        share.close();
        assertThat(oldestSeconds()).isEqualTo(0.5);
        second.close();
        assertThat(oldestSeconds()).isZero();
    }

    private double oldestSeconds() {
        return meters.get("warmpath.oldest.request.age").gauge().value();
    }

    /** Who sends slowly keeps no memory from others; who could not be read is told so before it sends. */
    @Test
    void what_a_body_will_take_must_be_there_and_is_not_taken_before_it_comes() {
        try (Permit slow = admission.enter(4_800)) {
            assertThat(admission.heldBytes()).isZero();
            slow.hold(1_000);
            assertThatThrownBy(() -> admission.enter(3_801)).isInstanceOf(OverloadedException.class);
            admission.enter(3_800).close();
            assertThat(admission.inFlight()).isEqualTo(1);
        }
    }

    @Test
    void the_number_of_places_is_asked_for_each_request() {
        places.set(0);
        assertThatThrownBy(() -> admission.enter(0)).isInstanceOf(OverloadedException.class);
        places.set(1);
        admission.enter(0).close();
    }

    /** More than a 64th of the budget, 100 bytes, is large; three quarters are 4,800. */
    @Test
    void large_bodies_leave_a_quarter_of_the_memory_to_small_ones() {
        places.set(100);
        holding(4_700);

        assertThatThrownBy(() -> admission.enter(101)).isInstanceOf(OverloadedException.class)
                .hasMessage("the bodies of requests in flight take 4700 of 4800 bytes, this one needs 101 more");
        for (int i = 0; i < 17; i++) {
            holding(100);
        }
        assertThatThrownBy(() -> admission.enter(1)).isInstanceOf(OverloadedException.class)
                .hasMessage("the bodies of requests in flight take 6400 of 6400 bytes, this one needs 1 more");
        assertThat(refusals("bytes")).isEqualTo(2);
        assertThat(admission.inFlight()).isEqualTo(18);
    }

    @Test
    void a_body_that_grows_is_refused_where_the_memory_ends_and_keeps_what_it_had() {
        try (Permit permit = admission.enter(0)) {
            permit.hold(4_800);
            assertThatThrownBy(() -> permit.hold(4_801)).isInstanceOf(OverloadedException.class)
                    .hasMessage("the bodies of requests in flight take 4800 of 4800 bytes, this one needs 1 more");
            assertThat(admission.heldBytes()).isEqualTo(4_800);
            permit.hold(30);
            assertThat(admission.heldBytes()).isEqualTo(30);
        }
        assertThat(admission.heldBytes()).isZero();
    }

    @Test
    void an_answer_takes_memory_besides_its_body_and_gives_both_back() {
        try (Permit permit = holding(1_000)) {
            permit.holdMore(3_800);
            assertThatThrownBy(() -> permit.holdMore(1)).isInstanceOf(OverloadedException.class)
                    .hasMessage("the bodies of requests in flight take 4800 of 4800 bytes, this one needs 1 more");
            assertThat(admission.heldBytes()).isEqualTo(4_800);
        }
        assertThat(admission.heldBytes()).isZero();
    }

    @Test
    void a_place_is_free_when_its_last_permit_is_closed_and_is_not_shared_after_that() {
        Permit permit = holding(10);
        Permit share = Objects.requireNonNull(permit.share());

        permit.close();
        assertThat(admission.inFlight()).isEqualTo(1);
        share.close();
        assertThat(admission.inFlight()).isZero();
        assertThat(permit.share()).isNull();
        permit.hold(1_000);
        assertThat(admission.heldBytes()).isZero();
    }

    private Permit holding(long bytes) {
        Permit permit = admission.enter(bytes);
        permit.hold(bytes);
        return permit;
    }

    private double refusals(String limit) {
        return meters.get("warmpath.admission.refusals").tag("limit", limit).counter().count();
    }
}
