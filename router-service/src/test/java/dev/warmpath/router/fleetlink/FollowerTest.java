package dev.warmpath.router.fleetlink;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.protocol.event.BlockChange;
import dev.warmpath.protocol.event.KeySet;
import dev.warmpath.protocol.event.KvEventBatch;
import dev.warmpath.protocol.event.Medium;
import dev.warmpath.protocol.fleet.Backoff;
import dev.warmpath.protocol.fleet.Heartbeat;
import dev.warmpath.router.fleet.EventSource;
import dev.warmpath.router.fleet.Fleet;
import dev.warmpath.router.fleet.FleetWorker;
import dev.warmpath.router.fleet.RegistrationOutcome.Accepted;
import dev.warmpath.router.fleet.TestWorkers;
import dev.warmpath.router.fleetlink.LinkAction.News;
import dev.warmpath.router.fleetlink.LinkAction.OpenStream;
import dev.warmpath.router.fleetlink.LinkAction.Pause;
import dev.warmpath.router.fleetlink.LinkAction.ReadLog;
import dev.warmpath.router.fleetlink.LinkAction.ReadStream;
import dev.warmpath.router.fleetlink.log.EventLog;
import dev.warmpath.router.fleetlink.log.LogInbox;
import dev.warmpath.router.fleetlink.log.LogState;
import dev.warmpath.router.fleetlink.stream.StreamSignal;
import dev.warmpath.router.metrics.RouterMetrics.ReloadSource;
import dev.warmpath.router.prefix.PrefixIndex;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** One worker "w" of epoch 1; times in milliseconds. What all of it leads to: {@code IndexConvergenceTest}. */
class FollowerTest {

    private final Fleet fleet =
            new Fleet(new PrefixIndex(), TestWorkers.CHECK, Duration.ofDays(1), 10, this::nanos, _ -> false);
    private final FleetWorker worker = ((Accepted) fleet.register(TestWorkers.registration("w", 1))).worker();
    private final LogInbox inbox = new EventLog(/* awaited */ true, 8, this::nanos).open(worker);
    private final Follower follower = new Follower(worker, inbox, Backoff.ofLink(new Random(1)));
    private final KeySet announced = new KeySet();
    private final List<News> news = new ArrayList<>();
    private LogState log = LogState.FRESH;
    private long millis;

    @Test
    void a_gap_in_the_log_is_healed_by_one_snapshot_of_the_worker_itself() {
        assertThat(next(new LinkEvent.Begun())).isEqualTo(new ReadLog(Duration.ofMillis(10)));
        assertThat(turn(batch(0))).isEqualTo(new ReadLog(Duration.ofMillis(250)));
        assertThat(news).containsExactly(new News.Followed(EventSource.LOG, null));
        batch(1);                                                  // never comes
        assertThat(turn(batch(2))).isEqualTo(new OpenStream(Duration.ZERO));

        assertThat(next(new LinkEvent.StreamOpened())).isEqualTo(new ReadStream());
        assertThat(frame(snapshot(2), ReloadSource.WORKER)).isEqualTo(new ReadLog(Duration.ofMillis(250)));
        assertThat(turn(batch(3))).isEqualTo(new ReadLog(Duration.ofMillis(250)));
        assertThat(worker.events().position().sequence()).isEqualTo(3);
    }

    @Test
    void a_log_that_is_lost_is_looked_at_twice_and_left_and_taken_again_where_it_goes_on() {
        next(new LinkEvent.Begun());
        turn(batch(0));
        log = LogState.LOST;
        assertThat(next(new LinkEvent.LogTurn(null))).isEqualTo(new Pause(Duration.ofMillis(250)));
        news.clear();
        assertThat(next(new LinkEvent.Paused())).isEqualTo(new OpenStream(Duration.ZERO));
        assertThat(news).containsExactly(new News.Followed(EventSource.DIRECT, null));
        next(new LinkEvent.StreamOpened());
        assertThat(frame(snapshot(0), ReloadSource.STREAM)).isEqualTo(new ReadStream());

        log = LogState.FRESH;
        assertThat(next(signOfLife())).as("nothing of it stands there").isEqualTo(new ReadStream());
        inbox.put(batch(1));
        assertThat(next(signOfLife())).isEqualTo(new ReadLog(Duration.ofMillis(250)));
    }

