package dev.warmpath.worker.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.warmpath.protocol.generate.FailureReason;
import dev.warmpath.protocol.generate.GenerateRequest;
import dev.warmpath.protocol.generate.SamplingParameters;
import dev.warmpath.protocol.generate.StopConditions;
import dev.warmpath.protocol.pool.Stepped;
import dev.warmpath.worker.kvcache.KvCacheSettings;
import dev.warmpath.worker.scheduler.SchedulerSettings;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** An engine on its own thread that is held, stepped by hand and looked at. */
class HandSteppingTest {

    private final AtomicReference<Throwable> death = new AtomicReference<>();

    @ParameterizedTest(name = "async {0}")
    @ValueSource(booleans = {false, true})
    void a_held_engine_computes_nothing_and_a_step_draws_exactly_one_token(boolean async) throws Exception {
        try (var rig = rig(async); var engine = start(rig)) {
            engine.hold().get();
            var recording = new Recording();
            engine.submit(request(20, 500), recording);

            assertThat(engine.look(books -> books.snapshot().load().waiting()).get()).as("taken in").isEqualTo(1);
            assertThat(engine.look(books -> books.snapshot().work().steps()).get()).isZero();
            assertThat(engine.stepByHand().get()).isEqualTo(new Stepped(true, 1));
            assertThat(engine.stepByHand().get()).isEqualTo(new Stepped(true, 1));
            assertThat(engine.stepByHand().get()).isEqualTo(new Stepped(true, 1));
            assertThat(recording.tokenCount()).isEqualTo(3);
            assertThat(rig.awaits).isEqualTo(3);
            assertThat(engine.look(books -> books.scheduler().batchesInFlight()).get()).isZero();
            assertThat(engine.look(EngineBooks::held).get()).isTrue();
        }
    }

    @Test
    void a_prompt_of_three_chunks_takes_two_steps_that_draw_nothing() throws Exception {
        try (var rig = new EngineRig(64, /* maxBatchedTokens */ 32, 4); var engine = start(rig)) {
            engine.hold().get();
            engine.submit(request(70, 10), new Recording());

            assertThat(engine.stepByHand().get()).isEqualTo(new Stepped(true, 0));
            assertThat(engine.stepByHand().get()).isEqualTo(new Stepped(true, 0));
            assertThat(engine.stepByHand().get()).isEqualTo(new Stepped(true, 1));
        }
    }

    @Test
    void a_step_of_an_engine_without_work_is_none() throws Exception {
        try (var rig = rig(false); var engine = start(rig)) {
            engine.hold().get();

            assertThat(engine.stepByHand().get()).isEqualTo(new Stepped(false, 0));
            assertThat(rig.awaits).isZero();
        }
    }

    @ParameterizedTest(name = "async {0}")
    @ValueSource(booleans = {false, true})
    void a_hold_in_the_middle_of_an_answer_settles_what_is_in_flight_and_a_release_goes_on(boolean async)
            throws Exception {
        try (var rig = rig(async); var engine = start(rig)) {
            var recording = new Recording();
            engine.submit(request(20, 400), recording);
            while (engine.snapshot().work().steps() < 5) {
                Thread.onSpinWait();
            }
            engine.hold().get();
            assertThat(engine.look(books -> books.scheduler().batchesInFlight()).get()).isZero();
            long steps = engine.look(books -> books.snapshot().work().steps()).get();
            assertThat(engine.stepByHand().get()).isEqualTo(new Stepped(true, 1));
            assertThat(engine.look(books -> books.snapshot().work().steps()).get()).isEqualTo(steps + 1);
            assertThat(engine.look(books -> books.snapshot().work().steps()).get()).isEqualTo(steps + 1);

            engine.release();
            while (!recording.isOver()) {
                Thread.onSpinWait();
            }
            assertThat(recording.tokenCount()).isEqualTo(400);
            assertThat(engine.look(EngineBooks::held).get()).isFalse();
            assertThat(death).hasValue(null);
        }
    }

    @Test
    void a_cancellation_while_it_is_held_frees_the_blocks() throws Exception {
        try (var rig = rig(false); var engine = start(rig)) {
            engine.hold().get();
            Generation generation = engine.submit(request(40, 500), new Recording());
            engine.stepByHand().get();
            assertThat(engine.look(books -> books.snapshot().pool().usedBlocks()).get()).isEqualTo(3);

            engine.cancel(generation);

            assertThat(engine.look(books -> books.snapshot().pool().usedBlocks()).get()).isZero();
            assertThat(engine.resetPrefixCache().get()).as("nobody holds a block").isTrue();
            assertThat(rig.awaits).isEqualTo(1);
            while (rig.announced.size() > 0) {
                Thread.onSpinWait();
            }
        }
    }

    @Test
    void an_engine_that_nobody_holds_for_a_minute_goes_on_by_itself_and_each_step_renews_the_minute() throws Exception {
        try (var rig = rig(false); var engine = start(rig)) {
            engine.hold().get();
            var recording = new Recording();
            engine.submit(request(20, 3), recording);
            rig.nowNanos += Duration.ofSeconds(59).toNanos();
            assertThat(engine.stepByHand().get()).isEqualTo(new Stepped(true, 1));
            rig.nowNanos += Duration.ofSeconds(59).toNanos();
            assertThat(engine.look(EngineBooks::held).get()).isTrue();
            assertThat(recording.tokenCount()).isEqualTo(1);

            rig.nowNanos += Duration.ofSeconds(1).toNanos();
            while (!recording.isOver()) {
                Thread.onSpinWait();
            }
            assertThatThrownBy(engine::stepByHand).isInstanceOf(SteppingException.class)
                    .hasMessageContaining("the engine is not held");
        }
    }

