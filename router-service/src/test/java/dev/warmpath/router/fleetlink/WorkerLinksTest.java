package dev.warmpath.router.fleetlink;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.warmpath.protocol.fleet.Backoff;
import dev.warmpath.protocol.fleet.FleetToken;
import dev.warmpath.protocol.fleet.Heartbeat;
import dev.warmpath.protocol.fleet.Protocol;
import dev.warmpath.protocol.fleet.Registration;
import dev.warmpath.router.fleet.Fleet;
import dev.warmpath.router.fleet.FleetWorker;
import dev.warmpath.router.fleet.IndexGrade;
import dev.warmpath.router.fleet.RegistrationOutcome.Accepted;
import dev.warmpath.router.fleet.TestWorkers;
import dev.warmpath.router.fleetlink.log.EventLog;
import dev.warmpath.router.fleetlink.log.LogInbox;
import dev.warmpath.router.fleetlink.stream.WorkerHttp;
import dev.warmpath.router.fleetlink.stream.WorkerStream;
import dev.warmpath.router.metrics.RouterMetrics;
import dev.warmpath.router.metrics.RouterMetrics.ReloadSource;
import dev.warmpath.router.prefix.PrefixIndex;
import dev.warmpath.tokenization.SegmentCache;
import dev.warmpath.tokenization.template.ChatMessage;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.stream.LongStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** A real follower and loader over real sockets; the clock stands still unless a test moves it. */
class WorkerLinksTest {

    private final AtomicLong clock = new AtomicLong();
    private final PrefixIndex index = new PrefixIndex();
    private final Fleet fleet = new Fleet(
            index, TestWorkers.CHECK, Duration.ofSeconds(5), 10, clock::get, new ConnectProbe());
    private final WorkerLinks links = new WorkerLinks(fleet, index, new EventLog(/* awaited */ false, 8, clock::get),
            new WorkerHttp(FleetToken.NONE), new RouterMetrics(new SimpleMeterRegistry()), clock::get);
    private final FakeWorker fake = new FakeWorker("w", 7);

    WorkerLinksTest() throws IOException {}

    @AfterEach
    void close() {
        links.close();
        fake.close();
    }

    @Test
    void a_worker_becomes_ready_with_its_blocks_and_its_tokenizer() {
        fake.store(1, 2, 3);
        FleetWorker worker = follow();

        await(() -> fleet.model("tiny") != null);
        assertThat(fleet.workers(Objects.requireNonNull(fleet.model("tiny")))).containsExactly(worker);
        assertThat(worker.keys().size()).isEqualTo(3);
        fake.frames.add(fake.store(4, 5));
        await(() -> worker.keys().size() == 5);
        assertThat(fake.streams).hasValue(1);
    }

    @Test
    void a_chat_template_in_a_file_of_its_own_comes_along_and_wins() {
        fake.hasChatTemplate = true;
        follow();

        await(() -> fleet.model("tiny") != null);
        assertThat(Objects.requireNonNull(fleet.model("tiny")).tokenizer()
                .render(List.of(new ChatMessage("user", "hi")), true, Map.of()).text()).isEqualTo("of a file: 1");
    }

    @Test
    void a_lost_batch_is_repaired_by_a_new_snapshot() {
        FleetWorker worker = follow();
        await(worker::isIndexed);
        fake.store(1);                                             // never sent
        fake.frames.add(fake.store(2));

        await(() -> worker.keys().size() == 2);
        assertThat(fake.streams).hasValue(2);
    }

    @Test
    void a_lost_last_batch_is_found_by_the_heartbeat_after_two_seconds() {
        FleetWorker worker = follow();
        await(worker::isIndexed);
        fake.store(1);                                             // never sent, and nothing follows
        fleet.heartbeat(new Heartbeat("w", 7, 0, 0, 1_000, 0, fake.sequence(), 1, fake.digest()));
        while (worker.keys().size() != 1) {
            clock.addAndGet(TimeUnit.MILLISECONDS.toNanos(1));
            fleet.heartbeat(new Heartbeat("w", 7, 0, 0, 1_000, 0, fake.sequence(), 1, fake.digest()));
            sleep(1);
        }
        assertThat(clock.get()).isGreaterThan(TimeUnit.SECONDS.toNanos(2));
        assertThat(fake.streams).hasValue(2);
    }

