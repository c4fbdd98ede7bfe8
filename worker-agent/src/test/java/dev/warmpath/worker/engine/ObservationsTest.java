package dev.warmpath.worker.engine;

import static dev.warmpath.worker.engine.EngineHistogram.ALLOWED_TOKENS;
import static dev.warmpath.worker.engine.EngineHistogram.BLOCKS_WAIT_TIME;
import static dev.warmpath.worker.engine.EngineHistogram.DECODE_TIME;
import static dev.warmpath.worker.engine.EngineHistogram.END_TO_END_TIME;
import static dev.warmpath.worker.engine.EngineHistogram.FIRST_TOKEN_TIME;
import static dev.warmpath.worker.engine.EngineHistogram.GENERATED_TOKENS;
import static dev.warmpath.worker.engine.EngineHistogram.INFERENCE_TIME;
import static dev.warmpath.worker.engine.EngineHistogram.INTER_TOKEN_TIME;
import static dev.warmpath.worker.engine.EngineHistogram.OUTPUT_TOKEN_TIME;
import static dev.warmpath.worker.engine.EngineHistogram.PREFILL_TIME;
import static dev.warmpath.worker.engine.EngineHistogram.PROMPT_TOKENS;
import static dev.warmpath.worker.engine.EngineHistogram.QUEUE_TIME;
import static dev.warmpath.worker.engine.EngineHistogram.STEP_DECODE_TOKENS;
import static dev.warmpath.worker.engine.EngineHistogram.STEP_PREFILL_TOKENS;
import static dev.warmpath.worker.engine.EngineHistogram.STEP_SEQUENCES;
import static dev.warmpath.worker.engine.EngineHistogram.STEP_TIME;
import static dev.warmpath.worker.engine.EngineHistogram.STEP_TOKENS;
import static dev.warmpath.worker.engine.EngineHistogram.UNCACHED_PROMPT_TOKENS;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.warmpath.protocol.generate.FailureReason;
import dev.warmpath.protocol.generate.FinishReason;
import dev.warmpath.protocol.generate.GenerateRequest;
import dev.warmpath.protocol.generate.SamplingParameters;
import dev.warmpath.protocol.generate.StopConditions;
import dev.warmpath.worker.histogram.Distribution;
import dev.warmpath.worker.kvcache.KvCacheSettings;
import dev.warmpath.worker.scheduler.SchedulerSettings;
import dev.warmpath.worker.scheduler.Sequence;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** On the model that ships, with a device whose every step takes 10 ms, one seat, and 60 tokens a step. */
class ObservationsTest {

    private static final int MILLI = 1_000_000;

    @Test
    void two_equal_requests_one_after_the_other_are_measured_to_the_millisecond() {
        try (var rig = rig(/* blocks */ 41, /* maxWaiting */ 4)) {
            rig.submit(greedy(0, 100, 3));
            rig.submit(greedy(0, 100, 2));
            rig.runToEnd();

            // a: prompt 0 to 20, tokens at 20, 30, 40; b: admitted at 40 with 96 tokens cached, tokens at 50, 60
            EngineSnapshot.Observed now = rig.loop.snapshot().observed();
            assertMillis(now, QUEUE_TIME, 2, 0 + 40);
            assertMillis(now, PREFILL_TIME, 2, 20 + 10);
            assertMillis(now, FIRST_TOKEN_TIME, 2, 20 + 50);
            assertMillis(now, INTER_TOKEN_TIME, 3, 10 + 10 + 10);
            assertMillis(now, DECODE_TIME, 2, 20 + 10);
            assertMillis(now, OUTPUT_TOKEN_TIME, 2, 10 + 10);
            assertMillis(now, INFERENCE_TIME, 2, 40 + 20);
            assertMillis(now, END_TO_END_TIME, 2, 40 + 60);
            assertMillis(now, BLOCKS_WAIT_TIME, 0, 0);
            assertMillis(now, STEP_TIME, 6, 60);
            assertSum(now, PROMPT_TOKENS, 2, 200);
            assertSum(now, UNCACHED_PROMPT_TOKENS, 2, 104);
            assertSum(now, GENERATED_TOKENS, 2, 3 + 2);
            assertSum(now, ALLOWED_TOKENS, 2, 3 + 2);
            assertSum(now, STEP_SEQUENCES, 6, 6);
            assertSum(now, STEP_TOKENS, 6, 60 + 40 + 1 + 1 + 4 + 1);
            assertSum(now, STEP_PREFILL_TOKENS, 6, 60 + 40 + 4);
            assertSum(now, STEP_DECODE_TOKENS, 6, 3);
            assertThat(now.finished(FinishReason.LENGTH)).isEqualTo(2);
            assertThat(now.promptTokens()).isEqualTo(200);
            assertThat(now.cachedPromptTokens()).isEqualTo(96);
        }
    }

    @Test
    void a_step_that_was_prepared_ahead_lasts_from_the_end_of_the_one_before_it() {
        var settings = SchedulerSettings.of(60, 1, 4).withAsyncScheduling(true);
        try (var rig = new EngineRig(KvCacheSettings.of(41, 16), settings)) {
            rig.stepNanos = 10 * MILLI;
            rig.submit(greedy(0, 50, 5));
            rig.runToEnd();

            assertMillis(rig.loop.snapshot().observed(), STEP_TIME, 5, 50);
            assertMillis(rig.loop.snapshot().observed(), INTER_TOKEN_TIME, 4, 40);
        }
    }

