/**
 * The worker's HTTP edge: {@code POST /v1/generate} answers token ids with a stream of token ids, of one
 * choice or several, from whatever {@link dev.warmpath.worker.engine.Generator} there is. Here, and nowhere
 * deeper, things are reactive: {@link dev.warmpath.worker.generate.TokenStream} is the bridge from the engine's thread
 * to the network, bounded by the answer's own length, and cancels the work when its reader is gone. The engine's thread
 * leaves what has news in the {@link dev.warmpath.worker.generate.Outbox}, whose threads write it once a step; prompts
 * are decoded and hashed on threads of their own, not on the event loop.
 * <p>Uses {@code engine}, and {@code tracing} for what is sampled. Used by routers, over HTTP.
 */
@NullMarked
package dev.warmpath.worker.generate;

import org.jspecify.annotations.NullMarked;
