package dev.warmpath.router.fleet;

import static dev.warmpath.router.fleet.TestWorkers.CHECK;
import static dev.warmpath.router.fleet.TestWorkers.MODEL;
import static dev.warmpath.router.fleet.TestWorkers.SHA_A;
import static dev.warmpath.router.fleet.TestWorkers.SHA_B;
import static dev.warmpath.router.fleet.TestWorkers.TOKENIZER;
import static dev.warmpath.router.fleet.TestWorkers.idle;
import static dev.warmpath.router.fleet.TestWorkers.model;
import static dev.warmpath.router.fleet.TestWorkers.parts;
import static dev.warmpath.router.fleet.TestWorkers.registration;
import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.UnsynchronizedAppenderBase;
import dev.warmpath.protocol.event.BlockChange;
import dev.warmpath.protocol.event.BlockChange.Stored;
import dev.warmpath.protocol.event.KeySetDigest;
import dev.warmpath.protocol.event.KvEventBatch;
import dev.warmpath.protocol.event.Medium;
import dev.warmpath.protocol.fleet.Heartbeat;
import dev.warmpath.protocol.fleet.ModelDescription;
import dev.warmpath.protocol.fleet.Protocol;
import dev.warmpath.protocol.fleet.RefusalReason;
import dev.warmpath.protocol.fleet.Registration;
import dev.warmpath.protocol.fleet.RevisionParts;
import dev.warmpath.router.fleet.WorkerView.State;
import dev.warmpath.router.health.HealthState;
import dev.warmpath.router.models.ServedModel;
import dev.warmpath.router.prefix.PrefixIndex;
import dev.warmpath.tokenization.ModelFiles;
import dev.warmpath.tokenization.ModelTokenizer;
import java.lang.management.ManagementFactory;
import java.net.ConnectException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;

class FleetTest {

    private final PrefixIndex index = new PrefixIndex();
    private long nowMillis;
    private volatile boolean refusesConnections;
    private final CountDownLatch probed = new CountDownLatch(1);
    private final Fleet fleet = new Fleet(index, CHECK, Duration.ofSeconds(5), /* maxWorkers */ 2,
            () -> TimeUnit.MILLISECONDS.toNanos(nowMillis), _ -> {
                boolean refused = refusesConnections;
                probed.countDown();
                return refused;
            });

    /** A worker with hundreds of streams dies: as many connections break at once. */
    @Test
    void however_many_connections_break_a_worker_is_probed_by_one_at_a_time_and_once_after() throws Exception {
        var probes = new Semaphore(0);
        var answers = new Semaphore(0);
        var atATime = new AtomicInteger();
        var asked = new Fleet(index, CHECK, Duration.ofSeconds(5), 2, () -> 0, _ -> {
            assertThat(atATime.incrementAndGet()).isOne();
            probes.release();
            answers.acquireUninterruptibly();
            atATime.decrementAndGet();
            return false;
        });
        var worker = ((RegistrationOutcome.Accepted) asked.register(registration("a", 1))).worker();

        for (int i = 0; i < 1_000; i++) {
            asked.connectionLost(worker, new ConnectException("broken"));
        }
        probes.acquire();
        answers.release();
        probes.acquire();                                          // for those that broke while the first was under way
        answers.release();
        while (atATime.get() > 0) {
            Thread.sleep(1);
        }
        assertThat(probes.availablePermits()).isZero();
        asked.connectionLost(worker, new ConnectException("broken"));
        probes.acquire();
        answers.release(1_000);
    }

    @Test
    void a_probe_that_breaks_is_not_the_last_one() throws Exception {
        var probes = new AtomicInteger();
        var asked = new Fleet(index, CHECK, Duration.ofSeconds(5), 2, () -> 0, _ -> {
            if (probes.incrementAndGet() == 1) {
                throw new IllegalStateException("no such address");
            }
            return true;
        });
        var worker = ((RegistrationOutcome.Accepted) asked.register(registration("a", 1))).worker();

        while (!worker.isGone()) {
            asked.connectionLost(worker, new ConnectException("broken"));
            Thread.sleep(1);
        }
        assertThat(probes.get()).isGreaterThanOrEqualTo(2);
        assertThat(asked.everyone()).isEmpty();
    }

    @Test
    void a_lease_is_never_shortened_by_whoever_was_held_up_on_the_way() {
        FleetWorker worker = join(registration("w", 1));
        long end = worker.leaseEndNanos();
        worker.extendLease(end + 10);
        worker.extendLease(end + 3);
        assertThat(worker.leaseEndNanos()).isEqualTo(end + 10);
    }

