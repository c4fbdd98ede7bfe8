/**
 * The seam between the model and the device: operations that are enqueued in order on tensors the backend owns.
 * {@link dev.warmpath.worker.compute.ComputeBackend} is the contract; {@code compute.cpu} holds the bodies for
 * processors, and a CUDA body stands behind the same interface. Knows shapes and layouts, nothing of models, requests
 * or blocks' owners.
 * <p>One package, for it is one contract: what stands beside the interface is what its operations take and give.
 * <p>Uses nothing of ours. Used by {@code model}; the engine sees {@code StepOutput}, {@code Sampling} and
 * {@code BlockMapping}.
 */
@NullMarked
package dev.warmpath.worker.compute;

import org.jspecify.annotations.NullMarked;
