package dev.warmpath.router.models;

import dev.warmpath.protocol.fleet.ModelDescription;
import java.util.Collection;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The revisions that are known here, by digest, and what operators want of them. Its owner sees to it that one thread
 * at a time is in it; the wishes may be read by any.
 */
public final class Revisions {

    /** Without workers they stay loaded, so that a restarted worker is ready at once. */
    private static final int MAX_IDLE = 8;

    private final Map<String, Revision> known = new LinkedHashMap<>();
    private final RevisionWishes wishes;

    public Revisions(RevisionWishes wishes) {
        this.wishes = wishes;
    }

    public @Nullable Revision get(String revision) {
        return known.get(revision);
    }

    /** In the order in which they came. */
    public Collection<Revision> all() {
        return Collections.unmodifiableCollection(known.values());
    }

    /** Unless it is known. */
    public void add(ModelDescription description) {
        known.computeIfAbsent(description.revision(), _ -> new Revision(description));
    }

    public void remove(String revision) {
        known.remove(revision);
    }

    /** Of those that nobody serves, the ones that came last stay. @param used by some worker */
    public void forgetIdle(Set<String> used) {
        List<String> idle = known.keySet().stream().filter(revision -> !used.contains(revision)).toList();
        idle.stream().limit(Math.max(0, idle.size() - MAX_IDLE)).forEach(known::remove);
    }

    /** True for the one caller who is to load this revision's model. */
    public boolean claimLoading(String revision) {
        Revision claimed = known.get(revision);
        return claimed != null && claimed.claimLoading();
    }

    /** Nobody tries any more. */
    public void giveUpLoading(String revision) {
        Revision left = known.get(revision);
        if (left != null) {
            left.giveUpLoading();
        }
    }

    /**
     * @param weight how often the revision's capacity counts: 1 is usual, 0 drains it
     * @return false if the revision is not known here, or too many have been spoken of
     */
    public boolean weigh(String revision, double weight) {
        return known.containsKey(revision) && wishes.setWeight(revision, weight);
    }

    /** Gives all new requests of its model to this revision, even if nobody serves it. @return as the weight's */
    public boolean pin(String revision) {
        Revision pinned = known.get(revision);
        return pinned != null && wishes.pin(pinned.description().name(), revision);
    }

    /** @return false if the revision is not known here */
    public boolean unpin(String revision) {
        Revision unpinned = known.get(revision);
        if (unpinned != null) {
            wishes.unpin(unpinned.description().name(), revision);
        }
        return unpinned != null;
    }
}
