/**
 * Bodies of the compute seam for processors. {@link dev.warmpath.worker.compute.cpu.ScalarBackend} is plain loops and
 * the truth; {@link dev.warmpath.worker.compute.cpu.VectorBackend} is the Vector API on threads of its own. What does
 * not depend on the loops (memory, rotation, block copies, drawing tokens) they share in {@code CpuBackend}.
 * <p>Activations are float32 in Java arrays, keys and values too, or bfloat16 in pairs. The vector unit keeps weights
 * in the format that they came in, outside of the heap, and widens them in registers; the scalar body widens them when
 * they are uploaded. Uses {@code compute}. Used by whoever wires a worker, by name only.
 */
@NullMarked
package dev.warmpath.worker.compute.cpu;

import org.jspecify.annotations.NullMarked;
