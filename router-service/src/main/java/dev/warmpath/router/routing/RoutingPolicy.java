package dev.warmpath.router.routing;

import java.util.List;

/**
 * Which worker a request should go to. Pure: the same query and candidates give the same choice. Called for every
 * request under {@link RequestRouter}'s lock, so that it should take microseconds; {@link ExpectedFirstToken} is the one
 * in use.
 */
public interface RoutingPolicy {

    /**
     * Chooses one, and tells what each would have cost.
     *
     * @param candidates at least one. Who is not healthy is among them, and must not be chosen while anybody else can
     *                   be: see {@link CandidateCost#open}
     */
    Choice choose(RouteQuery query, List<Candidate> candidates);
}
