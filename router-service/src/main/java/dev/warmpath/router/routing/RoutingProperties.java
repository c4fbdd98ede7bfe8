package dev.warmpath.router.routing;

import jakarta.validation.Valid;
import jakarta.validation.constraints.DecimalMax;
import jakarta.validation.constraints.DecimalMin;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.NestedConfigurationProperty;
import org.springframework.boot.context.properties.bind.DefaultValue;
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
 */
@Validated
@ConfigurationProperties("warmpath.routing")
record RoutingProperties(
        @DefaultValue("expected-first-token") PolicyName policy,
        @Nullable PolicyName shadow,
        @DefaultValue("0") @DecimalMin("0") @DecimalMax("1") double share,
        @Nullable PolicyName sharePolicy,
        @DefaultValue @Valid @NestedConfigurationProperty RoutingWeights weights) {

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
}
