/**
 * Tests that start real processes: the router's and the workers' own jars, on loopback, with the model that ships.
 * {@link dev.warmpath.acceptance.LocalFleet} starts and ends them; {@link dev.warmpath.acceptance.Gateway} speaks to
 * the router as any HTTP client would. {@link dev.warmpath.acceptance.RedisProcess} is a real Redis, and
 * {@link dev.warmpath.acceptance.FaultProxy} what can go wrong on the way to it.
 * {@link dev.warmpath.acceptance.ClientsFleet} is for the clients of others: those of the JVM are used here, those of Node
 * and Python by the programs in {@code src/test/clients}.
 *
 * <p>One needs no process and lies in the router's package {@code fleetlink}: it joins the workers' publishers to the
 * router's index by a wire that loses, doubles and reorders.
 */
@NullMarked
package dev.warmpath.acceptance;

import org.jspecify.annotations.NullMarked;