    @Test
    void a_heartbeat_with_another_digest_at_the_same_batch_makes_the_copy_anew() {
        FleetWorker worker = follow();
        await(worker::isIndexed);
        long startNanos = System.nanoTime();
        fleet.heartbeat(new Heartbeat("w", 7, 0, 0, 1_000, 0, 0, 1, 4711));

        await(() -> fake.streams.get() >= 6);
        assertThat(worker.isGone()).isFalse();
        assertThat(Duration.ofNanos(System.nanoTime() - startNanos))
                .as("pauses of 50, 100, 200 and 400 ms at the least").isGreaterThanOrEqualTo(Duration.ofMillis(750));
    }

    @Test
    void neither_a_bug_nor_an_error_in_the_router_ends_the_following_of_a_worker() {
        var failures = new AtomicInteger();
        try (var fragile = new WorkerLinks(fleet, index, new EventLog(false, 8, clock::get),
                new WorkerHttp(FleetToken.NONE), new RouterMetrics(new SimpleMeterRegistry()), () -> {
            if (fake.streams.get() == failures.get() + 1) {
                switch (failures.getAndIncrement()) {
                    case 0 -> throw new IllegalStateException("a bug");
                    case 1 -> throw new StackOverflowError("too deep");
                    default -> {}
                }
            }
            return clock.get();
        })) {
            FleetWorker worker = ((Accepted) fleet.register(fake.registration())).worker();
            fragile.follow(worker);

            await(() -> fake.streams.get() == 3 && worker.isIndexed());
        }
    }

