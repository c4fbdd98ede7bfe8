package dev.warmpath.router.routing;

import java.util.SplittableRandom;
import org.jspecify.annotations.Nullable;

/**
 * Who decides: one policy, or for a share of the conversations another one; and who is asked beside it and never
 * followed.
 *
 * @param policy      for all conversations that the other one does not have
 * @param share       of the conversations that {@code sharePolicy} decides, 0 to 1
 * @param sharePolicy null: nobody shares
 * @param shadow      null: nobody is asked
 */
record PolicyPlan(RoutingPolicy policy, double share, @Nullable RoutingPolicy sharePolicy,
        @Nullable RoutingPolicy shadow) {

    /** Makes the draw another one than that of the model's revision, which is made from the same key. */
    private static final long SALT = 0x706f6c696379L;

    static PolicyPlan of(RoutingPolicy policy) {
        return new PolicyPlan(policy, 0, null, null);
    }

    /** By a draw from the conversation, so that all its turns are decided by one policy, at every router alike. */
    RoutingPolicy decidesOn(RouteQuery query) {
        boolean isShared = sharePolicy != null
                && new SplittableRandom(query.conversation() ^ SALT).nextDouble() < share;
        return isShared ? sharePolicy : policy;
    }
}