    @Test
    void leases_of_1_024_workers_end_each_at_its_time() {
        Fleet large = large(1_024);
        nowMillis = 4_000;
        for (int i = 0; i < 512; i++) {
            large.heartbeat(idle("w" + i, 1));
        }
        nowMillis = 4_999;
        assertThat(large.everyone()).hasSize(1_024);
        nowMillis = 5_000;
        assertThat(large.everyone()).hasSize(512);
        assertThat(large.sequences()).isEqualTo(512 * 8);
        nowMillis = 8_999;
        assertThat(large.everyone()).hasSize(512);
        nowMillis = 9_000;
        assertThat(large.everyone()).isEmpty();
        assertThat(large.models()).isEmpty();
    }

    @Test
    void a_log_that_blocks_holds_up_whoever_writes_it_and_nobody_else() throws Exception {
        FleetWorker worker = ready(registration("w", 1));
        ServedModel model = fleet.models().getFirst();
        var reached = new CountDownLatch(1);
        var goOn = new CountDownLatch(1);
        List<String> written = new CopyOnWriteArrayList<>();
        var appender = new UnsynchronizedAppenderBase<ILoggingEvent>() {
            @Override
            protected void append(ILoggingEvent event) {
                written.add(event.getFormattedMessage());
                reached.countDown();
                try {
                    goOn.await();
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                }
            }
        };
        var logger = (Logger) LoggerFactory.getLogger(Fleet.class);
        appender.setContext(logger.getLoggerContext());
        appender.start();
        logger.addAppender(appender);
        try {
            Thread newcomer = Thread.ofPlatform().start(() -> fleet.register(registration("x", 1)));
            reached.await();

            var others = CompletableFuture.runAsync(() -> {
                assertThat(fleet.workers(model)).containsExactly(worker);
                assertThat(fleet.model("tiny", 1, Set.of())).isEqualTo(model);
                assertThat(fleet.heartbeat(idle("w", 1))).isEqualTo(new HeartbeatOutcome.Extended());
                fleet.indexed(fleet.everyone().getLast());
                assertThat(fleet.workers(model)).hasSize(2);
                fleet.remove(worker, "it is enough");
            });
            others.get(10, TimeUnit.MINUTES);
            assertThat(written).hasSize(1);
            goOn.countDown();
            newcomer.join();
        } finally {
            goOn.countDown();
            logger.detachAppender(appender);
        }
        assertThat(written).satisfiesExactly(
                joined -> assertThat(joined).startsWith("worker x (epoch 1").contains("joins"),
                indexed -> assertThat(indexed).startsWith("worker x (epoch 1").endsWith("is in the index"),
                removed -> assertThat(removed).startsWith("worker w (epoch 1").endsWith("is removed: it is enough"));
    }

    /** A list of 1,024 workers takes 4 KiB, wherever a compiler puts it. */
    @Test
    void a_log_that_fails_costs_its_line_and_no_change() {
        List<String> written = new CopyOnWriteArrayList<>();
        var failsAt = new AtomicInteger(1);
        var appender = new UnsynchronizedAppenderBase<ILoggingEvent>() {
            @Override
            protected void append(ILoggingEvent event) {
                if (failsAt.getAndDecrement() > 0) {
                    throw new NoClassDefFoundError("a pattern's converter");
                }
                written.add(event.getFormattedMessage());
            }
        };
        var logger = (Logger) LoggerFactory.getLogger(ChangeLog.class.getPackageName());
        appender.setContext(logger.getLoggerContext());
        appender.start();
        logger.addAppender(appender);
        try {
            FleetWorker worker = ready(registration("w", 1));
            failsAt.set(1);
            fleet.remove(worker, "it is enough");

            assertThat(fleet.everyone()).isEmpty();
            assertThat(worker.isGone()).isTrue();
        } finally {
            logger.detachAppender(appender);
        }
        assertThat(written).filteredOn(line -> line.startsWith("1 lines on changes of the fleet are left out"))
                .hasSize(2);
    }

    /** Its clock breaks at the first, second, … time that the change of a life asks for it. */
    @Test
    void wherever_a_change_breaks_readers_see_what_has_become_of_the_books() {
        int withNobody = 0;
        for (int call = 1; call <= 10; call++) {
            var left = new AtomicInteger(Integer.MAX_VALUE);
            var breaking = new Fleet(index, CHECK, Duration.ofSeconds(5), 2, () -> {
                if (left.decrementAndGet() == 0) {
                    throw new IllegalStateException("no clock");
                }
                return 0;
            }, _ -> false);
            var first = ((RegistrationOutcome.Accepted) breaking.register(registration("w", 1))).worker();
            left.set(call);
            try {
                breaking.register(registration("w", 2));
            } catch (IllegalStateException e) {
                assertThat(e).hasMessage("no clock");
            }
            left.set(Integer.MAX_VALUE);

            List<Long> epochs = breaking.everyone().stream().map(FleetWorker::epoch).toList();
            assertThat(first.isGone()).isEqualTo(!epochs.contains(1L));
            assertThat(breaking.worker("w", 1) != null).isEqualTo(epochs.contains(1L));
            assertThat(breaking.worker("w", 2) != null).isEqualTo(epochs.contains(2L));
            withNobody += epochs.isEmpty() ? 1 : 0;
        }
        assertThat(withNobody).as("times that it broke between the two lives").isPositive();
    }

