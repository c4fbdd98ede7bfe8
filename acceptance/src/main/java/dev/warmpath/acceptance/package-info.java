/**
 * Tests that put whole services together: fleets, clients and the network between them.
 * <p>Uses both services. Used by nobody.
 */
@NullMarked
package dev.warmpath.acceptance;

import org.jspecify.annotations.NullMarked;
