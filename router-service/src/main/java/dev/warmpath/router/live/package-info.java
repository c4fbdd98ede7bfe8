/**
 * The fleet as it can be watched: a feed of what happens ({@code LiveFeed}), read by any number of browsers as
 * server-sent events; what they ask beside it; the page itself ({@code LiveRoutes}), served on the management port; and
 * what the page may do, which is let in by {@code PageGuard}.
 * <p>One thread samples for all who watch, and nothing is asked of a worker while nobody does. Hears of decisions by
 * {@code decisions}, looks at {@code fleet} and {@code prefix}, reads workers' pools by {@code fleetlink}.
 * Used by nobody.
 */
@NullMarked
package dev.warmpath.router.live;

import org.jspecify.annotations.NullMarked;
