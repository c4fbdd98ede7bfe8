/**
 * How much work the router takes on before it tells callers to come back later: a bound on requests in flight, and the
 * readiness that load balancers read.
 * <p>Uses {@code fleet}, for readiness only. Used by {@code completion}, first thing.
 */
@NullMarked
package dev.warmpath.router.admission;

import org.jspecify.annotations.NullMarked;