    @Test
    void who_never_comes_to_a_token_has_waited_and_ended_all_the_same() {
        try (var rig = rig(/* blocks */ 41, /* maxWaiting */ 2)) {
            var whole = new Recording();
            var left = new Recording();
            var late = new Recording();
            rig.engine.submit(greedy(0, 50, 4), whole);
            Generation leaves = rig.engine.submit(greedy(200, 50, 4), left);
            rig.engine.submit(new GenerateRequest("late", /* workerEpoch */ 0, new int[] {1}, SamplingParameters.GREEDY,
                    StopConditions.pastTheEnd(3), false, null, null, null, /* priority */ 0, /* timeoutMillis */ 25),
                    late);
            assertThatExceptionOfType(RefusedException.class).isThrownBy(() -> rig.submit(greedy(300, 50, 4)));
            rig.loop.step();
            rig.loop.step();
            rig.engine.cancel(leaves);
            rig.runToEnd();

            EngineSnapshot.Observed now = rig.loop.snapshot().observed();
            assertThat(now.finished(FinishReason.LENGTH)).isEqualTo(1);
            assertThat(now.cancelled()).isEqualTo(1);
            assertThat(now.failed(FailureReason.DEADLINE_EXCEEDED)).isEqualTo(1);
            assertThat(now.failed()).isEqualTo(1);
            assertThat(now.refused(FailureReason.QUEUE_FULL)).isEqualTo(1);
            // nobody's 0 ms, 20 ms until it left, 30 ms until the first turn after its 25 ms
            assertMillis(now, QUEUE_TIME, 3, 0 + 20 + 30);
            assertMillis(now, END_TO_END_TIME, 1, 40);
            long begin = whole.times.submittedNanos();
            assertThat(whole.times).isEqualTo(new GenerationTimes(begin, /* lackedBlocks */ Sequence.NEVER, begin,
                    /* firstToken */ begin + 10 * MILLI, /* ended */ begin + 40 * MILLI, 50, 0, 4, 0));
            assertThat(left.times.isAdmitted()).isFalse();
            assertThat(left.times.endedNanos()).isEqualTo(begin + 20 * MILLI);
            assertThat(late.times.endedNanos()).isEqualTo(begin + 30 * MILLI);
        }
    }

    @Test
    void waiting_for_blocks_is_told_apart_from_waiting_for_a_seat() {
        var settings = SchedulerSettings.of(300, 2, 4);
        try (var rig = new EngineRig(KvCacheSettings.of(/* blockCount */ 9, 16), settings)) {
            rig.stepNanos = 10 * MILLI;
            rig.submit(greedy(0, 100, 3));
            rig.submit(greedy(200, 100, 1));
            rig.loop.step();

            assertThat(rig.loop.snapshot().load()).isEqualTo(
                    new EngineSnapshot.Load(1, 1, 1, 100, 1, List.of(), /* contextTokens */ 201, 3));
            rig.runToEnd();
            assertMillis(rig.loop.snapshot().observed(), BLOCKS_WAIT_TIME, 1, 30);
            assertMillis(rig.loop.snapshot().observed(), QUEUE_TIME, 2, 30);
            assertThat(rig.loop.snapshot().load()).isEqualTo(new EngineSnapshot.Load(0, 0, 0, 0, 0, List.of(), 0, 4));
        }
    }

    @Test
    void requests_of_the_warm_up_are_work_but_no_requests() {
        try (var rig = rig(/* blocks */ 41, /* maxWaiting */ 4)) {
            rig.engine.submitMadeUp(greedy(0, 50, 3), List.of(new Recording()));
            rig.runToEnd();

            EngineSnapshot now = rig.loop.snapshot();
            assertThat(now.work().generatedTokens()).isEqualTo(3);
            assertMillis(now.observed(), STEP_TIME, 3, 30);
            assertThat(now.observed().finished(FinishReason.LENGTH)).isZero();
            assertMillis(now.observed(), FIRST_TOKEN_TIME, 0, 0);
        }
    }

    private static EngineRig rig(int blocks, int maxWaiting) {
        var rig = new EngineRig(KvCacheSettings.of(blocks, 16), SchedulerSettings.of(60, 1, maxWaiting));
        rig.stepNanos = 10 * MILLI;
        return rig;
    }

    private static void assertMillis(EngineSnapshot.Observed now, EngineHistogram histogram, long count, long millis) {
        assertSum(now, histogram, count, millis * MILLI);
    }

    private static void assertSum(EngineSnapshot.Observed now, EngineHistogram histogram, long count, long sum) {
        Distribution distribution = now.distribution(histogram);
        assertThat(new long[] {distribution.count(), distribution.sum()}).as("%s: count, sum", histogram)
                .containsExactly(count, sum);
    }

    private static GenerateRequest greedy(int firstToken, int promptLength, int maxTokens) {
        return GenerateRequest.of("r" + firstToken, IntStream.range(firstToken, firstToken + promptLength).toArray(),
                SamplingParameters.GREEDY, StopConditions.pastTheEnd(maxTokens));
    }
}
