package dev.warmpath.worker.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.protocol.block.ExtraKeys;
import dev.warmpath.protocol.block.HashSettings;
import dev.warmpath.protocol.generate.StopConditions;
import dev.warmpath.worker.engine.RequestMix.Ask;
import dev.warmpath.worker.kvcache.CacheGroup;
import dev.warmpath.worker.kvcache.KvCacheManager;
import dev.warmpath.worker.kvcache.KvCacheSettings;
import dev.warmpath.worker.kvcache.TokenSequence;
import dev.warmpath.worker.model.LoadedModel;
import dev.warmpath.worker.model.ModelConfig;
import dev.warmpath.worker.model.ModelRunner;
import dev.warmpath.worker.model.StepSettings;
import dev.warmpath.worker.scheduler.Logprobs;
import dev.warmpath.worker.scheduler.RequestLimits;
import dev.warmpath.worker.scheduler.Scheduler;
import dev.warmpath.worker.scheduler.SchedulerSettings;
import dev.warmpath.worker.scheduler.Sequence;
import dev.warmpath.worker.scheduler.SequenceState;
import dev.warmpath.worker.scheduler.SequenceState.Alive;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.List;

/** The engine with all requests of a mix, turned by hand; each row of logits is held to the request's run alone. */
final class Crowd implements AutoCloseable {

    /** What happened on the way; {@code failed} counts requests whose rest was asked for again. */
    record Seen(long hitTokens, long blocksCopiedOnWrite, long feedingSteps, long cancelled, long failed) {

        static final Seen NOTHING = new Seen(0, 0, 0, 0, 0);

        Seen plus(Seen other) {
            return new Seen(hitTokens + other.hitTokens, blocksCopiedOnWrite + other.blocksCopiedOnWrite,
                    feedingSteps + other.feedingSteps, cancelled + other.cancelled, failed + other.failed);
        }
    }

    private static final int MOST_TURNS = 20_000;
    private static final int MOST_FAILURES = 6;
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
    /** For each request, how many tokens were known, and part of the prompt, when it was asked the last time. */
    private final int[] given;
    private int turn;
    private int failures;
    private int turnsUnharmed;
    private int failedRequests;

    /** @param model's weights lie in {@code directory} */
    Crowd(Path directory, ModelConfig model, RequestMix mix, List<AloneRun> alone) throws IOException {
        this.mix = mix;
        this.alone = alone;
        given = new int[mix.asks().size()];
        backend = new WatchedBackend(mix.device().create(mix.cacheType()), this::compare);
        var settings = schedulerSettings();
        runner = LoadedModel.load(directory, model, backend.watched(), new StepSettings(mix.blockSize(),
                        mix.kernelBlockSize(), mix.maxBatchedTokens(), mix.maxSequences(),
                        settings.maxStepsInFlight()))
                .withCache(mix.blockCount(), mix.hostBlockCount());
        var config = runner.config();
        var cacheSettings = KvCacheSettings.of(mix.blockCount(), mix.blockSize())
                .withGroups(config.groupWindows().stream().map(CacheGroup::ofWindow).toList())
                .withMaxLength(config.contextLength())
                .withPrefixCaching(mix.prefixCaching()).withFreeOrder(mix.freeOrder()).withWatermark(mix.watermark())
                .withHostBlockCount(mix.hostBlockCount());
        cache = new KvCacheManager(cacheSettings);
        var limits = new RequestLimits(config.vocabularySize(), config.contextLength(), cacheSettings,
                settings.mostTokensInFlight());
        scheduler = new Scheduler(settings, limits, cache);
        loop = new EngineLoop(scheduler, cache, runner, _ -> { }, () -> { }, () -> turn * TURN_NANOS);
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
        generations.add(new Generation(sequence(ask), recording, /* submittedNanos */ 0, /* madeUp */ false));
        seenRows.add(new BitSet());
    }

    private Sequence sequence(Ask ask) {
        if (ask.leader() != RequestMix.NO_LEADER) {
            return generations.get(ask.leader()).sequence().follower(ask.sampling());
        }
        return sequence(ask, ask.prompt().clone(), stop(ask));
    }

    private Sequence sequence(Ask ask, int[] prompt, StopConditions stop) {
        var tokens = new TokenSequence(HashSettings.ofBlockSize(mix.blockSize()), ExtraKeys.ofSalt(null), prompt);
        return new Sequence("request " + ask.index(), tokens, ask.sampling(), stop, new int[0], Logprobs.NONE,
                ask.priority(), Sequence.NO_DEADLINE, null);
    }

    private StopConditions stop(Ask ask) {
        return ask.stop(alone.get(ask.leader() == RequestMix.NO_LEADER ? ask.index() : ask.leader()).tokens());
    }

    private void compare(long seed, int counter, MemorySegment logits) {
        if (seed == BatchComputation.CHECK.seed()) {
            return; // behind a chunk, where it is cut depends on the crowd
        }
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
        for (; turn <= RequestMix.LAST_ARRIVAL || loop.hasWork(); turn++) {
            comeAndGo();
            if (isPressed() && failures < MOST_FAILURES && ++turnsUnharmed > mix.failure() && isBlockFilling()) {
                letFail();
            }
            loop.step();
            mix.asks().forEach(this::askAgain);
            scheduler.checkIntegrity();
            if (turn == MOST_TURNS) {
                throw new AssertionError("the engine does not come to an end");
            }
        }
    }

