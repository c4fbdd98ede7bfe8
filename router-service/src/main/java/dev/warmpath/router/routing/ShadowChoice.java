package dev.warmpath.router.routing;

/**
 * What another policy would have done with a request, on the same candidates; nobody followed it.
 *
 * @param workerId       whom it would have chosen
 * @param isSame         whether the policy that decided chose the same
 * @param liveTokens     uncached tokens of the request where it goes by the policy that decided, by the index
 * @param shadowTokens   the same where this one would have sent it
 */
public record ShadowChoice(PolicyName policy, String workerId, boolean isSame, long liveTokens, long shadowTokens) {

    /** Tokens that would have been computed beyond those that are; below 0 where it would have been fewer. */
    public long extraTokens() {
        return shadowTokens - liveTokens;
    }

    static ShadowChoice of(RouteQuery query, RoutingPolicy shadow, Choice shadowChoice, Choice live) {
        Candidate chosen = shadowChoice.candidate();
        return new ShadowChoice(shadow.name(), chosen.workerId(), shadowChoice.chosen() == live.chosen(),
                live.candidate().uncachedTokens(query), chosen.uncachedTokens(query));
    }
}
