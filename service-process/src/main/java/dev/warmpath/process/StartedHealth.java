package dev.warmpath.process;

import org.springframework.boot.context.event.ApplicationReadyEvent;
import org.springframework.boot.health.contributor.Health;
import org.springframework.boot.health.contributor.HealthIndicator;
import org.springframework.context.ApplicationListener;
import org.springframework.stereotype.Component;

/** Whether the start is over, a worker's warm-up included. Once it is, it stays so: also while the process drains. */
@Component("started")
final class StartedHealth implements HealthIndicator, ApplicationListener<ApplicationReadyEvent> {

    private volatile boolean started;

    @Override
    public void onApplicationEvent(ApplicationReadyEvent event) {
        started = true;
    }

    @Override
    public Health health() {
        return (started ? Health.up() : Health.outOfService()).build();
    }
}
