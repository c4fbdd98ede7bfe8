package dev.warmpath.worker.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.protocol.block.ExtraKeys;
import dev.warmpath.protocol.block.HashSettings;
import dev.warmpath.protocol.generate.StopConditions;
import dev.warmpath.worker.engine.CommandQueue.Command;
import dev.warmpath.worker.engine.RequestMix.Ask;
import dev.warmpath.worker.kvcache.KvCacheManager;
import dev.warmpath.worker.kvcache.KvCacheSettings;
import dev.warmpath.worker.kvcache.TokenSequence;
import dev.warmpath.worker.model.ModelRunner;
import dev.warmpath.worker.model.RunnerSettings;
import dev.warmpath.worker.scheduler.RequestLimits;
import dev.warmpath.worker.scheduler.Scheduler;
import dev.warmpath.worker.scheduler.SchedulerSettings;
import dev.warmpath.worker.scheduler.Sequence;
import dev.warmpath.worker.scheduler.SequenceState;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.List;

/** The engine with all requests of a mix, turned by hand; each row of logits is held to the request's run alone. */
final class Crowd implements AutoCloseable {

    /** What happened on the way. */
    record Seen(long hitTokens, long blocksCopiedOnWrite, long feedingSteps, long cancelled, long failed) {

        static final Seen NOTHING = new Seen(0, 0, 0, 0, 0);

        Seen plus(Seen other) {
            return new Seen(hitTokens + other.hitTokens, blocksCopiedOnWrite + other.blocksCopiedOnWrite,
                    feedingSteps + other.feedingSteps, cancelled + other.cancelled, failed + other.failed);
        }
    }

    private static final int MOST_TURNS = 20_000;
    private static final long TURN_NANOS = 1_000_000;
    private static final int OVERTAKE_LIMIT_TURNS = 50;

    private final RequestMix mix;
    private final List<AloneRun> alone;
    private final WatchedBackend backend;
    private final ModelRunner runner;
    private final KvCacheManager cache;
    private final Scheduler scheduler;
    private final EngineLoop loop;
    private final List<Generation> generations = new ArrayList<>();
    private final List<Recording> recordings = new ArrayList<>();
    /** For each request, of which generated tokens the logits were seen. */
    private final List<BitSet> seenRows = new ArrayList<>();
    private int turn;
    private boolean failed;

    Crowd(Path model, RequestMix mix, List<AloneRun> alone) throws IOException {
        this.mix = mix;
        this.alone = alone;
        backend = new WatchedBackend(mix.device().create(), this::compare);
        var settings = schedulerSettings();
        runner = ModelRunner.load(model, backend.watched(),
                new RunnerSettings(mix.blockCount(), mix.hostBlockCount(), mix.blockSize(), mix.kernelBlockSize(),
                        mix.maxBatchedTokens(), mix.maxSequences(), settings.maxStepsInFlight()));
        var config = runner.config();
        var cacheSettings = KvCacheSettings.of(mix.blockCount(), mix.blockSize()).withMaxLength(config.contextLength())
                .withPrefixCaching(mix.prefixCaching()).withFreeOrder(mix.freeOrder()).withWatermark(mix.watermark())
                .withHostBlockCount(mix.hostBlockCount());
        cache = new KvCacheManager(cacheSettings);
        var limits = new RequestLimits(config.vocabularySize(), config.contextLength(), cacheSettings,
                settings.mostTokensInFlight());
        scheduler = new Scheduler(settings, limits, cache);
        loop = new EngineLoop(scheduler, cache, runner, mix.maxSequences(), mix.asks().size(), _ -> { },
                () -> turn * TURN_NANOS);
        mix.asks().forEach(this::prepare);
    }

    private SchedulerSettings schedulerSettings() {
        return SchedulerSettings.of(mix.maxBatchedTokens(), mix.maxSequences(), mix.asks().size())
                .withChunkedPrefill(mix.chunkedPrefill()).withLongPrefillThreshold(mix.longPrefillThreshold())
                .withPolicy(mix.policy()).withSteps(mix.steps()).withAsyncScheduling(mix.async())
                .withReserveWholeSequence(mix.reserveWholeSequence()).withCacheAwareWindow(mix.cacheAwareWindow())
                .withOvertakeLimitNanos(OVERTAKE_LIMIT_TURNS * TURN_NANOS);
    }

    private void prepare(Ask ask) {
        var recording = new Recording();
        recordings.add(recording);
        generations.add(new Generation(sequence(ask), recording));
        seenRows.add(new BitSet());
    }

    private Sequence sequence(Ask ask) {
        if (ask.leader() != RequestMix.NO_LEADER) {
            return generations.get(ask.leader()).sequence().follower(ask.sampling());
        }
        var tokens = new TokenSequence(HashSettings.ofBlockSize(mix.blockSize()), ExtraKeys.ofSalt(null),
                ask.prompt().clone());
        return new Sequence("request " + ask.index(), tokens, ask.sampling(), stop(ask), new int[0], false,
                ask.priority(), Sequence.NO_DEADLINE);
    }

