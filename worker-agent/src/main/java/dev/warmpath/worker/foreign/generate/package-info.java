/**
 * Generation by a foreign engine that this worker stands beside: vLLM, SGLang, or a server that speaks OpenAI's API,
 * with token ids or with text. {@link dev.warmpath.worker.foreign.generate.ForeignEngine} is the spine: it checks a
 * request, asks the engine by its {@link dev.warmpath.worker.foreign.generate.Dialect}, and tells what comes as our
 * own would. A dialect only writes bodies and reads chunks; {@link
 * dev.warmpath.worker.foreign.generate.ForeignGeneration} has the connection, the times and the ends, the same for
 * all. {@link dev.warmpath.worker.foreign.generate.EngineProbe} finds out once what the engine is, {@link
 * dev.warmpath.worker.foreign.generate.EngineWatch} every second how it is.
 *
 * <p>One event loop owns all generations, as the engine's thread does for our own: listeners are told there, nothing
 * of theirs is locked. What the engine would pass over in silence is refused by name before it is asked.
 * <p>Uses {@code engine}'s seam, and the model's tokenizer for servers that take text only. Used by the wiring; no
 * Spring here.
 */
@NullMarked
package dev.warmpath.worker.foreign.generate;

import org.jspecify.annotations.NullMarked;
