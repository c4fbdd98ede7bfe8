/**
 * What a router's own attempts have shown of a worker ({@code WorkerHealth}), and how workers compare
 * ({@code HealthComparison}): who is left out, who is on trial, who is slow. Plain arithmetic; time and randomness are
 * passed in.
 * <p>Uses {@code protocol.fleet}. Kept for each worker by {@code fleet}; told by {@code dispatch} and
 * {@code fleetlink}, read by {@code routing}.
 */
@NullMarked
package dev.warmpath.router.health;

import org.jspecify.annotations.NullMarked;
