package dev.warmpath.tokenization;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import org.jspecify.annotations.Nullable;

/**
 * Ids of long segments, by their text, so that the next turn of a conversation encodes only what is new: the messages
 * before it are the same segments. One for all models; bounded by bytes. Safe for concurrent use.
 *
 * <p>Caffeine keeps what is asked for often over what came last, so a stream of texts that come once pushes out little.
 */
public final class SegmentCache {
    /** Shorter ones are encoded in the microseconds that an entry costs, and would fill it with overhead. */
    static final int LEAST_CHARS = 256;
    /** Of key, string, array and their places. */
    private static final int OVERHEAD_BYTES = 160;

    /**
     * @param owner whose ids they are; not the tokenizer, which may go before its entries do
     * @param first whether the text begins a prompt, where that makes a difference
     */
    private record Key(Object owner, String text, boolean first) implements Comparable<Key> {
        /** A record's own goes through a method handle for each component: twice as long as the text's hash. */
        @Override
        public int hashCode() {
            return text.hashCode();
        }

        @Override
        public boolean equals(Object other) {
            return other instanceof Key(Object anOwner, String aText, boolean isFirst)
                    && owner == anOwner && first == isFirst && text.equals(aText);
        }

        /** So that texts made to share a hash are found in a tree, not in a list. */
        @Override
        public int compareTo(Key other) {
            return text.compareTo(other.text);
        }
    }

    private final Cache<Key, int[]> ids;
    private final boolean keepsNone;

    /** @param maxBytes 0: nothing is kept */
    public SegmentCache(long maxBytes) {
        keepsNone = maxBytes == 0;
        // its upkeep takes less time than waking another thread for it
        ids = Caffeine.newBuilder().maximumWeight(maxBytes).executor(Runnable::run)
                .weigher((Key key, int[] value) -> weight(key.text.length(), value.length)).recordStats().build();
    }

    /** Two bytes a character, four an id. */
    private static int weight(int charCount, int idCount) {
        return (int) Math.min(Integer.MAX_VALUE, OVERHEAD_BYTES + 2L * charCount + 4L * idCount);
    }

    /** Only to be read. */
    int @Nullable [] get(Object owner, String text, boolean first) {
        return ids.getIfPresent(new Key(owner, text, first));
    }

    void put(Object owner, String text, boolean first, int[] textIds) {
        if (!keepsNone) {                                        // Caffeine would evict it a moment later
            ids.put(new Key(owner, text, first), textIds);
        }
    }

    /** Segments whose ids were known, since the start. */
    public long hits() {
        return ids.stats().hitCount();
    }

    /** Segments whose ids were not. */
    public long misses() {
        return ids.stats().missCount();
    }

    /** Bytes in use, by the weights above. */
    public long bytes() {
        ids.cleanUp();
        return ids.policy().eviction().orElseThrow().weightedSize().orElse(0);
    }
}