    @Test
    void a_log_that_lacks_what_the_worker_has_sent_for_two_seconds_is_left() {
        next(new LinkEvent.Begun());
        turn(batch(0));
        batch(1);                                                  // never comes
        fleet.heartbeat(new Heartbeat("w", 1, 0, 0, 10, 0, 1, announced.size(), announced.digest()));
        millis = 2_000;
        assertThat(next(new LinkEvent.LogTurn(null))).isEqualTo(new ReadLog(Duration.ofMillis(250)));
        millis = 2_001;
        assertThat(next(new LinkEvent.LogTurn(null))).isEqualTo(new OpenStream(Duration.ZERO));
        assertThat(news).contains(
                new News.Followed(EventSource.DIRECT, "its batches do not come through Redis"));
    }

    @Test
    void streams_that_break_are_opened_after_pauses_and_told_from_the_third_on_until_one_lasts_for_five_seconds() {
        log = LogState.LOST;
        assertThat(next(new LinkEvent.Begun())).isEqualTo(new OpenStream(Duration.ZERO));
        for (int attempt = 1; attempt <= 3; attempt++) {
            next(new LinkEvent.StreamOpened());
            news.clear();
            long longest = 50L << attempt;
            assertThat(next(broken("reset"))).isInstanceOfSatisfying(
                    OpenStream.class, open -> assertThat(open.pause().toMillis()).isBetween(longest / 2, longest));
            var told = new News.StreamProblem("its event stream does not last: reset");
            assertThat(news.contains(told)).as("told after attempt %d", attempt).isEqualTo(attempt == 3);
        }
        next(new LinkEvent.StreamOpened());
        frame(batch(0), ReloadSource.STREAM);
        news.clear();
        millis = 4_999;
        next(signOfLife());
        assertThat(news).isEmpty();
        millis = 5_000;
        next(signOfLife());
        assertThat(news).containsExactly(new News.StreamProblem(null));
    }

    @Test
    void somebody_asks_for_a_worker_that_the_log_carries_when_its_heartbeat_is_two_seconds_late() {
        next(new LinkEvent.Begun());
        turn(batch(0));
        fleet.heartbeat(new Heartbeat("w", 1, 0, 0, 10, 0, 0, announced.size(), announced.digest()));
        next(new LinkEvent.LogTurn(null));
        news.clear();
        millis = 2_000;
        next(new LinkEvent.LogTurn(null));
        assertThat(news).isEmpty();
        millis = 2_001;
        next(new LinkEvent.LogTurn(null));
        next(new LinkEvent.LogTurn(null));
        assertThat(news).containsExactly(new News.Silent(Duration.ofSeconds(2)));
    }

    private LinkAction next(LinkEvent event) {
        LinkAction.Step step = follower.next(event, log, nanos());
        news.addAll(step.news());
        return step.action();
    }

    private static LinkEvent frame(@Nullable KvEventBatch batch) {
        return new LinkEvent.StreamRead(new StreamSignal.Frame(batch));
    }

    private static LinkEvent signOfLife() {
        return frame(null);
    }

    private static LinkEvent broken(String why) {
        return new LinkEvent.StreamRead(new StreamSignal.Ended(StreamSignal.Reason.BROKEN, why));
    }

    private LinkAction turn(KvEventBatch batch) {
        return applied(next(new LinkEvent.LogTurn(batch)), batch, ReloadSource.CHECKPOINT);
    }

    private LinkAction frame(KvEventBatch batch, ReloadSource source) {
        return applied(next(frame(batch)), batch, source);
    }

    private LinkAction applied(LinkAction action, KvEventBatch batch, ReloadSource source) {
        assertThat(action).isEqualTo(new LinkAction.Apply(batch, source));
        worker.events().apply(batch);
        return next(new LinkEvent.Applied());
    }

    /** The next that the worker announces; number 0 is a snapshot. */
    private KvEventBatch batch(long sequence) {
        announced.add(sequence + 1);
        return sequence == 0 ? snapshot(0) : batch(sequence, false, sequence + 1);
    }

    /** Of all that was announced, {@code sequence} the last. */
    private KvEventBatch snapshot(long sequence) {
        return batch(sequence, true, announced.toArray());
    }

    private KvEventBatch batch(long sequence, boolean snapshot, long... keys) {
        return new KvEventBatch("w", 1, sequence, snapshot, List.of(new BlockChange.Stored(Medium.DEVICE, keys)),
                announced.size(), announced.digest());
    }

    private long nanos() {
        return TimeUnit.MILLISECONDS.toNanos(millis);
    }
}
