package dev.warmpath.worker;

import dev.warmpath.worker.engine.Engine;
import dev.warmpath.worker.engine.WarmUp;
import dev.warmpath.worker.model.ModelRunner;
import dev.warmpath.worker.routerlink.RouterLink;
import java.time.Duration;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.boot.ApplicationArguments;
import org.springframework.boot.ApplicationRunner;
import org.springframework.stereotype.Component;

/**
 * The last step of a start: warm the engine up, then let routers know. The readiness probe turns positive when this
 * returns, so a worker is never given a request that would wait for the compiler.
 */
@Component
final class WorkerStart implements ApplicationRunner {

    private static final Logger log = LoggerFactory.getLogger(WorkerStart.class);

    private final Engine engine;
    private final ModelRunner runner;
    private final ComputeProperties compute;
    private final RouterLink routerLink;

    WorkerStart(Engine engine, ModelRunner runner, ComputeProperties compute, RouterLink routerLink) {
        this.engine = engine;
        this.runner = runner;
        this.compute = compute;
        this.routerLink = routerLink;
    }

    @Override
    public void run(ApplicationArguments arguments) throws InterruptedException {
        WarmUp.Report report = new WarmUp(engine, runner.config()).run(compute.warmUp());
        log.info("warmed up with {} requests in {} ms: {} blocks of {} bytes, {} threads", report.requests(),
                Duration.ofNanos(report.nanos()).toMillis(), engine.snapshot().blockCount(), runner.bytesPerBlock(),
                compute.threadCount());
        routerLink.start();
    }
}
