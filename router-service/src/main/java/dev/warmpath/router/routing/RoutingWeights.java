package dev.warmpath.router.routing;

/**
 * How {@link ExpectedFirstToken} weighs what is not a token to be computed, in such tokens where nothing else is said. The
 * defaults were chosen on Mooncake's conversations and on generated loads, see benchmarks/results/routing-quality.md;
 * around them the times change little, so they are there for loads that are like none of these.
 *
 * @param queuedRequest in fixed parts of a step, a request before this one without a first token: it takes a step,
 *                      whatever it finds cached, and may find less than expected. Four times as much parts chats from
 *                      their prefixes and costs them a seventh of their time to the first token
 * @param missingSlot   a sequence slot that a full worker has to free first: a short answer's steps
 * @param eviction      how much of what is pushed out of a full cache counts as work to come
 * @param stream        of a prompt's tokens, the part that a usual step's worth of running answers delays: 0.5 and 1
 *                      serve, 2 gives up what is cached
 * @param failure       a worker that failed all of this router's last requests: a failed try, and the way to another
 *                      one. One failure among successes sends a prompt of a few blocks elsewhere, and not one with a
 *                      long prefix
 */
public record RoutingWeights(double queuedRequest, int missingSlot, double eviction, double stream, int failure) {

    public static final RoutingWeights DEFAULT = new RoutingWeights(1, 512, 1, 0.5, 2_048);
}
