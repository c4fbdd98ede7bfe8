package dev.warmpath.router.admission;

import static dev.warmpath.router.fleet.TestWorkers.MODEL;
import static dev.warmpath.router.fleet.TestWorkers.PARTS;
import static dev.warmpath.router.fleet.TestWorkers.TOKENIZER;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.warmpath.protocol.block.HashSettings;
import dev.warmpath.protocol.fleet.ModelDescription;
import dev.warmpath.router.admission.WaitingRoom.Place;
import dev.warmpath.router.metrics.RouterMetrics;
import dev.warmpath.router.models.ServedModel;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;

/** Workers with two places, a line of requests of 488 uncached tokens, 1,000 with their answer; two seconds at most. */
class WaitingRoomTest {

    private static final ServedModel TINY = new ServedModel(MODEL,
            new HashSettings(PARTS.hashAlgorithm(), PARTS.hashSeed(), PARTS.blockSize()), TOKENIZER);

    private final SimpleMeterRegistry meters = new SimpleMeterRegistry();
    private volatile int room = 2;
    private boolean broken;
    private long nowMillis;
    private final WaitingRoom waitingRoom = new WaitingRoom(this::room, Duration.ofSeconds(2),
            () -> nowMillis * 1_000_000, new RouterMetrics(meters));
    /** Those who got a place, in order. */
    private final List<String> admitted = new ArrayList<>();
    private final List<Place> places = new ArrayList<>();

    @Test
    void a_line_whose_books_could_not_be_read_once_goes_on() {
        room = 0;
        CompletableFuture<Place> turn = waitingRoom.enter(TINY, () -> 488);
        CompletableFuture<Place> behind = waitingRoom.enter(ofRevision("another"), () -> 488);
        broken = true;
        room = 1;
        assertThatThrownBy(waitingRoom::tick).isInstanceOf(IllegalStateException.class);
        assertThat(turn).isNotCompleted();
        assertThat(behind).isCompleted();
        broken = false;
        waitingRoom.tick();
        assertThat(turn).isCompleted();
    }

    /** Lines of which nobody is left are put away when there are 65, be it in the moment in which somebody comes. */
    @Test
    void nobody_waits_in_a_line_that_was_put_away() {
        room = 0;
        var stop = new AtomicBoolean();
        CompletableFuture<Void> others = CompletableFuture.runAsync(() -> {
            for (int i = 0; !stop.get(); i = (i + 1) % 100) {
                waitingRoom.refuseIfHopeless(ofRevision("other-" + i));
            }
        }, Thread.ofPlatform()::start);
        int lost = 0;
        try {
            for (int i = 0; i < 20_000; i++) {
                CompletableFuture<Place> turn = waitingRoom.enter(TINY, () -> 488);
                lost += 1 - waitingRoom.waiting();
                turn.cancel(false);
            }
        } finally {
            stop.set(true);
        }
        others.join();
        assertThat(lost).isZero();
    }

    private int room(ServedModel model) {
        if (broken && model == TINY) {
            throw new IllegalStateException("broken");
        }
        return room;
    }

    private static ServedModel ofRevision(String revision) {
        return new ServedModel(new ModelDescription(MODEL.name(), revision, PARTS, MODEL.createdSeconds(),
                MODEL.vocabularySize()), TINY.hashSettings(), TOKENIZER);
    }

    @Test
    void who_finds_room_does_not_wait_and_the_others_take_their_turns_in_order() {
        enter("a");
        enter("b");
        assertThat(admitted).containsExactly("a", "b");
        enter("c");
        enter("d");
        assertThat(admitted).hasSize(2);
        assertThat(waitingRoom.waiting()).isEqualTo(2);
        assertThat(meters.get("warmpath.waiting.requests").gauge().value()).isEqualTo(2);

        end(0);
        assertThat(admitted).containsExactly("a", "b", "c");
        end(1);
        assertThat(admitted).containsExactly("a", "b", "c", "d");
        assertThat(waitingRoom.waiting()).isZero();
    }

    @Test
    void a_newcomer_does_not_overtake_the_line_even_if_there_is_room_by_now() {
        room = 0;
        enter("a");
        room = 1;
        enter("b");
        assertThat(admitted).isEmpty();
        waitingRoom.tick();
        assertThat(admitted).containsExactly("a");
    }

