package dev.warmpath.router.models;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * What operators want of revisions: weights, drained ones have weight 0, and of a model the one that is pinned. In this
 * router's memory only; it begins with the settings. Changed by one thread at a time, read by any.
 */
public final class RevisionWishes {

    /** Weights and pins together. */
    private static final int MOST = 256;
    private static final double USUAL_WEIGHT = 1;

    private final Map<String, Double> weights;
    private final Map<String, String> pins;

    /**
     * @param weights by revision
     * @param pins    revision by model name
     */
    public RevisionWishes(Map<String, Double> weights, Map<String, String> pins) {
        this.weights = new ConcurrentHashMap<>(weights);
        this.pins = new ConcurrentHashMap<>(pins);
    }

    public double weight(String revision) {
        return weights.getOrDefault(revision, USUAL_WEIGHT);
    }

    /**
     * @param weight the usual one takes no room: only revisions that somebody has spoken of are remembered
     * @return false if there is no room for it; what is remembered already can be changed
     */
    boolean setWeight(String revision, double weight) {
        boolean hasRoom = weight == USUAL_WEIGHT || weights.containsKey(revision) || hasRoom();
        if (weight == USUAL_WEIGHT) {
            weights.remove(revision);
        } else if (hasRoom) {
            weights.put(revision, weight);
        }
        return hasRoom;
    }

    /** @return as of {@link #setWeight} */
    boolean pin(String model, String revision) {
        boolean hasRoom = pins.containsKey(model) || hasRoom();
        if (hasRoom) {
            pins.put(model, revision);
        }
        return hasRoom;
    }

    void unpin(String model, String revision) {
        pins.remove(model, revision);
    }

    public boolean isPinned(String model, String revision) {
        return revision.equals(pins.get(model));
    }

    /** Whether new requests may go there at all. */
    public boolean allows(String model, String revision) {
        @Nullable String pinned = pins.get(model);
        return weight(revision) > 0 && (pinned == null || pinned.equals(revision));
    }

    private boolean hasRoom() {
        return weights.size() + pins.size() < MOST;
    }
}
