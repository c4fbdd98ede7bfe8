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
    private boolean failed;

    Crowd(Path model, RequestMix mix, List<AloneRun> alone) throws IOException {
        this.mix = mix;
        this.alone = alone;
        backend = new WatchedBackend(mix.device().create(), this::compare);
        runner = ModelRunner.load(model, backend.watched(), RunnerSettings
                .of(mix.blockCount(), mix.blockSize(), mix.maxBatchedTokens(), mix.maxSequences())
                .withKernelBlockSize(mix.kernelBlockSize()).withHostBlockCount(mix.hostBlockCount()));
        var config = runner.config();
        cache = new KvCacheManager(
                new KvCacheSettings(mix.blockCount(), mix.blockSize(), mix.prefixCaching(), true));
        var limits = new RequestLimits(
                config.vocabularySize(), config.contextLength(), mix.blockSize(), cache.usableBlocks());
        scheduler = new Scheduler(new SchedulerSettings(mix.maxBatchedTokens(), mix.maxSequences(), mix.asks().size(),
                mix.chunkedPrefill(), mix.longPrefillThreshold()), limits, cache);
        loop = new EngineLoop(scheduler, cache, runner, mix.maxSequences(), mix.asks().size(), _ -> { }, () -> 0);
        mix.asks().forEach(this::prepare);
    }

    private void prepare(Ask ask) {
        var hashSettings = HashSettings.ofBlockSize(mix.blockSize());
        var tokens = new TokenSequence(hashSettings, ExtraKeys.ofSalt(null), ask.prompt().clone());
        var sequence = new Sequence("request " + ask.index(), tokens, ask.sampling(), stop(ask), new int[0], false,
                Sequence.NO_DEADLINE);
        var recording = new Recording();
        recordings.add(recording);
        generations.add(new Generation(sequence, recording));
        seenRows.add(new BitSet());
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
        int turnsSincePreemption = 0;
        for (int turn = 0; turn < mix.asks().size() * 1000; turn++) {
            for (Ask ask : mix.asks()) {
                if (ask.turn() == turn) {
                    loop.commands().submit(generations.get(ask.index()));
                }
                if (ask.cancelTurn() == turn) {
                    loop.commands().add(new Command.Cancel(generations.get(ask.index())));
                }
            }
            if (isPreempted() && !failed && turnsSincePreemption++ == mix.failure()) {
                backend.failNextStep();
                failed = true;
            }
            loop.step();
            scheduler.checkIntegrity();
            if (!loop.hasWork() && turn > 100) {
                return;
            }
        }
        throw new AssertionError("the engine does not come to an end");
    }

    private boolean isPreempted() {
        return loop.snapshot().preemptions() > 0;
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

    void requirePreempted() {
        assertThat(loop.snapshot().preemptions()).as("preemptions").isPositive();
    }

    @Override
    public void close() {
        runner.close();
    }
}