    @Test
    void who_would_wait_longer_than_two_seconds_is_refused_at_once_and_told_when_to_come_back() {
        room = 0;
        enter("a");
        enter("b");
        leaveOneAfter(500);                                        // a thousand tokens in half a second
        enter("c");
        enter("d");
        enter("e");                                                // four in line: two seconds
        waitingRoom.refuseIfHopeless(TINY);
        enter("f");                                                // five: 2.5 s

        var refusal = catchThrowableOfType(OverloadedException.class, () -> enter("g"));
        assertThat(refusal).hasMessage(
                "a worker would be free in 2500 ms, this router lets requests wait 2000 ms");
        assertThat(refusal.retryAfterSeconds()).isEqualTo(3);
        assertThatThrownBy(() -> waitingRoom.refuseIfHopeless(TINY)).isInstanceOf(OverloadedException.class);
        assertThat(meters.get("warmpath.admission.refusals").tag("limit", "wait").counter().count()).isEqualTo(2);

        leaveOneAfter(500);
        enter("h");
        assertThat(admitted).containsExactly("a", "b");
    }

    @Test
    void work_counts_and_not_heads() {
        room = 0;
        enter("a", 488);
        enter("b", 9_488);
        leaveOneAfter(500);
        assertThatThrownBy(() -> enter("c", 488)).hasMessageContaining("free in 5000 ms");
    }

    @Test
    void who_waits_in_vain_is_refused_as_soon_as_that_is_certain() {
        room = 0;
        enter("a");
        CompletableFuture<Place> second = enter("b");
        CompletableFuture<Place> third = enter("c");
        CompletableFuture<Place> fourth = enter("d");
        leaveOneAfter(500);
        nowMillis += 1_500;                                        // no worker ends anything: 2 s a request by now
        waitingRoom.tick();

        assertThat(fourth).isCompletedExceptionally();
        assertThatThrownBy(fourth::get).isInstanceOf(ExecutionException.class)
                .hasCauseInstanceOf(OverloadedException.class)
                .hasMessageContaining("no worker was free within 2000 ms, and none will be soon enough");
        assertThat(second).isNotDone();
        assertThat(third).isNotDone();
        nowMillis += 2_001;
        waitingRoom.tick();
        assertThat(third).isCompletedExceptionally();
        assertThat(second).as("is next, behind what may be a long prompt").isNotDone();
        nowMillis += 60_000;
        waitingRoom.tick();
        assertThat(second).isCompletedExceptionally();
        assertThat(waitingRoom.waiting()).isZero();
    }

    @Test
    void who_leaves_the_line_takes_no_place_and_no_share_of_the_wait() {
        room = 0;
        enter("a");
        CompletableFuture<Place> second = enter("b");
        enter("c");
        second.cancel(true);
        assertThat(waitingRoom.waiting()).isEqualTo(2);
        room = 3;
        waitingRoom.tick();
        assertThat(admitted).containsExactly("a", "c");
    }

    @Test
    void ten_thousand_who_leave_from_the_back_do_not_disturb_the_two_between_them() {
        room = 0;
        List<CompletableFuture<Place>> line = new ArrayList<>();
        for (int i = 0; i < 10_002; i++) {
            line.add(enter(Integer.toString(i)));
        }
        for (int i = 10_001; i >= 0; i--) {
            if (i != 4_000 && i != 7_000) {
                line.get(i).cancel(false);
            }
        }
        assertThat(waitingRoom.waiting()).isEqualTo(2);
        room = 2;
        waitingRoom.tick();
        assertThat(admitted).containsExactly("4000", "7000");
    }

    @Test
    void a_thousand_that_fail_at_once_do_not_nest() {
        room = 0;
        int[] failed = {0};
        for (int i = 0; i < 1_000; i++) {
            waitingRoom.enter(TINY, () -> 1).thenAccept(place -> {
                failed[0]++;
                place.close();
            });
        }
        room = 1;
        waitingRoom.tick();
        assertThat(failed[0]).isEqualTo(1_000);
    }

    @Test
    void without_workers_nobody_waits() {
        room = Integer.MAX_VALUE;
        enter("a");
        assertThat(admitted).containsExactly("a");
    }

    private CompletableFuture<Place> enter(String name) {
        return enter(name, 488);
    }

    private CompletableFuture<Place> enter(String name, int uncachedTokens) {
        CompletableFuture<Place> turn = waitingRoom.enter(TINY, () -> uncachedTokens);
        turn.thenAccept(place -> {
            admitted.add(name);
            places.add(place);
            room--;                                                // as its booking would
        });
        return turn;
    }

    private void end(int number) {
        room++;
        places.get(number).close();
    }

    private void leaveOneAfter(int millis) {
        nowMillis += millis;
        room = 1;
        waitingRoom.tick();
    }
}
