/**
 * How much work the router takes on before it tells callers to come back later: a bound on requests in flight and on the
 * memory of their bodies, and the readiness that load balancers read.
 * <p>Uses {@code fleet}, for readiness only, and {@code metrics}. Used by {@code openai}, before a body is read, and by
 * {@code completion}, whose computations keep the permit.
 */
@NullMarked
package dev.warmpath.router.admission;

import org.jspecify.annotations.NullMarked;
