/**
 * Requests as they are observed: {@code RequestTraces} begins a {@code RequestTrace} for each, which the spine and the
 * dispatcher tell what happens. A stage of the router's own work is one observation, which is a meter always and a span
 * in a sampled trace; the answer, the line and each try at a worker have meters of their own and are spans only.
 * {@code GenAiSpans} is the one place that knows the names under which all this is exported. Text of a prompt or an
 * answer never comes here.
 * <p>Uses Micrometer's observations and tracer, {@code metrics} for stages, {@code decisions} for what is asked and
 * answered. Used by {@code completion}, {@code dispatch} and {@code http}.
 */
@NullMarked
package dev.warmpath.router.tracing;

import org.jspecify.annotations.NullMarked;