    @Test
    void an_engine_that_is_closed_while_it_is_held_ends_everybody_and_holds_nobody_up() throws Exception {
        try (var rig = rig(false)) {
            Engine engine = start(rig);
            engine.hold().get();
            var recording = new Recording();
            engine.submit(request(20, 3), recording);

            engine.close();

            assertThat(recording.failed).isEqualTo(FailureReason.SHUTTING_DOWN);
            assertThatThrownBy(engine::hold).isInstanceOf(SteppingException.class);
            assertThat(engine.look(EngineBooks::held)).isCancelled();
            assertThat(death).hasValue(null);
        }
    }

    @Test
    void a_worker_that_drains_goes_on_and_is_not_held_again() throws Exception {
        try (var rig = rig(false); var engine = start(rig)) {
            engine.hold().get();
            var recording = new Recording();
            engine.submit(request(20, 3), recording);

            engine.endHolds();

            while (!recording.isOver()) {
                Thread.onSpinWait();
            }
            assertThat(recording.tokenCount()).isEqualTo(3);
            assertThatThrownBy(engine::hold).isInstanceOf(SteppingException.class)
                    .hasMessage("this worker is going away, it is not held any more");
        }
    }

    @Test
    void two_steps_at_a_time_are_refused_and_a_release_cancels_the_one_that_has_not_begun() {
        try (var rig = rig(false)) {                               // its engine has no thread: nobody takes the step
            assertThatThrownBy(rig.engine::stepByHand).isInstanceOf(SteppingException.class);
            CompletableFuture<Void> rests = rig.engine.hold();
            CompletableFuture<Stepped> step = rig.engine.stepByHand();

            assertThatThrownBy(rig.engine::stepByHand).isInstanceOf(SteppingException.class)
                    .hasMessageStartingWith("another step is being computed");
            rig.engine.release();
            assertThat(step).isCancelled();
            assertThat(rests).isCancelled();
        }
    }

    @Test
    void a_held_engine_does_not_hang_however_long_it_is_held() throws Exception {
        try (var rig = rig(false)) {
            var engine = new Engine(rig.loop, rig.intake, () -> rig.nowNanos, Duration.ofMillis(100), death::set)
                    .start();
            engine.hold().get();
            engine.submit(request(20, 3), new Recording());
            engine.stepByHand().get();

            rig.nowNanos += Duration.ofSeconds(50).toNanos();
            assertThat(engine.isHanging()).isFalse();
            assertThat(engine.snapshot().stepAgeNanos()).isZero();
            engine.close();
            assertThat(death).hasValue(null);
        }
    }

    @Test
    void a_step_that_the_device_fails_fails_its_requests_and_the_engine_stays_held() throws Exception {
        try (var rig = rig(false); var engine = start(rig)) {
            engine.hold().get();
            var recording = new Recording();
            engine.submit(request(20, 3), recording);
            rig.failingSteps = 1;

            assertThat(engine.stepByHand().get()).isEqualTo(new Stepped(true, 0));

            assertThat(recording.failed).isEqualTo(FailureReason.ENGINE_FAILURE);
            assertThat(engine.look(EngineBooks::held).get()).isTrue();
        }
    }

    @Test
    void a_look_that_throws_fails_for_itself_and_one_too_many_is_refused() throws Exception {
        try (var rig = rig(false)) {
            List<CompletableFuture<Integer>> looks = new ArrayList<>();
            for (int i = 0; i < CommandQueue.MOST_LOOKS; i++) {
                looks.add(rig.engine.look(_ -> {
                    throw new IllegalStateException("a look's bug");
                }));
            }
            assertThatThrownBy(() -> rig.engine.look(EngineBooks::held)).isInstanceOf(RefusedException.class)
                    .hasMessageStartingWith("64 others wait for a look at the engine");

            rig.loop.step();

            assertThat(looks).allSatisfy(look -> assertThatThrownBy(look::get).isInstanceOf(ExecutionException.class)
                    .hasRootCauseMessage("a look's bug"));
            CompletableFuture<Boolean> next = rig.engine.look(EngineBooks::held);
            rig.loop.step();
            assertThat(next.get()).isFalse();
        }
    }

    @Test
    void a_look_at_an_engine_that_sleeps_wakes_it_and_one_at_an_engine_that_hangs_waits() throws Exception {
        try (var rig = rig(false); var engine = start(rig)) {
            assertThat(engine.look(books -> books.pool().settings().blockCount()).get()).isEqualTo(64);
            var gate = new CountDownLatch(1);
            rig.hangs = gate;
            engine.submit(request(20, 3), new Recording());
            while (engine.snapshot().stepAgeNanos() == 0) {
                rig.nowNanos++;
                Thread.onSpinWait();
            }
            CompletableFuture<Boolean> look = engine.look(EngineBooks::held);
            assertThat(look).isNotDone();
            rig.hangs = null;
            gate.countDown();
            assertThat(look.get()).isFalse();
        }
    }

    private Engine start(EngineRig rig) {
        return new Engine(rig.loop, rig.intake, () -> rig.nowNanos, Duration.ofHours(1), death::set).start();
    }

    private static EngineRig rig(boolean async) {
        return new EngineRig(KvCacheSettings.of(64, 16),
                SchedulerSettings.of(256, 4, 4).withAsyncScheduling(async));
    }

    private static GenerateRequest request(int promptTokens, int maxTokens) {
        int[] prompt = new SplittableRandom(promptTokens).ints(promptTokens, 0, 2_000).toArray();
        return GenerateRequest.of("r", prompt, SamplingParameters.GREEDY, StopConditions.pastTheEnd(maxTokens));
    }
}
