package dev.warmpath.worker;

import dev.warmpath.worker.generate.OpenStreams;
import dev.warmpath.worker.routerlink.RedisAnnouncer;
import dev.warmpath.worker.routerlink.RouterLink;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.ApplicationArguments;
import org.springframework.boot.ApplicationRunner;
import org.springframework.context.SmartLifecycle;
import org.springframework.stereotype.Component;

/**
 * The last step of a start and the first of a stop. At the start it prepares the engine, then lets routers know; the
 * readiness probe turns positive when it returns, so a worker is never given a request that would wait for the
 * compiler.
 *
 * <p>At the stop it drains, while everything else still works: routers are told and send nothing new; what they had sent
 * by then is taken; what was taken is finished, queued and prefilling requests too; the rest, after a bound, is ended
 * aloud. Then it says farewell, and only then event stream and servers close.
 */
@Component
final class WorkerStart implements ApplicationRunner, SmartLifecycle {

    private static final Logger log = LoggerFactory.getLogger(WorkerStart.class);

    private final WorkerEngine engine;
    private final RouterLink routerLink;
    private final ObjectProvider<RedisAnnouncer> redisAnnouncer;
    private final OpenStreams streams;
    private final WorkerDrain drain;
    private final DrainProperties properties;
    private volatile boolean running;

    WorkerStart(WorkerEngine engine, RouterLink routerLink, ObjectProvider<RedisAnnouncer> redisAnnouncer,
            OpenStreams streams, WorkerDrain drain, DrainProperties properties) {
        this.engine = engine;
        this.routerLink = routerLink;
        this.redisAnnouncer = redisAnnouncer;
        this.streams = streams;
        this.drain = drain;
        this.properties = properties;
    }

    @Override
    public void run(ApplicationArguments arguments) throws InterruptedException {
        engine.prepare();
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
        drain.begin();
        int left = streams.drain(properties.timeout());
        if (left > 0) {
            log.warn("{} requests have not ended in {}, they are ended now", left, properties.timeout());
            engine.close();
        }
        routerLink.close();
        redisAnnouncer.ifAvailable(RedisAnnouncer::close);
    }

    @Override
    public boolean isRunning() {
        return running;
    }

    /** What has said farewell does not come back. */
    @Override
    public boolean isPauseable() {
        return false;
    }

    /** Stops first: routers go on following this worker while it drains. */
    @Override
    public int getPhase() {
        return SmartLifecycle.DEFAULT_PHASE;
    }
}
