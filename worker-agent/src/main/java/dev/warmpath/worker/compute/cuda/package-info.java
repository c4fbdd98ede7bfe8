/**
 * The body of the compute seam for NVIDIA cards: the driver API and cuBLASLt bound by hand, nothing linked.
 * <p>The binding, from the ground up: {@code CudaLibraries} finds the shared libraries; {@code CudaDriver} and
 * {@code CublasLt} are their functions, one handle each; {@code CudaDevice} is an open card, and everything made on it
 * is a {@code DeviceObject} that the card frees at the latest. A machine without CUDA loads these classes and nothing
 * else: no library is touched before {@code CudaDevice.open}, whose refusal is one sentence.
 * <p>The backend, from the top down: {@code CudaBackend} is the path of a step. What was enqueued is a
 * {@code StepProgram} of {@code Operation}s; {@code Staging} brings the host's values to the card,
 * {@code AttentionPlan} says which thread block attends to what, {@code Launcher} knows each operation's kernels,
 * {@code StepGraphs} replays what it has seen, {@code StepResults} brings drawn tokens back. {@code BlockCopier} moves
 * blocks of a {@code CudaKvCache}, {@code CudaWeight} lies in parts by {@code BlockLayout}, written by
 * {@code WeightWriter} and multiplied by {@code BlockProducts}, {@code SwapStream} those that go to and from the host
 * tier.
 * <p>One package, large as it is: whatever can name a pointer of the card, a stream or a kernel is seen in here only,
 * and the binding would have to open all of it to stand in one of its own.
 * <p>Uses {@code compute}. Used by whoever wires a worker.
 */
@NullMarked
package dev.warmpath.worker.compute.cuda;

import org.jspecify.annotations.NullMarked;