    @Test
    void what_requests_ask_of_1_024_workers_costs_no_memory_that_grows_with_them() {
        Fleet large = large(1_024);
        ServedModel model = large.models().getFirst();
        assertThat(large.workers(model)).hasSize(1_024);

        assertThat(bytesPerCall(() -> large.workers(model))).isLessThan(1_024);
        assertThat(bytesPerCall(large::models)).isLessThan(1_024);
        assertThat(bytesPerCall(large::sequences)).isLessThan(1_024);
        assertThat(bytesPerCall(large::expireLeases)).isLessThan(1_024);
        assertThat(bytesPerCall(() -> large.model("tiny", 1, Set.of()))).isLessThan(2_048);
    }

    private static long bytesPerCall(Runnable call) {
        var threads = (com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean();
        call.run();                                                // classes are loaded and lambdas linked
        long before = threads.getCurrentThreadAllocatedBytes();
        for (int i = 0; i < 200; i++) {
            call.run();
        }
        return (threads.getCurrentThreadAllocatedBytes() - before) / 200;
    }

    /** Ready ones w0, w1 and so on. */
    private Fleet large(int workers) {
        var large = new Fleet(index, CHECK, Duration.ofSeconds(5), workers,
                () -> TimeUnit.MILLISECONDS.toNanos(nowMillis), _ -> false);
        for (int i = 0; i < workers; i++) {
            large.indexed(((RegistrationOutcome.Accepted) large.register(registration("w" + i, 1))).worker());
        }
        large.modelLoaded(MODEL.revision(), TOKENIZER);
        return large;
    }

    @Test
    void another_life_of_a_sick_worker_begins_with_a_clean_sheet() {
        var first = ((RegistrationOutcome.Accepted) fleet.register(registration("a", 1))).worker();
        for (int i = 0; i < 7; i++) {
            first.health().failed("worker_lost", 0, 0);
        }
        assertThat(fleet.ofHealth(HealthState.EJECTED)).isOne();
        assertThat(fleet.snapshot().getFirst().healthProblem()).isEqualTo(
                "failed most of its last requests: worker_lost");

        var second = ((RegistrationOutcome.Accepted) fleet.register(registration("a", 2))).worker();
        assertThat(second.health().failureShare(0)).isZero();
        assertThat(fleet.ofHealth(HealthState.HEALTHY)).isOne();
    }

    @Test
    void a_worker_takes_requests_once_it_is_indexed_and_its_model_is_loaded() {
        FleetWorker worker = join(registration("w", 1));
        assertThat(fleet.model("tiny")).isNull();
        fleet.indexed(worker);
        assertThat(fleet.model("tiny")).isNull();
        assertThat(fleet.snapshot().getFirst().state()).isEqualTo(State.JOINING);

        fleet.modelLoaded(MODEL.revision(), TOKENIZER);
        ServedModel model = fleet.model("tiny");
        assertThat(model).isNotNull();
        assertThat(model.hashSettings().blockSize()).isEqualTo(16);
        assertThat(fleet.workers(model)).containsExactly(worker);
        assertThat(fleet.snapshot().getFirst().state()).isEqualTo(State.READY);
        assertThat(fleet.model("other")).isNull();
    }

    @Test
    void a_lease_ends_after_five_seconds_without_a_heartbeat_and_the_index_entries_with_it() {
        FleetWorker worker = ready(registration("w", 1));
        announce(worker, 42);
        nowMillis = 4_999;
        assertThat(fleet.models()).hasSize(1);
        fleet.heartbeat(idle("w", 1));
        nowMillis = 9_998;
        assertThat(fleet.models()).hasSize(1);
        assertThat(fleet.snapshot().getFirst().leaseAgeMillis()).isEqualTo(4_999);

        nowMillis = 9_999;
        assertThat(fleet.models()).isEmpty();
        assertThat(worker.isGone()).isTrue();
        assertThat(index.stats().entries()).isZero();
        assertThat(fleet.heartbeat(idle("w", 1))).isEqualTo(new HeartbeatOutcome.Refused(
                RefusalReason.UNKNOWN_WORKER, "worker w epoch 1 is not registered here"));
    }

    @Test
    void a_draining_worker_gets_nothing_new_keeps_its_lease_and_does_not_come_back_by_a_late_heartbeat() {
        FleetWorker worker = ready(registration("w", 1));
        FleetWorker other = ready(registration("other", 1));
        ServedModel model = fleet.model("tiny");
        nowMillis = 4_000;

        fleet.heartbeat(new Heartbeat("w", 1, 3, 2, 1_000, 0, 0, 0, 0, /* draining */ true, 0, false, 0, null));
        fleet.heartbeat(idle("w", 1));
        assertThat(fleet.workers(model)).containsExactly(other);
        assertThat(fleet.snapshot().getFirst().state()).isEqualTo(State.DRAINING);
        nowMillis = 8_999;
        assertThat(fleet.everyone()).containsExactly(worker);

        ready(registration("w", 2));
        assertThat(fleet.workers(model)).extracting(FleetWorker::epoch).containsExactly(2L);
    }

    /** It has 8 sequences, 1,000 blocks, and a context of 2,048 tokens. */
    @Test
    void counts_that_no_such_worker_can_have_are_refused_with_value_and_limit_and_change_nothing() {
        FleetWorker worker = ready(registration("w", 1));
        Heartbeat largest = new Heartbeat("w", 1, 8, 1_048_568, 1_000, 2_147_483_648L, 0, 0, 0);
        assertThat(fleet.heartbeat(largest)).isEqualTo(new HeartbeatOutcome.Extended());
        nowMillis = 4_000;

        assertRefused(new Heartbeat("w", 1, 8, 1_048_569, 0, 0, 0, 0, 0),
                "running and waiting 1048577 is above 1048576");
        assertRefused(new Heartbeat("w", 1, Integer.MAX_VALUE, Integer.MAX_VALUE, 0, 0, 0, 0, 0),
                "running and waiting 4294967294 is above 1048576");
        assertRefused(new Heartbeat("w", 1, 0, 0, 1_001, 0, 0, 0, 0), "freeBlocks 1001 is above 1000");
        assertRefused(new Heartbeat("w", 1, 2, 1, 0, 6_145, 0, 0, 0), "pendingPromptTokens 6145 is above 6144");
        assertRefused(new Heartbeat("w", 1, 2, 1, 0, 0, 0, 0, 0, false, 0, false, 0, null, 6_145, null, false),
                "contextTokens 6145 is above 6144");
        assertRefused(new Heartbeat("w", 1, 0, 0, 0, Long.MAX_VALUE, 0, 0, 0),
                "pendingPromptTokens 9223372036854775807 is above 0");
        assertThat(worker.heartbeat()).isEqualTo(largest);
        nowMillis = 5_000;
        assertThat(fleet.everyone()).as("its lease is not extended").isEmpty();
    }

    private void assertRefused(Heartbeat heartbeat, String message) {
        assertThat(fleet.heartbeat(heartbeat))
                .isEqualTo(new HeartbeatOutcome.Refused(RefusalReason.INVALID, message));
    }

    /** Batches come 100 ms after the heartbeats that tell of them, and those every 50 ms: the last is never reached. */
    @Test
    void heartbeats_that_come_faster_than_batches_do_not_make_a_copy_look_old() {
        FleetWorker worker = ready(registration("w", 1));
        worker.events().apply(new KvEventBatch("w", 1, 0, true, List.of(), 0, 0));
        for (int i = 1; i <= 200; i++) {
            nowMillis = 50 * i;
            fleet.heartbeat(new Heartbeat("w", 1, 0, 0, 1_000, 0, /* lastSequence */ i, 0, 0));
            if (i > 2) {
                worker.events().apply(new KvEventBatch("w", 1, i - 2, false, List.of(new BlockChange.Cleared()), 0, 0));
            }
            assertThat(TimeUnit.NANOSECONDS.toMillis(worker.outOfStepNanos(nowMillis * 1_000_000)))
                    .isLessThanOrEqualTo(150);
        }
        assertThat(worker.behindBatches()).isEqualTo(2);

        nowMillis += 2_000;                                        // and no batch comes any more
        fleet.heartbeat(new Heartbeat("w", 1, 0, 0, 1_000, 0, 201, 0, 0));
        nowMillis += 1;
        assertThat(worker.indexGrade(nowMillis * 1_000_000)).isEqualTo(IndexGrade.HISTORY);
    }

    @Test
    void a_worker_that_is_held_gets_requests_and_whoever_times_it_knows() {
        FleetWorker worker = ready(registration("w", 1));
        var before = new HoldWatch(worker);
        assertThat(before.wasHeld()).isFalse();

        hold("w", true);
        assertThat(fleet.workers(fleet.model("tiny"))).containsExactly(worker);
        assertThat(fleet.snapshot().getFirst().held()).isTrue();
        assertThat(before.wasHeld()).isTrue();
        var during = new HoldWatch(worker);

        hold("w", false);
        assertThat(fleet.snapshot().getFirst().held()).isFalse();
        assertThat(before.wasHeld()).as("once").isTrue();
        assertThat(during.wasHeld()).as("when it began").isTrue();
        during.restart();
        assertThat(during.wasHeld()).isFalse();
    }

    private void hold(String id, boolean held) {
        fleet.heartbeat(new Heartbeat(id, 1, 0, 0, 1_000, 0, 0, 0, 0, false, 0, false, 0, null, 0, null, held));
    }

    @Test
    void a_worker_whose_device_hangs_gets_nothing_new_until_it_says_that_it_goes_on() {
        FleetWorker worker = ready(registration("w", 1));
        FleetWorker other = ready(registration("other", 1));
        ServedModel model = fleet.model("tiny");

        fleet.heartbeat(new Heartbeat("w", 1, 3, 2, 1_000, 0, 0, 0, 0, false, 29_000, /* hanging */ false, 0, null));
        assertThat(fleet.workers(model)).containsExactly(worker, other);
        fleet.heartbeat(new Heartbeat("w", 1, 3, 2, 1_000, 0, 0, 0, 0, false, 30_000, /* hanging */ true, 0, null));
        assertThat(fleet.workers(model)).containsExactly(other);
        assertThat(fleet.sequences()).isEqualTo(other.maxSequences());
        assertThat(fleet.snapshot().getFirst().state()).isEqualTo(State.HANGING);
        assertThat(fleet.snapshot().getFirst().stepAgeMillis()).isEqualTo(30_000);

        fleet.heartbeat(new Heartbeat("w", 1, 3, 2, 1_000, 0, 0, 0, 0));
        assertThat(fleet.workers(model)).containsExactly(worker, other);
        assertThat(fleet.snapshot().getFirst().state()).isEqualTo(State.READY);
    }

    @Test
    void a_pause_of_the_router_ends_no_lease_and_the_silence_of_a_worker_does() {
        FleetWorker worker = ready(registration("w", 1));
        receiveUntil(3_000);
        nowMillis = 60_000;                                        // stopped for 57 s: heartbeats wait in the sockets
        assertThat(fleet.models()).hasSize(1);
        assertThat(fleet.snapshot().getFirst().leaseAgeMillis()).isEqualTo(3_500);

        receiveUntil(61_400);                                      // and none was there
        assertThat(fleet.models()).hasSize(1);
        receiveUntil(61_500);
        assertThat(fleet.models()).isEmpty();
        assertThat(worker.isGone()).isTrue();
    }

    @Test
    void a_heartbeat_that_waited_in_the_socket_during_a_pause_gives_a_whole_lease() {
        ready(registration("w", 1));
        receiveUntil(1_000);
        nowMillis = 20_000;
        assertThat(fleet.heartbeat(idle("w", 1))).isEqualTo(new HeartbeatOutcome.Extended());
        receiveUntil(24_900);
        assertThat(fleet.models()).hasSize(1);
        receiveUntil(25_000);
        assertThat(fleet.models()).isEmpty();
    }

    @Test
    void tokens_keep_a_worker_whose_heartbeats_do_not_come_through_and_only_that_life_of_it() {
        FleetWorker worker = ready(registration("w", 1));
        nowMillis = 4_999;
        fleet.heardFrom(worker);
        nowMillis = 9_998;
        assertThat(fleet.models()).hasSize(1);

        FleetWorker second = ready(registration("w", 2));
        nowMillis = 14_000;
        fleet.heardFrom(worker);
        assertThat(fleet.models()).hasSize(1);
        nowMillis = 14_998;
        assertThat(fleet.models()).isEmpty();
        assertThat(second.isGone()).isTrue();
    }

    /** Heartbeats could have been heard all the time. */
    private void receiveUntil(long millis) {
        while (nowMillis < millis) {
            fleet.receiving();
            nowMillis += 100;
        }
        fleet.receiving();
    }

    @Test
    void revisions_share_conversations_by_ready_capacity_whatever_the_date_of_their_files() {
        ModelDescription newer = model("tiny", parts(SHA_B), 2_000);
        ready(registration("old", 1));
        FleetWorker update = join(registration("new", 1, newer));
        fleet.modelLoaded(newer.revision(), TOKENIZER);
        assertThat(shareOf(newer)).as("nobody of it is ready").isZero();

        fleet.indexed(update);
        assertThat(shareOf(newer)).as("8 sequences each").isBetween(450, 550);
        assertThat(fleet.models()).hasSize(2);
        assertThat(fleet.revisionViews()).extracting(RevisionView::share).containsExactly(0.5, 0.5);
        ServedModel before = fleet.model("tiny", 42, Set.of());
        assertThat(fleet.model("tiny", 42, Set.of())).isEqualTo(before);
        assertThat(fleet.model("tiny", 42, Set.of(before.revision()))).isNotEqualTo(before).isNotNull();

        fleet.remove(update, "test");
        assertThat(shareOf(newer)).isZero();
        assertThat(shareOf(MODEL)).isEqualTo(1_000);
    }

    @Test
    void a_revision_whose_workers_are_ejected_gets_no_conversation_while_another_is_well() {
        ModelDescription newer = model("tiny", parts(SHA_B), 2_000);
        FleetWorker old = ready(registration("old", 1));
        FleetWorker broken = ready(registration("new", 1, newer));
        broken.health().probeUnanswered("silent");
        broken.health().probeUnanswered("silent");
        broken.health().probeUnanswered("silent");
        assertThat(broken.health().state(0)).isEqualTo(HealthState.UNREACHABLE);

        assertThat(shareOf(newer)).isZero();
        fleet.remove(old, "test");
        assertThat(shareOf(newer)).as("better a sick one than none").isEqualTo(1_000);
    }

    @Test
    void operators_weigh_drain_and_pin_revisions() {
        ModelDescription newer = model("tiny", parts(SHA_B), 2_000);
        ready(registration("old", 1));
        FleetWorker update = ready(registration("new", 1, newer));

        assertThat(fleet.weighRevision(newer.revision(), 0.25)).isTrue();
        assertThat(shareOf(newer)).as("2 of 10").isBetween(150, 250);
        fleet.weighRevision(newer.revision(), 0);
        assertThat(shareOf(newer)).isZero();
        fleet.weighRevision(newer.revision(), 1);
        assertThat(fleet.pinRevision(newer.revision())).isTrue();
        assertThat(shareOf(newer)).isEqualTo(1_000);
        fleet.remove(update, "test");
        assertThat(fleet.model("tiny")).as("pinned means this one or none").isNull();
        fleet.unpinRevision(newer.revision());
        assertThat(shareOf(MODEL)).isEqualTo(1_000);
        assertThat(fleet.weighRevision("unknown", 0)).isFalse();
        assertThat(fleet.pinRevision("unknown")).isFalse();
    }

    @Test
    void an_operator_drains_one_life_of_a_worker_through_an_ended_lease_and_takes_it_back() {
        ready(registration("w", 1));
        assertThat(fleet.drainWorker("nobody", true)).isFalse();
        assertThat(fleet.drainWorker("w", true)).isTrue();
        assertThat(fleet.models()).isEmpty();
        assertThat(fleet.snapshot().getFirst().state()).isEqualTo(State.DRAINING);

        fleet.remove(fleet.everyone().getFirst(), "its lease has ended");
        ready(registration("w", 1));
        assertThat(fleet.models()).as("the same life has come back").isEmpty();
        fleet.drainWorker("w", false);
        assertThat(fleet.models()).hasSize(1);
        fleet.drainWorker("w", true);
        ready(registration("w", 2));
        assertThat(fleet.models()).as("another life").hasSize(1);
    }

    /** Of 1,000 conversations. */
    private int shareOf(ModelDescription revision) {
        int share = 0;
        for (long beginning = 0; beginning < 1_000; beginning++) {
            share += fleet.model("tiny", beginning, Set.of()).revision().equals(revision.revision()) ? 1 : 0;
        }
        return share;
    }

    @Test
    void of_two_lives_of_one_id_the_later_one_stays_and_the_earlier_ones_blocks_are_dropped() {
        FleetWorker first = ready(registration("w", 10));
        announce(first, 42);
        FleetWorker second = ready(registration("w", 11));

        assertThat(first.isGone()).isTrue();
        assertThat(second.keys().size()).isZero();
        assertThat(refused(registration("w", 10))).isEqualTo(new RegistrationOutcome.Refused(RefusalReason.OLDER_EPOCH,
                "worker w is registered and alive with the later epoch 11 at http://127.0.0.1:9; "
                        + "epoch 10 is fenced off"));
        assertThat(fleet.heartbeat(idle("w", 10))).isInstanceOfSatisfying(HeartbeatOutcome.Refused.class,
                refused -> assertThat(refused.reason()).isEqualTo(RefusalReason.OLDER_EPOCH));
        nowMillis = 5_000;
        assertThat(join(registration("w", 10)).epoch()).isEqualTo(10);
    }

    @Test
    void registering_again_unchanged_is_accepted_and_extends_the_lease() {
        FleetWorker worker = ready(registration("w", 1));
        nowMillis = 4_000;

        assertThat(fleet.register(registration("w", 1))).isEqualTo(new RegistrationOutcome.Accepted(worker, false));
        nowMillis = 8_999;
        assertThat(fleet.models()).hasSize(1);
    }

    @Test
    void one_life_cannot_change_what_it_registered() {
        ready(registration("w", 1));
        Registration moved = new Registration(
                Protocol.VERSION, "w", 1, URI.create("http://127.0.0.1:10"), MODEL, 1_000, 8, true);

        assertThat(refused(moved)).isEqualTo(new RegistrationOutcome.Refused(RefusalReason.INVALID,
                "worker w epoch 1 is registered with baseUrl http://127.0.0.1:9, "
                        + "this worker says http://127.0.0.1:10"));
    }

    @Test
    void a_contradiction_inside_a_revision_is_refused_with_both_values() {
        ready(registration("a", 1));
        var larger = new ModelDescription("tiny", MODEL.revision(), MODEL.parts(), 1_000, 1_024);

        assertThat(refused(registration("b", 1, larger))).isEqualTo(new RegistrationOutcome.Refused(
                RefusalReason.REVISION_CONTRADICTION,
                "revision " + MODEL.revision() + " is known with vocabularySize 512, this worker says 1024"));
        // the time of writing is no contradiction: a copied file may have another one
        join(registration("b", 1, model("tiny", MODEL.parts(), 3_000)));
    }

    @Test
    void a_revision_that_is_not_the_digest_of_its_parts_is_refused_with_both_digests() {
        var wrong = new ModelDescription("tiny", "0123456789abcdef", MODEL.parts(), 1_000, 512);

        assertThat(refused(registration("w", 1, wrong))).isEqualTo(new RegistrationOutcome.Refused(
                RefusalReason.REVISION_CONTRADICTION,
                "revision 0123456789abcdef is not the digest of its parts, " + MODEL.revision()));
    }

    @Test
    void the_last_worker_of_a_revision_may_come_back_with_another_description() {
        FleetWorker first = ready(registration("w", 1));
        var larger = new ModelDescription("tiny", MODEL.revision(), MODEL.parts(), 1_000, 1_024);

        FleetWorker second = join(registration("w", 2, larger));
        assertThat(first.isGone()).isTrue();
        assertThat(fleet.claimLoading(second.revision())).isTrue();
        fleet.indexed(second);
        fleet.modelLoaded(second.revision(), TOKENIZER);
        assertThat(fleet.model("tiny").description().vocabularySize()).isEqualTo(1_024);
    }

    @Test
    void a_worker_that_comes_back_unchanged_finds_its_model_loaded() {
        ready(registration("w", 1));
        FleetWorker second = join(registration("w", 2));

        assertThat(fleet.claimLoading(second.revision())).isFalse();
        fleet.indexed(second);
        assertThat(fleet.model("tiny")).isNotNull();
    }

    @Test
    void every_field_is_checked_and_the_refusal_names_it() {
        assertInvalid(with("protocolVersion", 1), RefusalReason.PROTOCOL_VERSION,
                "worker speaks protocol version 1, this router " + Protocol.VERSION);
        assertInvalid(with("workerId", "a:b"), RefusalReason.INVALID,
                "workerId 'a:b' does not match [A-Za-z0-9][A-Za-z0-9._-]{0,255}");
        assertInvalid(with("workerId", "a\nb"), RefusalReason.INVALID,
                "workerId 'a b' does not match [A-Za-z0-9][A-Za-z0-9._-]{0,255}");
        assertInvalid(with("epoch", 0L), RefusalReason.INVALID,
                "epoch 0 is outside 1 to 9223372036854775807");
        for (String url : List.of("ftp://host", "http:///x", "file:/etc/passwd", "http://u:p@host", "http://host/path",
                "http://host?x=1", "/relative")) {
            assertInvalid(with("baseUrl", URI.create(url)), RefusalReason.INVALID,
                    "baseUrl '" + url + "' is not of the form http://host:port or https://host:port");
        }
        assertInvalid(registration("w", 1, model("tiny", MODEL.parts(), 172_801)), RefusalReason.INVALID,
                "model.createdSeconds 172801 is outside 0 to 172800");
        assertInvalid(with("blockCount", 0), RefusalReason.INVALID, "blockCount 0 is outside 1 to 16777216");
        assertInvalid(with("maxSequences", 0), RefusalReason.INVALID, "maxSequences 0 is outside 1 to 65536");
        assertInvalid(registration("w", 1, model("a b", MODEL.parts(), 1)), RefusalReason.INVALID,
                "model.name 'a b' does not match [\\p{Graph}&&[^\"\\\\]]{1,256}");
        var md5 = new RevisionParts("xyz", SHA_A, SHA_A, SHA_A, "", "sha256_cbor", "0", 16, 2_048);
        assertInvalid(registration("w", 1, model("tiny", md5, 1)), RefusalReason.INVALID,
                "model.parts.weights 'xyz' does not match [0-9a-f]{64}|");
        var otherHash = new RevisionParts(SHA_A, SHA_A, SHA_A, SHA_A, "", "xxhash", "0", 16, 2_048);
        assertInvalid(registration("w", 1, model("tiny", otherHash, 1)), RefusalReason.INVALID,
                "hash algorithm 'xxhash' is not known, this fleet speaks sha256_cbor");
        var noTokenizer = new RevisionParts(SHA_A, SHA_A, "", SHA_A, "", "sha256_cbor", "0", 16, 2_048);
        assertInvalid(registration("w", 1, model("tiny", noTokenizer, 1)), RefusalReason.INVALID,
                "model.parts.tokenizer is empty, but the router needs the model's tokenizer.json");
        var noDigest = new RevisionParts(SHA_A, SHA_A, SHA_A, SHA_A, "", "sha256_cbor", "0", 16, 2_048, "no");
        assertInvalid(registration("w", 1, model("tiny", noDigest, 1)), RefusalReason.INVALID,
                "model.parts.chatTemplate 'no' does not match [0-9a-f]{64}|");
        assertThat(fleet.snapshot()).isEmpty();
    }

    @Test
    void files_that_contradict_what_the_workers_said_are_not_served() {
        var few = new ModelDescription("tiny", MODEL.revision(), MODEL.parts(), 1_000, /* vocabulary */ 482);
        FleetWorker worker = ready(registration("w", 1, few));

        assertThat(fleet.model("tiny")).isNull();
        assertThat(fleet.snapshot().getFirst().problem())
                .isEqualTo("its tokenizer has 483 token ids, its workers take 482");
        assertThat(fleet.claimLoading(worker.revision())).isTrue();
    }

    @Test
    void files_with_a_shorter_context_than_the_workers_said_are_not_served() {
        join(registration("w", 1));
        byte[] config = "{\"max_position_embeddings\":1024}".getBytes(StandardCharsets.UTF_8);
        fleet.modelLoaded(MODEL.revision(), new ModelTokenizer(new ModelFiles(TestWorkers.resource("byte-level.json"),
                TestWorkers.resource("tokenizer_config.json"), null, config)));

        assertThat(fleet.snapshot().getFirst().problem())
                .isEqualTo("its files say a context of 1024 tokens, its workers say 2048");
    }

    @Test
    void a_fleet_without_a_token_takes_workers_of_this_machine_only() {
        var check = new RegistrationCheck(/* loopbackOnly */ true, () -> Instant.ofEpochSecond(86_400));
        for (String mine : List.of("http://127.0.0.1:9", "http://127.9.9.9:9", "http://[::1]:9", "http://LocalHost")) {
            assertThat(check.refusal(with("baseUrl", URI.create(mine)))).as(mine).isNull();
        }
        for (String other : List.of("http://10.0.0.1:9", "http://[fe80::1]:9", "http://example.org", "http://0.0.0.0",
                "http://localhost.example.org")) {
            assertThat(check.refusal(with("baseUrl", URI.create(other)))).isEqualTo(new RegistrationOutcome.Refused(
                    RefusalReason.INVALID, "baseUrl '" + other + "' is not of this machine, and the fleet has no token:"
                            + " localhost, 127.0.0.1 and [::1] are accepted without one"));
        }
    }

    @Test
    void a_full_fleet_takes_nobody_new_but_a_later_life_of_its_own() {
        join(registration("a", 1));
        join(registration("b", 1));

        assertThat(refused(registration("c", 1))).isEqualTo(new RegistrationOutcome.Refused(RefusalReason.FLEET_FULL,
                "the fleet has 2 workers, this router takes 2"));
        assertThat(join(registration("a", 2)).epoch()).isEqualTo(2);
    }

    @Test
    void a_lost_connection_removes_the_worker_only_if_a_new_one_is_refused() throws InterruptedException {
        FleetWorker worker = ready(registration("w", 1));
        fleet.connectionLost(worker, new ConnectException("Connection reset"));
        probed.await();
        assertThat(fleet.models()).hasSize(1);

        refusesConnections = true;
        fleet.connectionLost(worker, new ConnectException("Connection refused"));
        while (!worker.isGone()) {
            Thread.sleep(2);
        }
        assertThat(fleet.models()).isEmpty();
    }

    private void assertInvalid(Registration registration, RefusalReason reason, String message) {
        assertThat(refused(registration)).isEqualTo(new RegistrationOutcome.Refused(reason, message));
    }

    /** A right registration with one field replaced. */
    private static Registration with(String field, Object value) {
        return new Registration(
                field.equals("protocolVersion") ? (int) value : Protocol.VERSION,
                field.equals("workerId") ? (String) value : "w",
                field.equals("epoch") ? (long) value : 1,
                field.equals("baseUrl") ? (URI) value : URI.create("http://127.0.0.1:9"),
                MODEL,
                field.equals("blockCount") ? (int) value : 1_000,
                field.equals("maxSequences") ? (int) value : 8,
                true);
    }

    private RegistrationOutcome.Refused refused(Registration registration) {
        return (RegistrationOutcome.Refused) fleet.register(registration);
    }

    private FleetWorker join(Registration registration) {
        var accepted = (RegistrationOutcome.Accepted) fleet.register(registration);
        assertThat(accepted.isNew()).isTrue();
        return accepted.worker();
    }

    private FleetWorker ready(Registration registration) {
        FleetWorker worker = join(registration);
        fleet.modelLoaded(worker.revision(), TOKENIZER);
        fleet.indexed(worker);
        return worker;
    }

    private static void announce(FleetWorker worker, long key) {
        var digest = new KeySetDigest();
        digest.add(key);
        worker.events().apply(new KvEventBatch(worker.id(), worker.epoch(), 1, true,
                List.of(new Stored(Medium.DEVICE, new long[] {key})), 1, digest.value()));
    }
}
