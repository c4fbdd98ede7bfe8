package dev.warmpath.router.routing;

import java.util.List;

/**
 * Which worker a request should go to. Pure: the same query and candidates give the same choice until a policy is told
 * what came of one; chance, too, comes with the query. Called for every request, so that it should take microseconds
 * and bounded memory: {@link #choose} by several threads at the same time, {@link #chose} under {@link RequestRouter}'s
 * lock. {@link ExpectedFirstToken} is in use unless settings say otherwise; the others are in {@code peers}.
 */
public interface RoutingPolicy {

    PolicyName name();

    /**
     * Chooses one, and tells what each would have cost.
     *
     * @param candidates at least one, not to be kept beyond this decision. Who is not healthy is among them, and must
     *                   not be chosen while anybody else can be: see {@link CandidateCost#open}
     */
    Choice choose(RouteQuery query, List<Candidate> candidates);

    /** A choice of this policy stands: the request goes there, or would if this one decided. Most remember nothing. */
    default void chose(RouteQuery query, Candidate chosen) {}
}
