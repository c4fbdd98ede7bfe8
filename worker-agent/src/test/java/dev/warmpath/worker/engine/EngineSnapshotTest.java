package dev.warmpath.worker.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.protocol.fleet.RouterId;
import dev.warmpath.protocol.fleet.RouterLoad;
import dev.warmpath.protocol.generate.FailureReason;
import dev.warmpath.protocol.generate.FinishReason;
import dev.warmpath.protocol.generate.GenerateEvent.Usage;
import dev.warmpath.protocol.generate.GenerateRequest;
import dev.warmpath.protocol.generate.SamplingParameters;
import dev.warmpath.protocol.generate.StopConditions;
import dev.warmpath.worker.kvcache.KvCacheSettings;
import dev.warmpath.worker.scheduler.SchedulerSettings;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** What the engine tells of itself, counted by hand on the model that ships; blocks have 16 tokens. */
class EngineSnapshotTest {

    @Test
    void a_running_engine_tells_load_slots_hits_and_device_time() {
        try (var rig = new EngineRig(KvCacheSettings.of(41, 16), SchedulerSettings.of(120, 2, 4))) {
            rig.engine.submit(greedy("a", 0, 100, 4), new Ticking(rig));
            rig.engine.submit(greedy("b", 0, 100, 4), new Ticking(rig));
            rig.engine.submit(greedy("c", 500, 30, 4), new Ticking(rig));
            rig.loop.step();

            EngineSnapshot now = rig.loop.snapshot();
            // c waits for a seat; three requests were taken, and two have their first token: 101, 101 and 30 tokens
            assertThat(now.load()).isEqualTo(new EngineSnapshot.Load(2, 1, 0, 30, 1, List.of(), 232, 5));
            // 6 full blocks for both and a last one each, in which 4 tokens stand
            assertThat(now.pool()).isEqualTo(new EngineSnapshot.Pool(40, 32, 6, 8 * 16, 2 * 12));
            assertThat(now.pool().fragmentation()).isEqualTo(0.1875);
            assertThat(now.prefixCache()).isEqualTo(new EngineSnapshot.PrefixCache(200, 96, 12, 6, 0.48, 0, 0, 0));
            assertThat(now.swap()).isEqualTo(new EngineSnapshot.Swap(0, 0, 0, 0));
            // each of the two tokens took the clock 5 ms further while it was told
            assertThat(now.work()).isEqualTo(new EngineSnapshot.Work(1, 10_000_000, 104, 2, 0, 0, 0));

            rig.runToEnd();
            rig.engine.resetPrefixCache();
            rig.loop.step();
            EngineSnapshot end = rig.loop.snapshot();
            assertThat(end.load()).isEqualTo(new EngineSnapshot.Load(0, 0, 0, 0, 0, List.of(), 0, 6));
            assertThat(end.pool()).isEqualTo(new EngineSnapshot.Pool(40, 40, 0, 0, 0));
            assertThat(end.prefixCache()).isEqualTo(new EngineSnapshot.PrefixCache(230, 96, 13, 6, 0, 0, 0, 1));
            // 104 + 30 prompt tokens, and 3 of each answer; its last is not computed
            assertThat(end.work()).isEqualTo(new EngineSnapshot.Work(8, 60_000_000, 143, 12, 0, 0, 0));
        }
    }

    /** The first is computed in one step; the second finds 96 of its 100 tokens cached when it comes. */
    @Test
    void a_request_counts_for_the_router_that_sent_it_until_it_ends() {
        var router = new RouterId("r1");
        try (var rig = new EngineRig(KvCacheSettings.of(41, 16), SchedulerSettings.of(120, 1, 4))) {
            rig.engine.submit(greedy("a", 0, 100, 4).forWorker(0, "h1", router), new Ticking(rig));
            rig.loop.step();
            rig.engine.submit(greedy("b", 0, 100, 4).forWorker(0, "h2", router), new Ticking(rig));
            rig.loop.step();

            assertThat(rig.loop.snapshot().load()).isEqualTo(new EngineSnapshot.Load(1, 1, 0, 4, 1,
                    List.of(new RouterLoad(router, 2, 1, 4)), /* two of a's tokens are drawn */ 202,
                    /* two taken, one first token */ 3));
            rig.runToEnd();
            assertThat(rig.loop.snapshot().load().routers()).isEmpty();
        }
    }

    @Test
    void preemptions_swaps_and_evictions_are_told_apart() {
        var settings = SchedulerSettings.of(300, 12, 12).withReserveWholeSequence(false);
        try (var rig = new EngineRig(KvCacheSettings.of(21, 16).withHostBlockCount(6), settings)) {
            for (int i = 0; i < 6; i++) {
                rig.engine.submit(greedy("r" + i, 100 * i, 60, 60), new Ticking(rig));
            }
            rig.runToEnd();

            EngineSnapshot end = rig.loop.snapshot();
            assertThat(end.work().recomputePreemptions()).isEqualTo(rig.scheduler.recomputePreemptions()).isPositive();
            assertThat(end.work().swapPreemptions()).isEqualTo(rig.scheduler.swapPreemptions()).isPositive();
            assertThat(end.swap()).isEqualTo(new EngineSnapshot.Swap(
                    6, 6, rig.cache.swappedOutBlocks(), rig.cache.swappedInBlocks()));
            assertThat(end.prefixCache().evictions()).isEqualTo(rig.cache.stats().evictedBlocks()).isPositive();
            assertThat(new long[] {end.work().recomputePreemptions(), end.work().swapPreemptions(),
                end.swap().outBlocks(), end.swap().inBlocks(), end.prefixCache().evictions()})
                    .as("one cannot stand in for another").doesNotHaveDuplicates();
        }
    }

    private static GenerateRequest greedy(String id, int firstToken, int promptLength, int maxTokens) {
        return GenerateRequest.of(id, IntStream.range(firstToken, firstToken + promptLength).toArray(),
                SamplingParameters.GREEDY, StopConditions.pastTheEnd(maxTokens));
    }

    /** Takes 5 ms for every token. */
    private record Ticking(EngineRig rig) implements GenerationListener {

        @Override
        public void onToken(int token, float logprob) {
            rig.nowNanos += 5_000_000;
        }

        @Override
        public void onFinished(FinishReason reason, Usage usage) {
            // only the time counts
        }

        @Override
        public void onFailed(FailureReason reason, String message) {
            throw new AssertionError(message);
        }
    }
}
