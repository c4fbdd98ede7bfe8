/**
 * Tests that start real processes: the router's and the workers' own jars, on loopback, with the model that ships.
 * {@link dev.warmpath.acceptance.LocalFleet} starts and ends them; {@link dev.warmpath.acceptance.Gateway} speaks to
 * the router as any HTTP client would.
 */
@NullMarked
package dev.warmpath.acceptance;

import org.jspecify.annotations.NullMarked;
