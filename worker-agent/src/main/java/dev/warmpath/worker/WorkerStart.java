package dev.warmpath.worker;

import dev.warmpath.worker.engine.Engine;
import dev.warmpath.worker.engine.WarmUp;
import dev.warmpath.worker.model.ModelRunner;
import dev.warmpath.worker.routerlink.RedisAnnouncer;
import dev.warmpath.worker.routerlink.RouterLink;
import java.time.Duration;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.ApplicationArguments;
import org.springframework.boot.ApplicationRunner;
import org.springframework.context.SmartLifecycle;
import org.springframework.stereotype.Component;

/**
 * The last step of a start and the first of a stop. At the start it warms the engine up, then lets routers know; the
 * readiness probe turns positive when it returns, so a worker is never given a request that would wait for the
 * compiler. At the stop it says farewell before the server refuses new requests and waits for its last ones: by then
 * routers send theirs elsewhere.
 */
@Component
final class WorkerStart implements ApplicationRunner, SmartLifecycle {

    private static final Logger log = LoggerFactory.getLogger(WorkerStart.class);

    private final Engine engine;
    private final ModelRunner runner;
    private final ComputeProperties compute;
    private final RouterLink routerLink;
    private final ObjectProvider<RedisAnnouncer> redisAnnouncer;
    private volatile boolean running;

    WorkerStart(Engine engine, ModelRunner runner, ComputeProperties compute, RouterLink routerLink,
            ObjectProvider<RedisAnnouncer> redisAnnouncer) {
        this.engine = engine;
        this.runner = runner;
        this.compute = compute;
        this.routerLink = routerLink;
        this.redisAnnouncer = redisAnnouncer;
    }

    @Override
    public void run(ApplicationArguments arguments) throws InterruptedException {
        WarmUp.Report report = new WarmUp(engine, runner.config()).run(compute.warmUp());
        log.info("warmed up with {} requests in {} ms: {} blocks of {} bytes", report.requests(),
                Duration.ofNanos(report.nanos()).toMillis(), engine.snapshot().pool().blockCount(),
                runner.bytesPerBlock());
        routerLink.start();
        redisAnnouncer.ifAvailable(RedisAnnouncer::start);
    }

    @Override
    public void start() {
        running = true;                 // the work itself waits until the server is open, see run
    }

    @Override
    public void stop() {
        running = false;
        routerLink.close();
        redisAnnouncer.ifAvailable(RedisAnnouncer::close);
    }

    @Override
    public boolean isRunning() {
        return running;
    }

    /** Stops together with the event stream, before the web server. */
    @Override
    public int getPhase() {
        return SmartLifecycle.DEFAULT_PHASE;
    }
}
