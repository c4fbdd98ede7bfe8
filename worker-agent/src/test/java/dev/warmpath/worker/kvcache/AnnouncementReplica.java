package dev.warmpath.worker.kvcache;

import dev.warmpath.protocol.block.BlockHashChain;
import dev.warmpath.protocol.event.BlockChange;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * What a router knows of the cache: applies the published changes, and finds at every moment that each key's parent is
 * there. A key is known by its text, the number that stands for its salt and all tokens up to its end.
 */
final class AnnouncementReplica {

    private final Map<Long, Long> textByKey = new HashMap<>();
    private final Map<Long, Long> parentText = new HashMap<>();
    private final Set<Long> announced = new HashSet<>();

    /**
     * Learns what the keys of a sequence stand for.
     * @param texts    of its full blocks, in the group's size
     * @param announced whether it is the group that is announced
     */
    void remember(BlockHashChain chain, long[] texts, boolean announced) {
        for (int index = 0; index < chain.blockCount(); index++) {
            textByKey.put(chain.key(index), texts[index]);
            if (announced) {
                parentText.put(texts[index], index == 0 ? ObviousCache.NO_TEXT : texts[index - 1]);
            }
        }
    }

    long textOf(long key) {
        return textByKey.get(key);
    }

    /** As a router would: parents first, children first away. */
    void apply(List<BlockChange> changes) {
        for (BlockChange change : changes) {
            switch (change) {
                case BlockChange.Cleared() -> announced.clear();
                case BlockChange.Removed(var medium, var keys) -> {
                    for (long key : keys) {
                        long text = textByKey.get(key);
                        require(announced.remove(text), "removed what was there");
                        require(announced.stream().noneMatch(each -> parentText.get(each) == text), "child first");
                    }
                }
                case BlockChange.Stored(var medium, var keys) -> {
                    for (long key : keys) {
                        long text = textByKey.get(key);
                        require(isRootOrIn(announced, text), "parent first");
                        require(announced.add(text), "stored what was not there");
                    }
                }
            }
            for (long text : announced) {
                require(isRootOrIn(announced, text), "announced is reachable");
            }
        }
    }

    /** @param texts of all keys in all groups */
    void checkAnnounced(Set<Long> texts) {
        var expected = new HashSet<>(texts);
        expected.retainAll(parentText.keySet());
        require(announced.equals(expected), "announced are the keys that are there");
    }

    /** After a change of one text: it is there with its parent, or gone before its children. */
    void checkOrder(long text, Set<Long> texts) {
        if (texts.contains(text)) {
            require(isRootOrIn(texts, text), "a parent is stored first");
        } else {
            require(texts.stream().noneMatch(each -> parentText.getOrDefault(each, ObviousCache.NO_TEXT) == text),
                    "a child is removed first");
        }
    }

    int count() {
        return announced.size();
    }

    /** A key of the first group is there just if those before it in its chain are. @return how many there are */
    int checkReachable(Set<Long> texts) {
        int keys = 0;
        for (long text : texts) {
            if (parentText.containsKey(text)) {
                keys++;
                require(isRootOrIn(texts, text), "reachable");
            }
        }
        return keys;
    }

    private boolean isRootOrIn(Set<Long> texts, long text) {
        long parent = parentText.get(text);
        return parent == ObviousCache.NO_TEXT || texts.contains(parent);
    }

    private static void require(boolean condition, String what) {
        if (!condition) {
            throw new AssertionError(what);
        }
    }
}
