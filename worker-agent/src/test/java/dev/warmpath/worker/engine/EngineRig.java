package dev.warmpath.worker.engine;

import dev.warmpath.protocol.block.HashSettings;
import dev.warmpath.protocol.event.BlockChange;
import dev.warmpath.protocol.event.KeySet;
import dev.warmpath.protocol.generate.GenerateRequest;
import dev.warmpath.worker.compute.ComputeBackend;
import dev.warmpath.worker.compute.ComputeException;
import dev.warmpath.worker.compute.cpu.VectorBackend;
import dev.warmpath.worker.kvcache.KvCacheManager;
import dev.warmpath.worker.kvcache.KvCacheSettings;
import dev.warmpath.worker.model.EosTokens;
import dev.warmpath.worker.model.Golden;
import dev.warmpath.worker.model.LoadedModel;
import dev.warmpath.worker.model.ModelConfig;
import dev.warmpath.worker.model.ModelRunner;
import dev.warmpath.worker.model.RunnerSettings;
import dev.warmpath.worker.model.source.ModelSource;
import dev.warmpath.worker.scheduler.RequestLimits;
import dev.warmpath.worker.scheduler.Scheduler;
import dev.warmpath.worker.scheduler.SchedulerSettings;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import org.jspecify.annotations.Nullable;

/** The whole engine, on the model that ships unless said otherwise, turned by hand: no thread, and a clock that stands still unless moved. */
final class EngineRig implements AutoCloseable {

    static final int BLOCK_SIZE = 16;
    static final long EPOCH = 77;

    final KvCacheManager cache;
    final Scheduler scheduler;
    final EngineLoop loop;
    final RequestIntake intake;
    /** Never started: tests turn the loop themselves, or make an engine of their own. */
    final Engine engine;
    final ModelConfig model;
    /** What a reader of the announcements knows. */
    final KeySet announced = new KeySet();
    volatile long nowNanos = 1_000;
    /** The device fails this many steps from now on. */
    int failingSteps;
    /** The device refuses a step when this many have been taken from now on; less than 0: it refuses none. */
    int refusedSubmission = -1;
    /** The device refuses the next block copies. */
    boolean refusesCopies;
    /** Waiting for a step takes until this is counted down. */
    volatile @Nullable CountDownLatch hangs;
    /** Waiting for a step takes so long on the clock. */
    long stepNanos;
    /** Steps that were waited for. */
    int awaits;
    /** Thrown, once set, when something is to be announced. */
    @Nullable RuntimeException announcementFailure;
    final ModelRunner runner;

    EngineRig(int blockCount, int maxBatchedTokens, int maxSequences) {
        this(blockCount, maxBatchedTokens, maxSequences, maxSequences);
    }

    EngineRig(int blockCount, int maxBatchedTokens, int maxSequences, int maxWaiting) {
        this(new VectorBackend(1), BLOCK_SIZE, blockCount, maxBatchedTokens, maxSequences, maxWaiting);
    }

    EngineRig(ComputeBackend backend, int blockSize, int blockCount, int maxBatchedTokens, int maxSequences,
            int maxWaiting) {
        this(backend, KvCacheSettings.of(blockCount, blockSize),
                SchedulerSettings.of(maxBatchedTokens, maxSequences, maxWaiting));
    }

    EngineRig(KvCacheSettings cacheSettings, SchedulerSettings settings) {
        this(new VectorBackend(1), cacheSettings, settings);
    }

    EngineRig(ComputeBackend backend, KvCacheSettings cacheSettings, SchedulerSettings settings) {
        this(Golden.MODEL, backend, cacheSettings, settings);
    }

    EngineRig(Path modelDirectory, ComputeBackend backend, KvCacheSettings cacheSettings, SchedulerSettings settings) {
        this(modelDirectory, Integer.MAX_VALUE, backend, cacheSettings, settings);
    }

    /** @param context the model's own is cut to it */
    EngineRig(Path modelDirectory, int context, ComputeBackend backend, KvCacheSettings cacheSettings,
            SchedulerSettings settings) {
        try {
            var runnerSettings = RunnerSettings.of(cacheSettings.blockCount(), cacheSettings.blockSize(),
                            settings.maxBatchedTokens(), settings.maxSequences())
                    .withHostBlockCount(cacheSettings.hostBlockCount())
                    .withMaxStepsInFlight(settings.maxStepsInFlight());
            ModelConfig whole = ModelConfig.read(modelDirectory.resolve("config.json"));
            ModelConfig config = whole.withContextLength(Math.min(context, whole.contextLength()));
            runner = LoadedModel.load(modelDirectory, config, faulty(backend), runnerSettings.steps())
                    .withCache(runnerSettings.blockCount(), runnerSettings.hostBlockCount());
            model = runner.config();
            cache = new KvCacheManager(cacheSettings);
            var limits = new RequestLimits(
                    model.vocabularySize(), model.contextLength(), cacheSettings, settings.mostTokensInFlight());
            scheduler = new Scheduler(settings, limits, cache);
            loop = new EngineLoop(
                    scheduler, cache, runner, changes -> changes.forEach(this::apply), () -> { }, () -> nowNanos);
            intake = new RequestIntake(EPOCH, HashSettings.ofBlockSize(cacheSettings.blockSize()), limits,
                    EosTokens.read(ModelSource.of(modelDirectory)), settings.policy());
            engine = new Engine(loop, intake, () -> nowNanos, Duration.ofHours(1), death -> { });
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    Recording submit(GenerateRequest request) {
        var recording = new Recording();
        engine.submit(request, recording);
        return recording;
    }

    /** Turns until nothing is left to do, auditing after every turn. @return the number of turns */
    int runToEnd() {
        int turns = 0;
        while (loop.hasWork()) {
            loop.step();
            scheduler.checkIntegrity();
            turns++;
        }
        return turns;
    }

    @Override
    public void close() {
        runner.close();
    }

    private void apply(BlockChange change) {
        if (announcementFailure != null) {
            throw announcementFailure;
        }
        announced.apply(change);
    }

    /**
     * The real backend, except that waiting for a step fails as long as {@link #failingSteps} says so, and that it
     * takes no step when {@link #refusedSubmission} has come down to 0.
     */
    private ComputeBackend faulty(ComputeBackend real) {
        return (ComputeBackend) Proxy.newProxyInstance(EngineRig.class.getClassLoader(),
                new Class<?>[] {ComputeBackend.class}, (_, method, arguments) -> {
                    try {
                        if (method.getName().equals("submit") && refusedSubmission >= 0 && refusedSubmission-- == 0) {
                            throw new ComputeException("injected refusal");
                        }
                        if (method.getName().equals("copyBlocks") && refusesCopies) {
                            refusesCopies = false;
                            throw new ComputeException("injected refusal of copies");
                        }
                        Object result = method.invoke(real, arguments);
                        if (method.getName().equals("await")) {
                            CountDownLatch hung = hangs;
                            if (hung != null) {
                                hung.await();
                            }
                            awaits++;
                            nowNanos += stepNanos;
                            if (failingSteps > 0) {
                                failingSteps--;
                                throw new ComputeException("injected");
                            }
                        }
                        return result;
                    } catch (InvocationTargetException e) {
                        throw e.getCause();
                    }
                });
    }
}
