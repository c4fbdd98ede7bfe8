package dev.warmpath.router.routing;

import java.util.AbstractList;
import java.util.List;
import java.util.RandomAccess;

/**
 * What each candidate of one decision would cost, in their order: a number each, the rest made when it is asked for. Of
 * a thousand candidates sixteen are ever shown to anybody.
 */
public abstract class Costs extends AbstractList<CandidateCost> implements RandomAccess {

    /** In the policy's unit; the smaller, the better. */
    public abstract long cost(int number);

    /** In the order of the costs, as the policy was given them. */
    abstract Candidates candidates();

    /** Of a policy that has made them all. */
    public static Costs of(List<CandidateCost> all) {
        Candidates candidates = Candidates.of(all.stream().map(CandidateCost::candidate).toList());
        return new Costs() {
            @Override
            public long cost(int number) {
                return all.get(number).cost();
            }

            @Override
            Candidates candidates() {
                return candidates;
            }

            @Override
            public CandidateCost get(int number) {
                return all.get(number);
            }

            @Override
            public int size() {
                return all.size();
            }
        };
    }
}