    /** After any other error it begins anew. Nobody is left to say that the copy ages; heartbeats that go on coming do. */
    @Test
    void the_copy_of_a_follower_that_died_of_an_error_is_relied_on_less_and_less() throws InterruptedException {
        FleetWorker worker = ((Accepted) fleet.register(fake.registration())).worker();
        var metrics = new RouterMetrics(new SimpleMeterRegistry());
        var copy = new WorkerCopy(fleet, worker, metrics);
        LogInbox inbox = new EventLog(false, 8, clock::get).open(worker);
        var link = new WorkerLink(worker, new Follower(worker, inbox, Backoff.ofLink(new Random(1))), copy, inbox,
                new WorkerStream(worker, new WorkerHttp(FleetToken.NONE)), () -> {
            throw new OutOfMemoryError("asked for the time before the stream is opened again");
        });
        Thread follower = Thread.ofVirtual().uncaughtExceptionHandler((_, _) -> { }).start(() -> {
            copy.apply(fake.snapshot(), ReloadSource.STREAM, clock.get());
            try {
                link.run();
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        });
        follower.join();
        fleet.heartbeat(fake.heartbeat());
        clock.addAndGet(TimeUnit.SECONDS.toNanos(4));
        assertThat(worker.indexGrade(clock.get())).isEqualTo(IndexGrade.EXACT);
        assertThat(worker.isIndexed()).isTrue();

        for (int second = 0; second <= 31; second++) {
            fake.store(second);
            fleet.heartbeat(fake.heartbeat());
            assertThat(worker.behindBatches()).isEqualTo(second + 1);
            assertThat(worker.indexGrade(clock.get())).as("after %d s", second).isEqualTo(
                    second <= 2 ? IndexGrade.EXACT : second <= 30 ? IndexGrade.HISTORY : IndexGrade.LOAD);
            clock.addAndGet(TimeUnit.SECONDS.toNanos(1));
        }
    }

    @Test
    void a_failure_while_leases_are_looked_at_does_not_end_the_watch_over_them() {
        var failures = new AtomicInteger();
        var fragile = new Fleet(index, TestWorkers.CHECK, Duration.ofSeconds(5), 10, () -> {
            if (Thread.currentThread().getName().equals("fleet-leases") && failures.getAndIncrement() < 2) {
                throw new LinkageError("a bug");
            }
            return clock.get();
        }, new ConnectProbe());
        FleetWorker worker = ((Accepted) fragile.register(fake.registration())).worker();
        try (var _ = new WorkerLinks(fragile, index, new EventLog(false, 8, clock::get),
                new WorkerHttp(FleetToken.NONE), new RouterMetrics(new SimpleMeterRegistry()), clock::get)) {
            clock.addAndGet(TimeUnit.SECONDS.toNanos(5));

            await(worker::isGone);
            assertThat(failures.get()).isGreaterThan(2);
        }
    }

    @Test
    void an_error_while_loading_a_model_leaves_the_loading_to_the_next_worker() {
        fake.corruptsFiles = true;
        var worker = ((Accepted) fleet.register(fake.registration())).worker();
        assertThat(fleet.claimLoading(worker.revision())).isTrue();
        try (var builders = Executors.newSingleThreadExecutor()) {
            var loading = new ModelLoading(fleet, worker.revision(), new WorkerHttp(FleetToken.NONE), builders,
                    new SegmentCache(0), () -> {
                throw new AssertionError("while drawing a pause");
            });
            assertThatThrownBy(loading::run).isInstanceOf(AssertionError.class);
        }
        assertThat(fleet.claimLoading(worker.revision())).isTrue();
    }

    @Test
    void a_tokenizer_waits_for_the_thread_that_builds_them_and_an_interrupt_ends_the_waiting() throws Exception {
        var busy = new CountDownLatch(1);
        try (var builders = new ThreadPoolExecutor(1, 1, 0, TimeUnit.SECONDS, new LinkedBlockingQueue<>());
                AutoCloseable _ = busy::countDown) {               // first, or nobody could close the builders
            builders.submit(() -> {
                busy.await();
                return null;
            });
            FleetWorker worker = ((Accepted) fleet.register(fake.registration())).worker();
            fleet.indexed(worker);
            Thread closing = startLoading(worker, builders);
            await(() -> builders.getQueue().size() == 1 || !closing.isAlive());
            assertThat(closing.isAlive()).as("has to wait").isTrue();
            closing.interrupt();
            closing.join();                                        // the builder is as busy as before

            Thread loading = startLoading(worker, builders);       // the claim was given back
            await(() -> builders.getQueue().size() == 2);
            assertThat(fleet.model("tiny")).isNull();
            busy.countDown();
            loading.join();
            assertThat(fleet.model("tiny")).isNotNull();
        }
    }

    @Test
    void an_event_loop_that_has_died_is_replaced_by_another_one() throws Exception {
        FleetWorker worker = ((Accepted) fleet.register(fake.registration())).worker();
        try (var http = new WorkerHttp(FleetToken.NONE)) {
            String digest = fake.registration().model().parts().tokenizer();
            byte[] tokenizer = http.file(worker, digest);
            http.loop().shutdownGracefully(0, 0, TimeUnit.SECONDS).await();

            assertThat(http.file(worker, digest)).isEqualTo(tokenizer);
        }
    }

    private Thread startLoading(FleetWorker worker, ExecutorService builders) {
        assertThat(fleet.claimLoading(worker.revision())).isTrue();
        var loading = new ModelLoading(
                fleet, worker.revision(), new WorkerHttp(FleetToken.NONE), builders, new SegmentCache(0), new Random(7));
        return Thread.ofVirtual().start(() -> {
            try {
                loading.run();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        });
    }

    @Test
    void a_worker_that_refuses_its_events_says_so_in_its_view_until_they_come() {
        fake.eventStatus = 401;
        follow();
        await(() -> fleet.snapshot().getFirst().problem() != null);
        assertThat(fleet.snapshot().getFirst().problem()).isEqualTo("its events cannot be read: worker answered 401");

        fake.eventStatus = 200;
        await(() -> fleet.snapshot().getFirst().problem() == null && fleet.model("tiny") != null);
    }

    @Test
    void what_a_worker_says_of_its_events_stands_in_one_short_line() {
        fake.eventStatus = 500;
        fake.eventProblem = "no\r\n2026-11-23 ERROR all is lost\u2028" + "x".repeat(4_000);
        follow();
        await(() -> fleet.snapshot().getFirst().problem() != null);
        assertThat(fleet.snapshot().getFirst().problem())
                .startsWith("its events cannot be read: worker answered 500: no 2026-11-23 ERROR all is lost x")
                .endsWith("x…").hasSizeLessThan(300);
    }

    @Test
    void a_worker_that_trickles_its_files_keeps_no_model_from_being_loaded_from_another_one() throws IOException {
        fake.tricklesFiles = true;
        try (var other = new FakeWorker("other", 3);
                var hasty = new WorkerLinks(fleet, index, new EventLog(/* awaited */ false, 8, clock::get),
                        new WorkerHttp(FleetToken.NONE, Duration.ofMillis(500)),
                        new RouterMetrics(new SimpleMeterRegistry()), clock::get)) {
            for (FakeWorker each : List.of(fake, other)) {
                hasty.follow(((Accepted) fleet.register(each.registration())).worker());
            }
            await(() -> fleet.snapshot().getFirst().problem() != null);
            assertThat(fleet.snapshot().getFirst().problem()).startsWith("its files cannot be had from worker w: ")
                    .endsWith("has not come within 500 ms");
            await(() -> fleet.model("tiny") != null);
        } finally {
            fake.tricklesFiles = false;
        }
    }

    @Test
    void a_stream_that_ends_is_opened_again_at_once() {
        FleetWorker worker = follow();
        await(worker::isIndexed);
        fake.frames.add(FakeWorker.END_OF_STREAM);
        await(() -> fake.streams.get() == 2);
        await(() -> worker.keys().size() == 0);
        assertThat(worker.isGone()).isFalse();
    }

    @Test
    void a_worker_whose_address_refuses_connections_is_gone_long_before_its_lease_ends() {
        fake.store(1);
        FleetWorker worker = follow();
        await(worker::isIndexed);
        fake.close();

        await(worker::isGone);
        assertThat(worker.keys().size()).isZero();
        assertThat(fleet.snapshot()).isEmpty();
    }

    @Test
    void another_epoch_at_the_address_ends_this_life() {
        fake.eventStatus = 409;
        FleetWorker worker = follow();

        await(worker::isGone);
    }

    @Test
    void a_worker_that_says_it_is_going_away_is_removed_at_once() {
        fake.eventStatus = 503;
        FleetWorker worker = follow();

        await(worker::isGone);
    }

    @Test
    void a_worker_whose_events_cannot_be_read_shows_why_until_they_can() {
        fake.sendsGarbage = true;
        FleetWorker worker = follow();
        await(() -> String.valueOf(fleet.snapshot().getFirst().problem()).startsWith("its events cannot be read: "));
        assertThat(worker.isIndexed()).isFalse();

        fake.sendsGarbage = false;
        await(worker::isIndexed);
        assertThat(String.valueOf(fleet.snapshot().getFirst().problem())).doesNotContain("events");
    }

    @Test
    void a_worker_whose_streams_break_one_after_the_other_says_so_in_its_view_until_one_has_lasted() {
        fake.endsAtOnce = true;
        FleetWorker worker = follow();
        await(() -> fleet.snapshot().getFirst().problem() != null && worker.isIndexed());
        assertThat(fleet.snapshot().getFirst().problem()).startsWith("its event stream does not last: ");
        assertThat(fake.streams.get()).isGreaterThanOrEqualTo(3);
        assertThat(fleet.notFollowed()).isOne();
        int streams = fake.streams.get();
        await(() -> fake.streams.get() > streams + 1);             // snapshots that come do not hide it
        assertThat(fleet.notFollowed()).isOne();

        fake.endsAtOnce = false;
        while (fleet.notFollowed() > 0) {
            clock.addAndGet(TimeUnit.MILLISECONDS.toNanos(5));
            fleet.heartbeat(fake.heartbeat());
            sleep(1);
        }
        assertThat(worker.isGone()).isFalse();
    }

    @Test
    void a_worker_may_announce_as_many_keys_as_its_tiers_have_blocks() {
        long[] keys = LongStream.rangeClosed(1, 150_000).toArray();
        fake.hostBlocks = 149_000;                                 // 1.2 MB, more than its pool of 1,000 blocks may need
        fake.store(keys);
        FleetWorker worker = follow();
        await(worker::isIndexed);
        assertThat(worker.keys().size()).isEqualTo(150_000);
        assertThat(worker.blockCount()).isEqualTo(1_000);

        fake.frames.add(fake.store(150_001));
        await(() -> fleet.snapshot().getFirst().problem() != null);
        assertThat(fleet.snapshot().getFirst().problem()).contains("TooManyKeys", "150000", "150001");
    }

    @Test
    void a_strangers_batch_ends_this_life() throws IOException {
        try (var stranger = new FakeWorker("stranger", 9)) {
            var claimed = fake.registration();
            FleetWorker worker = ((Accepted) fleet.register(new Registration(Protocol.VERSION, "w", 7,
                    stranger.registration().baseUrl(), claimed.model(), 1_000, 8, true))).worker();
            links.follow(worker);

            await(worker::isGone);
        }
    }

    @Test
    void a_worker_that_only_fails_stays_until_its_lease_ends() {
        fake.eventStatus = 500;
        FleetWorker worker = follow();
        await(() -> fake.streams.get() >= 2);
        assertThat(worker.isGone()).isFalse();

        clock.addAndGet(TimeUnit.SECONDS.toNanos(5));
        await(worker::isGone);
    }

    @Test
    void a_file_with_the_wrong_digest_is_not_used_and_the_reason_is_visible() {
        fake.corruptsFiles = true;
        FleetWorker worker = follow();
        await(() -> fleet.snapshot().getFirst().problem() != null);
        assertThat(fleet.snapshot().getFirst().problem()).contains(
                "its files cannot be had from worker w", worker.model().parts().tokenizer(), "arrived with digest");
        assertThat(fleet.model("tiny")).isNull();

        fake.corruptsFiles = false;
        await(() -> fleet.model("tiny") != null);
        assertThat(fleet.snapshot().getFirst().problem()).isNull();
    }

    @Test
    void however_many_cannot_be_interrupted_they_are_waited_for_together() {
        var stuck = new AtomicInteger();
        var never = new CountDownLatch(1);
        var many = new Fleet(index, TestWorkers.CHECK, Duration.ofSeconds(5), 200, clock::get, new ConnectProbe());
        var slow = new WorkerLinks(many, index, new EventLog(/* awaited */ false, 8, clock::get),
                new WorkerHttp(FleetToken.NONE), new RouterMetrics(new SimpleMeterRegistry()), () -> {
                    stuck.incrementAndGet();
                    boolean interrupted = false;
                    while (never.getCount() > 0) {
                        LockSupport.park();
                        interrupted |= Thread.interrupted();
                    }
                    if (interrupted) {
                        Thread.currentThread().interrupt();
                    }
                    return 0;
                });
        try {
            for (int i = 0; i < 100; i++) {
                Registration one = fake.registration();
                slow.follow(((Accepted) many.register(new Registration(one.protocolVersion(), "w" + i, 7,
                        one.baseUrl(), one.model(), 1_000, 8, true))).worker());
            }
            await(() -> stuck.get() >= 100);
            long begin = System.nanoTime();
            slow.close();
            assertThat(Duration.ofNanos(System.nanoTime() - begin)).as("200 ms for each would be 20 s")
                    .isLessThan(Duration.ofSeconds(20));
        } finally {
            never.countDown();
        }
    }

    private FleetWorker follow() {
        FleetWorker worker = ((Accepted) fleet.register(fake.registration())).worker();
        links.follow(worker);
        return worker;
    }

    /** Waits for another thread. */
    private static void await(BooleanSupplier condition) {
        while (!condition.getAsBoolean()) {
            sleep(2);
        }
    }

    private static void sleep(int millis) {
        try {
            Thread.sleep(millis);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }
}
