package dev.warmpath.worker;

import dev.warmpath.worker.engine.Engine;
import dev.warmpath.worker.engine.EngineSnapshot;
import dev.warmpath.worker.engine.WarmUp;
import dev.warmpath.worker.model.ModelRunner;
import dev.warmpath.worker.routerlink.WorkerLoad;
import java.time.Duration;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** @param warmUp how long made-up requests run before the first real one */
record OwnEngine(Engine engine, ModelRunner runner, Duration warmUp) implements WorkerEngine {

    private static final Logger log = LoggerFactory.getLogger(OwnEngine.class);

    @Override
    public void prepare() throws InterruptedException {
        WarmUp.Report report = new WarmUp(engine, runner).run(warmUp);
        log.info("warmed up with {} requests in {} ms: {} blocks of {} bytes", report.requests(),
                Duration.ofNanos(report.nanos()).toMillis(), engine.snapshot().pool().blockCount(),
                runner.bytesPerBlock());
    }

    @Override
    public WorkerLoad load() {
        EngineSnapshot now = engine.snapshot();
        EngineSnapshot.Load load = now.load();
        return new WorkerLoad(load.running(), load.waiting(), now.pool().freeBlocks(), load.pendingPromptTokens(),
                Duration.ofNanos(now.stepAgeNanos()).toMillis(), engine.isHanging(), load.pendingRequests(),
                load.routers(), load.contextTokens(), now.observed().stepCost(), engine.isHeld(), load.news());
    }

    @Override
    public void endHolds() {
        engine.endHolds();
    }

    @Override
    public void close() {
        engine.close();
    }
}
