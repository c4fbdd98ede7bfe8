package dev.warmpath.router.routing;

import jakarta.validation.constraints.DecimalMax;
import jakarta.validation.constraints.DecimalMin;
import jakarta.validation.constraints.Max;
import jakarta.validation.constraints.Min;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * How {@link ExpectedFirstToken} weighs what is not a token to be computed, in such tokens. The defaults were chosen on
 * Mooncake's conversations and on generated loads, see benchmarks/results/routing-quality.md; around them the times
 * change little, so they are there for loads that are like none of these.
 *
 * @param queuedRequest in fixed parts of a step, a request before this one without a first token: it takes a step,
 *                      whatever it finds cached, and may find less than expected. Four times as much parts chats from
 *                      their prefixes and costs them a seventh of their time to the first token
 * @param missingSlot   a sequence slot that a full worker has to free first: a short answer's steps
 * @param eviction      how much of what is pushed out of a full pool counts as work to come
 * @param stream        of a prompt's tokens, the part that a usual step's worth of running answers delays: 0.5
 *                      and 1 serve, 2 gives up what is cached
 * @param failure       a worker that failed all of this router's last requests: a failed try, and the way to another
 *                      one. One failure among successes sends a prompt of a few blocks elsewhere, and not one with a
 *                      long prefix
 */
public record RoutingWeights(
        @DefaultValue("1") @DecimalMin("0") @DecimalMax("100") double queuedRequest,
        @DefaultValue("512") @Min(0) @Max(65_536) int missingSlot,
        @DefaultValue("1") @DecimalMin("0") @DecimalMax("100") double eviction,
        @DefaultValue("0.5") @DecimalMin("0") @DecimalMax("100") double stream,
        @DefaultValue("2048") @Min(0) @Max(1_000_000) int failure) {

    public static final RoutingWeights DEFAULT = new RoutingWeights(1, 512, 1, 0.5, 2_048);
}
