package dev.warmpath.planner.replay;

import dev.warmpath.planner.output.Provenance;
import dev.warmpath.planner.simulation.Policies;
import dev.warmpath.router.decisions.Sight;
import dev.warmpath.router.routing.Candidate;
import dev.warmpath.router.routing.PolicyName;
import dev.warmpath.router.routing.RouteQuery;
import dev.warmpath.router.routing.RoutingPolicy;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Decisions of a log, each asked again of the policy that made it and of others, with what it saw then. What a policy
 * remembers of its own choices (sticky sessions, turns) follows what it would have chosen; that of the one that decided
 * follows what was done. Each choice is judged in the state that the live policy has made: what a fleet under another
 * one alone would have come to, a simulation of the same log tells.
 */
public final class Replay {

    private final Map<PolicyName, Tally> tallies = new EnumMap<>(PolicyName.class);
    private final Outcomes outcomes = new Outcomes();
    private long decisions;
    private long trials;
    private long withoutSight;
    private long cut;

    /**
     * A decision as the log has it.
     *
     * @param policy that made it
     * @param worker that it chose
     * @param reason why; a trial is the router's choice, and no policy's
     */
    public record Decided(PolicyName policy, String worker, String reason) {}

    private static final class Tally {

        private final RoutingPolicy policy;
        private final PerWorker chosen = new PerWorker();
        private long asked;
        private long live;
        private long likeItself;
        private long likeLive;
        private long promptTokens;
        private long uncachedTokens;
        private double workTokens;
        private double workMillis;

        private Tally(RoutingPolicy policy) {
            this.policy = policy;
        }

        private void count(RouteQuery query, List<Candidate> candidates, Candidate chosen, boolean isLive,
                Candidate done) {
            asked++;
            live += isLive ? 1 : 0;
            likeItself += isLive && chosen.workerId().equals(done.workerId()) ? 1 : 0;
            likeLive += chosen.workerId().equals(done.workerId()) ? 1 : 0;
            promptTokens += query.promptTokens();
            uncachedTokens += chosen.uncachedTokens(query);
            long work = chosen.workTokens(query);
            workTokens += work;
            workMillis += work * chosen.stepCost().promptTokenMicros() / 1e3;
            candidates.forEach(each -> this.chosen.add(each.workerId(), each == chosen ? 1 : 0));
        }
    }

    /** @param policy made anew, as settings would have it */
    public Replay(List<PolicyName> asked, Function<PolicyName, RoutingPolicy> policy) {
        asked.forEach(name -> tallies.put(name, new Tally(policy.apply(name))));
    }

    /** A decision without what the policy saw. */
    public void addWithoutSight() {
        withoutSight++;
    }

    /**
     * @param candidateCount how many there were, of which the log may have some
     * @throws IllegalArgumentException if what was seen makes no decision
     */
    public void add(Decided decided, Sight sight, int candidateCount) {
        RouteQuery query = sight.toQuery();
        List<Candidate> candidates = sight.toCandidates();
        Candidate done = candidates.stream().filter(each -> each.workerId().equals(decided.worker)).findFirst()
                .orElseThrow(() -> new IllegalArgumentException("the chosen worker is not among the candidates"));
        boolean isTrial = decided.reason.equals("trial");
        trials += isTrial ? 1 : 0;
        decisions += isTrial ? 0 : 1;
        cut += candidateCount > candidates.size() ? 1 : 0;
        tallies.forEach((name, tally) -> {
            Candidate chosen = candidates.get(tally.policy.choose(query, candidates).chosen());
            boolean isLive = name == decided.policy;
            if (!isTrial) {
                tally.count(query, candidates, chosen, isLive, done);
            }
            // of a trial, too, the router tells the policy what that one has chosen
            tally.policy.chose(query, isLive && !isTrial ? done : chosen);
        });
    }

    /** What came of the attempts: not of policies, but of the router's predictions. */
    public Outcomes outcomes() {
        return outcomes;
    }

    public long decisions() {
        return decisions;
    }

    /** In the order of policies' names. */
    public ReplayView result(Provenance provenance, boolean interrupted) {
        return new ReplayView(provenance.version(), provenance.commit(), provenance.inputs(), interrupted, decisions,
                trials, withoutSight, cut, tallies.entrySet().stream().map(each -> row(each.getKey(), each.getValue()))
                .toList(), outcomes.view());
    }

    private static ReplayView.Row row(PolicyName name, Tally tally) {
        double asked = Math.max(1, tally.asked);
        return new ReplayView.Row(Policies.shortName(name), name.text(), tally.live, share(tally.likeItself,
                tally.live), tally.likeLive / asked, 1 - tally.uncachedTokens / (double) Math.max(1,
                tally.promptTokens), tally.uncachedTokens / asked, tally.workTokens / asked,
                tally.workMillis / asked / 1e3, tally.chosen.mostOverMean());
    }

    private static @Nullable Double share(long part, long of) {
        return of == 0 ? null : (double) part / of;
    }
}
