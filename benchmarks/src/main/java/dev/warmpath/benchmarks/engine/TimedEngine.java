package dev.warmpath.benchmarks.engine;

import dev.warmpath.protocol.block.HashSettings;
import dev.warmpath.protocol.generate.FailureReason;
import dev.warmpath.protocol.generate.FinishReason;
import dev.warmpath.protocol.generate.GenerateEvent.Usage;
import dev.warmpath.protocol.generate.GenerateRequest;
import dev.warmpath.worker.compute.cpu.VectorBackend;
import dev.warmpath.worker.engine.Engine;
import dev.warmpath.worker.engine.EngineLoop;
import dev.warmpath.worker.engine.EngineSnapshot;
import dev.warmpath.worker.engine.GenerationListener;
import dev.warmpath.worker.engine.RequestIntake;
import dev.warmpath.worker.kvcache.KvCacheManager;
import dev.warmpath.worker.kvcache.KvCacheSettings;
import dev.warmpath.worker.model.ModelRunner;
import dev.warmpath.worker.model.RunnerSettings;
import dev.warmpath.worker.scheduler.RequestLimits;
import dev.warmpath.worker.scheduler.Scheduler;
import dev.warmpath.worker.scheduler.SchedulerSettings;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CountDownLatch;

/** A whole engine with a model and a cache of its own on one thread of a processor, and rounds of requests through it. */
final class TimedEngine implements AutoCloseable {

    private final ModelRunner runner;
    private final Engine engine;

    TimedEngine(Path model, KvCacheSettings cacheSettings, SchedulerSettings scheduling) throws IOException {
        runner = ModelRunner.load(model, new VectorBackend(1),
                RunnerSettings.of(cacheSettings.blockCount(), cacheSettings.blockSize(), scheduling.maxBatchedTokens(),
                        scheduling.maxSequences()).withMaxStepsInFlight(scheduling.maxStepsInFlight()));
        var cache = new KvCacheManager(cacheSettings);
        var limits = new RequestLimits(vocabularySize(), runner.config().contextLength(), cacheSettings,
                scheduling.mostTokensInFlight());
        var loop = new EngineLoop(new Scheduler(scheduling, limits, cache), cache, runner, changes -> { }, () -> { },
                System::nanoTime);
        var intake = new RequestIntake(0, HashSettings.ofBlockSize(cacheSettings.blockSize()), limits, new int[0],
                scheduling.policy());
        engine = new Engine(loop, intake, System::nanoTime, Duration.ofHours(1), Throwable::printStackTrace).start();
    }

    int vocabularySize() {
        return runner.config().vocabularySize();
    }

    Engine engine() {
        return engine;
    }

    EngineSnapshot snapshot() {
        return engine.snapshot();
    }

    /** @return nanoseconds from the first of them to the end of all */
    long round(List<GenerateRequest> requests) throws InterruptedException {
        var over = new CountDownLatch(requests.size());
        long start = System.nanoTime();
        for (GenerateRequest request : requests) {
            engine.submit(request, new End(over));
        }
        over.await();
        return System.nanoTime() - start;
    }

    @Override
    public void close() {
        engine.close();
        runner.close();
    }

    private record End(CountDownLatch over) implements GenerationListener {

        @Override
        public void onToken(int token, float logprob) {
            // only the end counts
        }

        @Override
        public void onFinished(FinishReason reason, Usage usage) {
            over.countDown();
        }

        @Override
        public void onFailed(FailureReason reason, String message) {
            throw new IllegalStateException(reason + ": " + message);
        }
    }
}
