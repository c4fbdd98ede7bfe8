/**
 * The worker's spine. {@link dev.warmpath.worker.engine.EngineLoop} is one turn of the engine, in order: take commands,
 * schedule, run the step, settle its tokens, publish what the cache now holds. One platform thread turns it; everybody
 * else holds an {@link dev.warmpath.worker.engine.Engine}, which only enqueues and reads snapshots; who only wants
 * tokens holds it as a {@link dev.warmpath.worker.engine.Generator}.
 * <p>Uses {@code scheduler}, {@code kvcache}, {@code model}, {@code histogram}, {@code flightrecorder}. Used by
 * {@code generate}, {@code tracing}, {@code metrics} and the wiring; plain Java, so that it can be run, tested and
 * measured from a {@code main}.
 */
@NullMarked
package dev.warmpath.worker.engine;

import org.jspecify.annotations.NullMarked;
