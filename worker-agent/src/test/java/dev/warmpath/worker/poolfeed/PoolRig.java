package dev.warmpath.worker.poolfeed;

import dev.warmpath.protocol.block.HashSettings;
import dev.warmpath.protocol.generate.FailureReason;
import dev.warmpath.protocol.generate.FinishReason;
import dev.warmpath.protocol.generate.GenerateEvent.Usage;
import dev.warmpath.protocol.generate.GenerateRequest;
import dev.warmpath.protocol.generate.SamplingParameters;
import dev.warmpath.protocol.generate.StopConditions;
import dev.warmpath.protocol.pool.Stepped;
import dev.warmpath.worker.compute.cpu.VectorBackend;
import dev.warmpath.worker.engine.Engine;
import dev.warmpath.worker.engine.EngineBooks;
import dev.warmpath.worker.engine.EngineLoop;
import dev.warmpath.worker.engine.Generation;
import dev.warmpath.worker.engine.GenerationListener;
import dev.warmpath.worker.engine.RequestIntake;
import dev.warmpath.worker.kvcache.KvCacheManager;
import dev.warmpath.worker.kvcache.KvCacheSettings;
import dev.warmpath.worker.model.Golden;
import dev.warmpath.worker.model.ModelRunner;
import dev.warmpath.worker.model.RunnerSettings;
import dev.warmpath.worker.scheduler.RequestLimits;
import dev.warmpath.worker.scheduler.Scheduler;
import dev.warmpath.worker.scheduler.SchedulerSettings;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.function.Function;
import java.util.stream.IntStream;

/** A whole engine with the model that ships, on its own thread and held; its clock stands still unless moved. */
final class PoolRig implements AutoCloseable {

    static final int BLOCK_SIZE = 16;

    final Engine engine;
    volatile long nowNanos = -4_000_000_000L;
    private final ModelRunner runner;

    PoolRig(KvCacheSettings cacheSettings, SchedulerSettings settings) {
        try {
            runner = ModelRunner.load(Golden.MODEL, new VectorBackend(1),
                    RunnerSettings.of(cacheSettings.blockCount(), cacheSettings.blockSize(),
                                    settings.maxBatchedTokens(), settings.maxSequences())
                            .withHostBlockCount(cacheSettings.hostBlockCount())
                            .withMaxStepsInFlight(settings.maxStepsInFlight()));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        var cache = new KvCacheManager(cacheSettings);
        var limits = new RequestLimits(runner.config().vocabularySize(), runner.config().contextLength(),
                cacheSettings, settings.mostTokensInFlight());
        var loop = new EngineLoop(new Scheduler(settings, limits, cache), cache, runner, _ -> { }, () -> { },
                () -> nowNanos);
        var intake = new RequestIntake(0, HashSettings.ofBlockSize(cacheSettings.blockSize()), limits, new int[0],
                settings.policy());
        engine = new Engine(loop, intake, () -> nowNanos, Duration.ofHours(1), Throwable::printStackTrace).start();
        engine.hold().join();
    }

    static PoolRig of(int blockCount, int maxBatchedTokens) {
        return new PoolRig(KvCacheSettings.of(blockCount, BLOCK_SIZE),
                SchedulerSettings.of(maxBatchedTokens, 8, 64));
    }

    List<Generation> submit(GenerateRequest request) {
        return engine.submit(request, Collections.nCopies(request.choices(), Deaf.INSTANCE));
    }

    Stepped step() {
        return engine.stepByHand().join();
    }

    <T> T look(Function<EngineBooks, T> at) {
        try {
            return engine.look(at).get();
        } catch (InterruptedException | ExecutionException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Tokens that count up from a first one. */
    static GenerateRequest request(String id, int firstToken, int promptTokens, int maxTokens) {
        return GenerateRequest.of(id, IntStream.range(firstToken, firstToken + promptTokens).toArray(),
                SamplingParameters.GREEDY, StopConditions.pastTheEnd(maxTokens));
    }

    @Override
    public void close() {
        engine.close();
        runner.close();
    }

    /** Hears nothing. */
    private enum Deaf implements GenerationListener {
        INSTANCE;

        @Override
        public void onToken(int token, float logprob) {
            // nobody reads it
        }

        @Override
        public void onFinished(FinishReason reason, Usage usage) {
            // nobody waits for it
        }

        @Override
        public void onFailed(FailureReason reason, String message) {
            // nor for this
        }
    }
}
