package dev.warmpath.router.models;

import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Which of a model's revisions takes a conversation: weighted rendezvous hashing. Every revision draws a number from the
 * conversation's beginning and its own name, and the best one for its weight wins. So a conversation stays where it is
 * as long as weights do; when a revision gains or loses weight, only so many conversations move as its share has
 * changed, and all of them to it or from it; and every router finds the same without asking another.
 *
 * <p>Source: Thaler, Ravishankar, "A name-based mapping scheme for rendezvous", 1996; weights by the logarithmic method
 * of Schindelhauer, Schomaker, "Weighted distributed hash tables", 2005: weight / -ln(uniform).
 */
public final class RevisionShares {

    private RevisionShares() {}

    /**
     * @param weights   above 0 each
     * @param beginning of the conversation; equal ones go together
     * @return null if there is none
     */
    public static @Nullable ServedModel choose(Map<ServedModel, Double> weights, long beginning) {
        ServedModel best = null;
        double bestScore = -1;
        for (var each : weights.entrySet()) {
            double score = each.getValue() / -Math.log(uniform(beginning, each.getKey().revision()));
            if (score > bestScore) {
                best = each.getKey();
                bestScore = score;
            }
        }
        return best;
    }

    /** Above 0 and below 1. */
    private static double uniform(long beginning, String revision) {
        long mixed = mix(beginning ^ mix(revision.hashCode()));
        return ((mixed >>> 11) + 0.5) * 0x1p-53;
    }

    /** SplitMix64's last step: every bit of the result depends on every bit of the value. */
    private static long mix(long value) {
        long mixed = value + 0x9e3779b97f4a7c15L;
        mixed = (mixed ^ (mixed >>> 30)) * 0xbf58476d1ce4e5b9L;
        mixed = (mixed ^ (mixed >>> 27)) * 0x94d049bb133111ebL;
        return mixed ^ (mixed >>> 31);
    }
}
