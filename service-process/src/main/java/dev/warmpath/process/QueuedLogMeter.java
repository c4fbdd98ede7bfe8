package dev.warmpath.process;

import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.binder.MeterBinder;

/** {@code warmpath_discarded_log_lines_total}, in both services. */
final class QueuedLogMeter implements MeterBinder {

    @Override
    public void bindTo(MeterRegistry registry) {
        FunctionCounter.builder("warmpath.discarded.log.lines", QueuedLog.class, _ -> QueuedLog.discarded())
                .description("Lines missing in the log, because it could not be written in time").baseUnit("lines")
                .register(registry);
    }
}
