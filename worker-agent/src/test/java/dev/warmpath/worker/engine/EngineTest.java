package dev.warmpath.worker.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.warmpath.protocol.generate.FailureReason;
import dev.warmpath.protocol.generate.FinishReason;
import dev.warmpath.protocol.generate.GenerateEvent.Usage;
import dev.warmpath.protocol.generate.GenerateRequest;
import dev.warmpath.protocol.generate.SamplingParameters;
import dev.warmpath.protocol.generate.StopConditions;
import dev.warmpath.worker.kvcache.KvCacheSettings;
import dev.warmpath.worker.scheduler.SchedulerSettings;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;

/** The engine on its own thread, with others around it. */
class EngineTest {

    private static final Duration HOUR = Duration.ofHours(1);

    private final AtomicReference<Throwable> death = new AtomicReference<>();

    @Test
    void four_threads_that_submit_and_cancel_leave_no_block_behind() throws Exception {
        try (var rig = new EngineRig(128, 256, 8, /* maxWaiting */ 56);
                var engine = new Engine(rig.loop, rig.intake, System::nanoTime, HOUR, death::set).start();
                var threads = Executors.newFixedThreadPool(4)) {
            List<Callable<Void>> clients = new ArrayList<>();
            for (int client = 0; client < 4; client++) {
                var random = new SplittableRandom(client);
                clients.add(() -> {
                    for (int i = 0; i < 60; i++) {
                        runOne(engine, random);
                    }
                    return null;
                });
            }
            for (var client : threads.invokeAll(clients)) {
                client.get();
            }
            // a reset succeeds only when no sequence holds a block
            assertThat(engine.resetPrefixCache().get()).isTrue();
            assertThat(death).hasValue(null);
        }
    }

    @Test
    void closing_fails_what_is_alive_and_refuses_what_comes() {
        String ended = "LENGTH";
        while (ended.equals("LENGTH")) {                           // again if the test was held up for so long
            try (var rig = new EngineRig(128, 256, 8)) {
                var engine = new Engine(rig.loop, rig.intake, System::nanoTime, HOUR, death::set).start();
                var end = new End();
                engine.submit(request(64, 1_900), end);

                engine.close();

                ended = end.ended.join();
                assertThatThrownBy(() -> engine.submit(request(8, 1), new End())).isInstanceOf(RefusedException.class)
                        .hasMessage("this worker is going away");
                assertThat(engine.resetPrefixCache()).isCancelled();
                assertThat(death).hasValue(null);
            }
        }
        assertThat(ended).isEqualTo("SHUTTING_DOWN");
    }

    @Test
    void a_broken_invariant_fails_everybody_and_is_reported() throws Exception {
        try (var rig = new EngineRig(128, 256, 8)) {
            rig.announcementFailure = new IllegalStateException("books are wrong");
            var engine = new Engine(rig.loop, rig.intake, System::nanoTime, HOUR, death::set).start();
            var end = new End();
            engine.submit(request(64, 1_900), end);

            assertThat(end.ended.get()).isEqualTo("ENGINE_FAILURE");
            engine.close();
            assertThat(death.get()).hasMessage("books are wrong");
            assertThatThrownBy(() -> engine.submit(request(8, 1), new End())).isInstanceOf(RefusedException.class);
        }
    }