    /** Only a step that gives keys has keys to take back: one with the last token of a block, or just behind it. */
    private boolean isBlockFilling() {
        return generations.stream().map(Generation::sequence).anyMatch(
                sequence -> sequence.state() == Alive.RUNNING && sequence.tokens().tokenCount() % mix.blockSize() <= 1);
    }

    private void letFail() {
        if (mix.failsWithSwap()) {
            backend.failNextSwap();
        } else {
            backend.failNextStep();
        }
        failures++;
        turnsUnharmed = 0;
    }

    /**
     * Somebody asks for the rest of an answer that a failing step ended. The prompt is what was known when it failed
     * and one token more, so that every block which the failed step should have filled would be found if it had a key.
     */
    private void askAgain(Ask ask) {
        if (!(generations.get(ask.index()).sequence().state() instanceof SequenceState.Failed)) {
            return;
        }
        requireBeginning(ask);
        int[] expected = expected(ask);
        int known = given[ask.index()] + recordings.get(ask.index()).tokenCount() + 1;
        if (known >= expected.length) {
            return;
        }
        int promptLength = ask.prompt().length;
        int[] prompt = Arrays.copyOf(ask.prompt(), promptLength + known);
        System.arraycopy(expected, 0, prompt, promptLength, known);
        StopConditions stop = stop(ask);
        given[ask.index()] = known;
        failedRequests++;
        var recording = new Recording();
        var generation = new Generation(sequence(ask, prompt, new StopConditions(stop.maxTokens() - known,
                stop.stopTokenIds(), true)), recording, /* submittedNanos */ 0, /* madeUp */ false);
        recordings.set(ask.index(), recording);
        generations.set(ask.index(), generation);
        loop.commands().submit(List.of(generation));
    }

    private void comeAndGo() {
        for (Ask ask : mix.asks()) {
            if (ask.turn() == turn && ask.leader() == RequestMix.NO_LEADER) {
                loop.commands().submit(mix.asks().stream()
                        .filter(other -> other == ask || other.leader() == ask.index())
                        .map(other -> generations.get(other.index())).toList());
            }
            if (ask.cancelTurn() == turn) {
                loop.commands().cancel(generations.get(ask.index()));
            }
        }
    }

    /** True once the pool was too small in the way that the mix wants it. */
    boolean isPressed() {
        EngineSnapshot now = loop.snapshot();
        boolean swapped = now.work().swapPreemptions() > 0 && now.swap().outBlocks() > 0 && now.swap().inBlocks() > 0;
        return switch (mix.swapSpace()) {
            case TIGHT -> swapped && now.work().recomputePreemptions() > 0;
            case AMPLE -> swapped;
        };
    }

    void requireEqual() {
        for (Ask ask : mix.asks()) {
            requireBeginning(ask);
            int known = given[ask.index()] + recordings.get(ask.index()).tokenCount();
            switch (generations.get(ask.index()).sequence().state()) {
                case SequenceState.Finished _ -> {
                    assertThat(known).as("%s: tokens", ask).isEqualTo(expected(ask).length);
                    assertThat(seenRows.get(ask.index()).get(known - 1)).as("%s: logits seen", ask).isTrue();
                }
                case SequenceState.Cancelled _ -> assertThat(ask.cancelTurn()).isLessThan(turn);
                case SequenceState.Failed _ -> assertThat(failures).isPositive();
                case SequenceState.Alive state -> throw new AssertionError(ask + " is " + state);
            }
        }
        assertThat(cache.freeBlocks()).isEqualTo(cache.usableBlocks());
    }

    /** What was heard since it was asked the last time is what it generates alone, and its logits were seen. */
    private void requireBeginning(Ask ask) {
        int from = given[ask.index()];
        int[] tokens = recordings.get(ask.index()).tokens();
        int to = from + tokens.length;
        assertThat(to).as("%s: tokens", ask).isLessThanOrEqualTo(expected(ask).length);
        assertThat(tokens).as("%s", ask).isEqualTo(Arrays.copyOfRange(expected(ask), from, to));
        assertThat(seenRows.get(ask.index()).get(from, to).cardinality()).as("%s: logits seen", ask)
                .isEqualTo(tokens.length);
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

    void requirePressed() {
        EngineSnapshot end = loop.snapshot();
        assertThat(isPressed()).as("recomputed %d, swapped %d times, %d blocks out, %d in",
                end.work().recomputePreemptions(), end.work().swapPreemptions(), end.swap().outBlocks(),
                end.swap().inBlocks()).isTrue();
        assertThat(end.swap().freeBlocks()).as("free host blocks").isEqualTo(mix.hostBlockCount());
    }

    Seen seen() {
        return new Seen(loop.snapshot().prefixCache().hitTokens(), backend.copiesWithinDevice(), backend.feedingSteps(),
                cancelled(), failedRequests);
    }

    private long cancelled() {
        return generations.stream()
                .filter(generation -> generation.sequence().state() instanceof SequenceState.Cancelled).count();
    }

    @Override
    public void close() {
        runner.close();
    }
}
