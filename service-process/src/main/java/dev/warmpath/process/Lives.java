package dev.warmpath.process;

import dev.warmpath.protocol.process.ProcessEnd;
import java.time.Duration;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.boot.SpringApplication;
import org.springframework.context.ApplicationListener;
import org.springframework.context.ConfigurableApplicationContext;

/** The lives of a service in one process, one after another: each ends in order before the next begins. */
final class Lives implements ApplicationListener<BeginAnew> {

    private static final Logger log = LoggerFactory.getLogger(Lives.class);

    private static final int FAILED = 1;

    private final SpringApplication spring;
    private final String[] arguments;
    private final Supplier<Duration> deadline;
    /** Null until the first has started. */
    private @Nullable ConfigurableApplicationContext life;

    /** @param deadline until an end in order must have come to its end */
    Lives(SpringApplication spring, String[] arguments, Supplier<Duration> deadline) {
        this.spring = spring;
        this.arguments = arguments;
        this.deadline = deadline;
        spring.addListeners(this);
    }

    /** Returns when the service has started. */
    synchronized void begin() {
        life = spring.run(arguments);
    }

    /** On a thread of its own, which keeps the process alive between two lives: whoever says so may be a daemon. */
    @Override
    public void onApplicationEvent(BeginAnew event) {
        Thread.ofPlatform().daemon(false).name("begin-anew").start(this::beginAnew);
    }

    private synchronized void beginAnew() {
        if (life == null) {
            return;                                                // its start has failed, and ends the process
        }
        log.warn("this process ends its work and begins anew");
        try {
            ProcessEnd.halting(deadline.get(), life::close);
            life = spring.run(arguments);
        } catch (RuntimeException e) {
            log.error("this process could not begin anew, it ends", e);
            System.exit(FAILED);                                   // no other thread is left
        }
    }
}
