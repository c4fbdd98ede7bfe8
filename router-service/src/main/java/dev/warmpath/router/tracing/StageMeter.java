package dev.warmpath.router.tracing;

import dev.warmpath.router.metrics.RouterMetrics;
import io.micrometer.core.instrument.observation.MeterObservationHandler;
import io.micrometer.observation.Observation;
import org.springframework.core.annotation.Order;
import org.springframework.stereotype.Component;

/** Times the stages of the router's own work, under the meter's one name and label. */
@Component
@Order(StageMeter.BEFORE_BOOTS_OWN)
final class StageMeter implements MeterObservationHandler<Observed.OwnWork> {

    static final int BEFORE_BOOTS_OWN = 0;

    private final RouterMetrics metrics;

    StageMeter(RouterMetrics metrics) {
        this.metrics = metrics;
    }

    @Override
    public boolean supportsContext(Observation.Context context) {
        return context instanceof Observed.OwnWork;
    }

    @Override
    public void onStart(Observed.OwnWork work) {
        work.startNanos = System.nanoTime();
    }

    @Override
    public void onStop(Observed.OwnWork work) {
        metrics.staged(work.stage, System.nanoTime() - work.startNanos);
    }
}
