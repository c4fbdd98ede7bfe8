package dev.warmpath.worker.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.protocol.generate.GenerateRequest;
import dev.warmpath.protocol.generate.SamplingParameters;
import dev.warmpath.protocol.generate.StopConditions;
import dev.warmpath.worker.kvcache.KvCacheSettings;
import dev.warmpath.worker.scheduler.SchedulerSettings;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.function.Predicate;
import java.util.stream.IntStream;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingFile;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What the JDK's Flight Recorder hears of a run, against what the engine counted in it. */
class FlightRecorderTest {

    @TempDir
    Path folder;

    /** Too few blocks for six sequences of 120 tokens, and swap space for two: all that can happen happens. */
    @Test
    void events_add_up_to_what_the_engine_has_counted() throws IOException {
        var settings = SchedulerSettings.of(300, 12, 12).withReserveWholeSequence(false);
        try (var rig = new EngineRig(KvCacheSettings.of(21, 16).withHostBlockCount(6), settings)) {
            rig.stepNanos = 10_000_000;
            List<RecordedEvent> events = recorded(() -> {
                for (int i = 0; i < 6; i++) {
                    rig.submit(greedy("r" + i, 100 * i, 60, 60));
                }
                rig.runToEnd();
                rig.loop.step();                     // has nothing to do and tells nothing
            });
            EngineSnapshot end = rig.loop.snapshot();

            assertThat(named("Step", events)).hasSize((int) end.work().steps());
            assertThat(sum("Step", "prefillTokens", events) + sum("Step", "decodeTokens", events))
                    .isEqualTo(end.work().computedTokens());
            assertThat(sum("Step", "wait", events)).isEqualTo(10_000_000 * end.work().steps());
            assertThat(named("Step", events)).allSatisfy(step -> assertThat(step.getInt("deviceSteps")).isEqualTo(1))
                    .anySatisfy(step -> assertThat(step.getInt("sequences")).isEqualTo(5));
            assertThat(sum("Eviction", "blocks", events)).isEqualTo(end.prefixCache().evictions()).isPositive();
            assertThat(count("Preemption", events, event -> event.getString("mode").equals("swap")))
                    .isEqualTo(end.work().swapPreemptions()).isPositive();
            assertThat(count("Preemption", events, event -> event.getString("mode").equals("recompute")))
                    .isEqualTo(end.work().recomputePreemptions()).isPositive();
            assertThat(named("Preemption", events)).allSatisfy(preemption -> {
                assertThat(preemption.getString("request")).matches("r[0-5]");
                assertThat(preemption.getInt("tokens")).isBetween(60, 119);
                assertThat(preemption.getInt("times")).isPositive();
            });
            assertThat(blocks("out", events)).isEqualTo(end.swap().outBlocks()).isPositive();
            assertThat(blocks("in", events)).isEqualTo(end.swap().inBlocks()).isPositive();
            assertThat(count("BlockAllocationFailure", events, event -> event.getBoolean("running")))
                    .as("each has a victim").isEqualTo(end.work().preemptions());
            assertThat(count("BlockAllocationFailure", events, event -> !event.getBoolean("running"))).isPositive();
        }
    }

    @Test
    void a_turn_that_works_ahead_tells_what_it_settled() throws IOException {
        var settings = SchedulerSettings.of(60, 1, 4).withAsyncScheduling(true).withSteps(2);
        try (var rig = new EngineRig(KvCacheSettings.of(41, 16), settings)) {
            List<RecordedEvent> events = recorded(() -> {
                rig.submit(greedy("r", 0, 50, 5));
                rig.runToEnd();
            });

            assertThat(sum("Step", "deviceSteps", events)).isEqualTo(rig.loop.snapshot().work().steps());
            assertThat(named("Step", events).getFirst().getInt("deviceSteps")).as("has only submitted").isZero();
            assertThat(sum("Step", "prefillTokens", events)).isEqualTo(50);
        }
    }

    /** This thread's events of ours. */
    private List<RecordedEvent> recorded(Runnable run) throws IOException {
        Path file = folder.resolve("run.jfr");
        try (var recording = new jdk.jfr.Recording()) {
            recording.start();
            run.run();
            recording.stop();
            recording.dump(file);
        }
        return RecordingFile.readAllEvents(file).stream()
                .filter(event -> event.getEventType().getName().startsWith("warmpath."))
                .filter(event -> event.getThread().getJavaThreadId() == Thread.currentThread().threadId())
                .toList();
    }

    private static List<RecordedEvent> named(String name, List<RecordedEvent> events) {
        return events.stream().filter(event -> event.getEventType().getName().equals("warmpath." + name)).toList();
    }

    private static long count(String name, List<RecordedEvent> events, Predicate<RecordedEvent> which) {
        return named(name, events).stream().filter(which).count();
    }

    private static long sum(String name, String field, List<RecordedEvent> events) {
        return named(name, events).stream().mapToLong(event -> event.getLong(field)).sum();
    }

    private static long blocks(String direction, List<RecordedEvent> events) {
        return sum("Swap", "blocks", named("Swap", events).stream()
                .filter(event -> event.getString("direction").equals(direction)).toList());
    }

    private static GenerateRequest greedy(String id, int firstToken, int promptLength, int maxTokens) {
        return GenerateRequest.of(id, IntStream.range(firstToken, firstToken + promptLength).toArray(),
                SamplingParameters.GREEDY, StopConditions.pastTheEnd(maxTokens));
    }
}
