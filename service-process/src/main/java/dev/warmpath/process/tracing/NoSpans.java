package dev.warmpath.process.tracing;

import io.micrometer.observation.Observation;
import io.micrometer.tracing.Tracer;
import io.micrometer.tracing.handler.DefaultTracingObservationHandler;

/** Whatever else is observed in a service gets no span: nobody has looked at what it would write into one. */
final class NoSpans extends DefaultTracingObservationHandler {

    NoSpans(Tracer tracer) {
        super(tracer);
    }

    @Override
    public void onStart(Observation.Context context) {
        getTracingContext(context);                                // an empty one, which meters' handlers ask for
    }

    @Override
    public void onStop(Observation.Context context) {}

    @Override
    public void onError(Observation.Context context) {}

    @Override
    public void onEvent(Observation.Event event, Observation.Context context) {}

    @Override
    public void onScopeOpened(Observation.Context context) {}

    @Override
    public void onScopeClosed(Observation.Context context) {}
}
