package dev.warmpath.router.routing;

import jakarta.validation.Valid;
import jakarta.validation.constraints.DecimalMax;
import jakarta.validation.constraints.DecimalMin;
import jakarta.validation.constraints.Max;
import jakarta.validation.constraints.Min;
import jakarta.validation.constraints.NotNull;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.util.unit.DataSize;
import org.springframework.validation.annotation.Validated;

/**
 * By which rule workers are chosen; docs/policies.md has the rules.
 *
 * @param policy the rule that decides
 * @param shadow a rule that is asked about each request, on the same candidates, and never followed: meters and
 *               decisions tell where it would have chosen otherwise; unset: none
 * @param share share of the conversations that {@code share-policy} decides, drawn from the conversation's beginning,
 *              so that all its turns are decided by one; at every router the same ones
 * @param sharePolicy the rule that decides on that share; unset: {@code policy} decides on all
 * @param weights what {@code expected-first-token} weighs beside tokens to be computed
 * @param recentChains memory for the block hashes of long prompts that came lately, the last of each conversation: its
 *                     next turn hashes only what is new. 0 keeps none
 */
@Validated
@ConfigurationProperties("warmpath.routing")
record RoutingProperties(
        @DefaultValue("expected-first-token") PolicyName policy,
        @Nullable PolicyName shadow,
        @DefaultValue("0") @DecimalMin("0") @DecimalMax("1") double share,
        @Nullable PolicyName sharePolicy,
        @DefaultValue @Valid WeightProperties weights,
        @DefaultValue("32MB") @NotNull DataSize recentChains) {

    RoutingProperties {
        if (share > 0 && sharePolicy == null) {
            throw new IllegalArgumentException("warmpath.routing.share is " + share
                    + ", and warmpath.routing.share-policy does not say which policy is to decide on it");
        }
        if (sharePolicy == policy) {
            throw new IllegalArgumentException("warmpath.routing.share-policy is " + policy.text()
                    + ", as warmpath.routing.policy is: there would be nothing to compare");
        }
    }

    /**
     * See {@link RoutingWeights}.
     *
     * @param queuedRequest in fixed parts of a step, a request before this one without a first token: it takes a step,
     *                      whatever it finds cached, and may find less than expected. Four times as much parts chats
     *                      from their prefixes
     * @param missingSlot   a sequence slot that a full worker has to free first: a short answer's steps
     * @param eviction      how much of what is pushed out of a full cache counts as work to come
     * @param stream        of a prompt's tokens, the part that a usual step's worth of running answers delays: 0.5 and 1
     *                      serve, 2 gives up what is cached
     * @param failure       a worker that failed all of this router's last requests: a failed try, and the way to another
     *                      one
     */
    record WeightProperties(
            @DefaultValue("1") @DecimalMin("0") @DecimalMax("100") double queuedRequest,
            @DefaultValue("512") @Min(0) @Max(65_536) int missingSlot,
            @DefaultValue("1") @DecimalMin("0") @DecimalMax("100") double eviction,
            @DefaultValue("0.5") @DecimalMin("0") @DecimalMax("100") double stream,
            @DefaultValue("2048") @Min(0) @Max(1_000_000) int failure) {

        RoutingWeights toRoutingWeights() {
            return new RoutingWeights(queuedRequest, missingSlot, eviction, stream, failure);
        }
    }
}