    private StopConditions stop(Ask ask) {
        return ask.stop(alone.get(ask.leader() == RequestMix.NO_LEADER ? ask.index() : ask.leader()).tokens());
    }

    private void compare(long seed, int counter, MemorySegment logits) {
        Ask ask = mix.asks().get((int) seed);
        int drawn = counter - ask.prompt().length;
        long difference = MemorySegment.ofArray(alone.get(ask.index()).logits()[drawn]).mismatch(logits);
        if (difference != -1) {
            throw new AssertionError("logits of token %d of %s differ from those alone, first in element %d".formatted(
                    drawn, ask, difference / Float.BYTES));
        }
        seenRows.get(ask.index()).set(drawn);
    }

    /** Turns until all have come and gone. */
    void run() {
        int turnsSincePressed = 0;
        for (; turn <= RequestMix.LAST_ARRIVAL || loop.hasWork(); turn++) {
            comeAndGo();
            if (isPressed() && !failed && turnsSincePressed++ == mix.failure()) {
                backend.failNextStep();
                failed = true;
            }
            loop.step();
            scheduler.checkIntegrity();
            if (turn == MOST_TURNS) {
                throw new AssertionError("the engine does not come to an end");
            }
        }
    }

    private void comeAndGo() {
        for (Ask ask : mix.asks()) {
            if (ask.turn() == turn && ask.leader() == RequestMix.NO_LEADER) {
                loop.commands().submit(mix.asks().stream()
                        .filter(other -> other == ask || other.leader() == ask.index())
                        .map(other -> generations.get(other.index())).toList());
            }
            if (ask.cancelTurn() == turn) {
                loop.commands().add(new Command.Cancel(generations.get(ask.index())));
            }
        }
    }

    /** True once the pool was too small in the way that the mix wants it. */
    private boolean isPressed() {
        EngineSnapshot now = loop.snapshot();
        return switch (mix.swapSpace()) {
            case NONE, TIGHT -> now.recomputePreemptions() > 0;
            case AMPLE -> now.swapPreemptions() > 0 && now.swappedOutBlocks() > 0 && now.swappedInBlocks() > 0;
        };
    }

    void requireEqual() {
        for (Ask ask : mix.asks()) {
            int[] tokens = recordings.get(ask.index()).tokens();
            int[] expected = expected(ask);
            switch (generations.get(ask.index()).sequence().state()) {
                case SequenceState.Finished _ -> {
                    assertThat(tokens).as("%s", ask).isEqualTo(expected);
                    assertThat(seenRows.get(ask.index()).cardinality()).as("%s: logits seen", ask)
                            .isGreaterThanOrEqualTo(expected.length);
                }
                case SequenceState.Cancelled _ -> requireBeginning(ask, tokens, expected);
                case SequenceState.Failed _ -> {
                    assertThat(failed).as("%s: a step failed", ask).isTrue();
                    requireBeginning(ask, tokens, expected);
                }
                case SequenceState.Alive state -> throw new AssertionError(ask + " is " + state);
            }
        }
        assertThat(cache.freeBlocks()).isEqualTo(cache.usableBlocks());
    }

    private int[] expected(Ask ask) {
        int[] tokens = alone.get(ask.index()).tokens();
        StopConditions stop = stop(ask);
        for (int i = 0; i < tokens.length; i++) {
            if (stop.stopsAt(tokens[i])) {
                return Arrays.copyOf(tokens, i + 1);
            }
        }
        return tokens;
    }

    private static void requireBeginning(Ask ask, int[] tokens, int[] expected) {
        assertThat(tokens).as("%s", ask).isEqualTo(Arrays.copyOf(expected, tokens.length));
    }

    void requirePressed() {
        EngineSnapshot end = loop.snapshot();
        assertThat(isPressed()).as("recomputed %d, swapped %d times, %d blocks out, %d in", end.recomputePreemptions(),
                end.swapPreemptions(), end.swappedOutBlocks(), end.swappedInBlocks()).isTrue();
        assertThat(mix.swapSpace() == RequestMix.SwapSpace.NONE && end.swapPreemptions() > 0).isFalse();
        assertThat(end.freeHostBlocks()).as("free host blocks").isEqualTo(mix.hostBlockCount());
    }

    Seen seen() {
        return new Seen(loop.snapshot().hitTokens(), backend.copiesWithinDevice(), backend.feedingSteps(),
                count(SequenceState.Cancelled.class), count(SequenceState.Failed.class));
    }

    private long count(Class<? extends SequenceState> end) {
        return generations.stream().filter(generation -> end.isInstance(generation.sequence().state())).count();
    }

    @Override
    public void close() {
        runner.close();
    }
}
