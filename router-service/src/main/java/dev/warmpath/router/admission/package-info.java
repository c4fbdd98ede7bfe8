/**
 * How much work the router takes on before it tells callers to come back later, in two stages. {@code AdmissionControl}
 * is the door: a bound on requests in flight and on the memory of their bodies. {@code WaitingRoom} is where those wait
 * whose price is known while the workers are full, unless that would take too long. And the readiness that load
 * balancers read.
 * <p>Uses {@code fleet} and {@code models}, for capacity and readiness, {@code routing}, which knows what workers have
 * and what a prompt would cost them, and {@code metrics}. Used by {@code http}, before a body is read, and by
 * {@code completion}, whose computations keep the permit and whose requests wait.
 */
@NullMarked
package dev.warmpath.router.admission;

import org.jspecify.annotations.NullMarked;
