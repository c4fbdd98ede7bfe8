/**
 * The cache events of an engine that is not ours, vLLM or SGLang, made into announcements of ours. In the order that
 * the data takes: frames, events, keys, changes.
 *
 * <ul>
 *   <li>{@link dev.warmpath.worker.foreign.event.EventSubscription} reads frames from the engine's sockets, those of
 *       one {@link dev.warmpath.worker.foreign.event.EventSource}: one for each data-parallel replica;
 *   <li>{@code EventFollower} keeps them in sequence, over gaps and restarts;
 *   <li>{@code EngineEventDecoder} makes {@code EngineEvent}s of them;
 *   <li>{@code EngineBlocks} keeps the books, in a {@code BlockTree}: keys of the fleet for the engine's hashes,
 *       copies, parents; what changes in the announced set goes to a {@code BlockChangeListener}, as from our engine;
 *   <li>{@link dev.warmpath.worker.foreign.event.EventCounts} is what meters tell of it.
 * </ul>
 *
 * <p>Uses {@code protocol.block}, {@code protocol.event} and {@code engine}'s listener; plain Java, with JeroMQ and
 * MessagePack. Used by the wiring.
 */
@NullMarked
package dev.warmpath.worker.foreign.event;

import org.jspecify.annotations.NullMarked;