    @Test
    void a_device_that_hangs_lets_nobody_in_and_one_that_comes_back_does() throws Exception {
        try (var rig = new EngineRig(128, 256, 8);
                var engine = new Engine(rig.loop, rig.intake, () -> rig.nowNanos, Duration.ofSeconds(30), death::set)
                        .start()) {
            var gate = new CountDownLatch(1);
            rig.hangs = gate;
            var end = new End();
            engine.submit(request(64, 20), end);
            while (engine.snapshot().stepAgeNanos() == 0) {        // until the device is at work
                rig.nowNanos++;
                Thread.onSpinWait();
            }
            rig.nowNanos += Duration.ofSeconds(29).toNanos();
            assertThat(engine.snapshot().stepAgeNanos()).isBetween(29_000_000_000L, 29_999_999_999L);
            assertThat(engine.isHanging()).isFalse();

            rig.nowNanos += Duration.ofSeconds(30).toNanos();
            assertThat(engine.isHanging()).isTrue();
            assertThatThrownBy(() -> engine.submit(request(8, 1), new End()))
                    .isInstanceOfSatisfying(RefusedException.class,
                            refused -> assertThat(refused.reason()).isEqualTo(FailureReason.SHUTTING_DOWN))
                    .hasMessageContaining("of 30000 ms that it may");
            assertThat(death).hasValue(null);

            rig.hangs = null;
            gate.countDown();
            assertThat(end.ended.get()).isEqualTo("LENGTH");
            while (engine.snapshot().load().running() > 0) {
                Thread.onSpinWait();
            }
            assertThat(engine.isHanging()).isFalse();
            var next = new End();
            engine.submit(request(8, 1), next);
            assertThat(next.ended.get()).isEqualTo("LENGTH");
            assertThat(death).hasValue(null);
        }
    }

    @Test
    void a_device_that_hangs_for_twice_as_long_as_it_may_is_the_engines_death() throws Exception {
        try (var rig = new EngineRig(128, 256, 8)) {
            var gate = new CountDownLatch(1);
            rig.hangs = gate;
            var dead = new CompletableFuture<Throwable>();
            var engine = new Engine(rig.loop, rig.intake, () -> rig.nowNanos, Duration.ofSeconds(1), dead::complete)
                    .start();
            engine.submit(request(64, 20), new End());
            while (engine.snapshot().stepAgeNanos() == 0) {
                rig.nowNanos++;
                Thread.onSpinWait();
            }
            rig.nowNanos += Duration.ofSeconds(2).toNanos();

            assertThat(dead.get()).isInstanceOf(StepHangsException.class).hasMessageStartingWith(
                    "a step has been running for 2000 ms, of 1000 ms that it may: if the device is only slow");
            rig.hangs = null;
            gate.countDown();
            engine.close();
        }
    }

    @Test
    void a_listener_that_throws_loses_its_own_generation_and_nobody_elses() {
        try (var rig = new EngineRig(KvCacheSettings.of(128, 16), SchedulerSettings.of(256, 8, 8).withSteps(4))) {
            var calls = new AtomicInteger();
            var broken = new End() {
                @Override
                public void onToken(int token, float logprob) {
                    calls.incrementAndGet();
                    throw new IllegalStateException("a listener's bug");
                }
            };
            rig.engine.submit(request(20, 500), broken);
            Recording other = rig.submit(request(30, 5));
            rig.runToEnd();

            assertThat(calls).as("it is told of no more tokens").hasValue(1);
            assertThat(broken.ended).isCompletedWithValue("ENGINE_FAILURE");
            assertThat(other.finished).isEqualTo(FinishReason.LENGTH);
            assertThat(rig.loop.snapshot().work().generatedTokens()).isLessThan(10);
            assertThat(rig.loop.snapshot().pool().usedBlocks()).isZero();
        }
    }

    private static void runOne(Engine engine, SplittableRandom random) throws Exception {
        var end = new End();
        Generation generation = engine.submit(request(1 + random.nextInt(100), 1 + random.nextInt(20)), end);
        if (random.nextInt(3) == 0) {
            engine.cancel(generation);
        } else {
            assertThat(end.ended.get()).isEqualTo("LENGTH");
        }
    }

    private static GenerateRequest request(int promptTokens, int maxTokens) {
        int[] prompt = new SplittableRandom(promptTokens).ints(promptTokens, 0, 2_000).toArray();
        return GenerateRequest.of("r", prompt, SamplingParameters.GREEDY,
                StopConditions.pastTheEnd(maxTokens));
    }

    /** Waits for the last word. */
    private static class End implements GenerationListener {

        final CompletableFuture<String> ended = new CompletableFuture<>();

        @Override
        public void onToken(int token, float logprob) {
            // only the end counts
        }

        @Override
        public void onFinished(FinishReason reason, Usage usage) {
            ended.complete(reason.name());
        }

        @Override
        public void onFailed(FailureReason reason, String message) {
            ended.complete(reason.name());
        }
    }
}
