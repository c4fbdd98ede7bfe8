package dev.warmpath.tokenization.bpe;

import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Words that are no token by themselves, and the ids that merging them gave. A table of fixed size that forgets; all
 * threads read and write it without locks.
 *
 * <p>Each word has one pair of places. A new one takes the second; one that is asked for again moves to the first. So a
 * stream of words that come once, however long, pushes out only each other. What it costs at worst to be pushed out is
 * one merging, which the stream itself costs, too.
 *
 * <p>Races do no harm: entries never change, and become visible whole, as their fields are final. A place that two
 * threads write has one of the two words, and a word that is lost is merged again.
 */
final class RecentWords {
    /** Longer ones are merged each time: few come again. */
    static final int MOST_BYTES = 64;
    private static final int PAIRS = 1 << 14;
    private static final byte[] NO_BYTES = {};

    private record Word(long first, long second, byte[] bytes, int[] ids) {}

    private final @Nullable Word[] words = new @Nullable Word[2 * PAIRS];

    /** Adds the ids of a word of {@link #MOST_BYTES} at most. @return whether it is known */
    boolean find(long first, long second, int spread, byte[] text, int from, int length, TokenIds out) {
        int place = 2 * (spread >>> 8 & PAIRS - 1);
        @Nullable Word word = words[place];
        if (word != null && isWord(word, first, second, text, from, length)) {
            out.addAll(word.ids);
            return true;
        }
        @Nullable Word newer = words[place + 1];
        if (newer != null && isWord(newer, first, second, text, from, length)) {
            words[place + 1] = word;
            words[place] = newer;
            out.addAll(newer.ids);
            return true;
        }
        return false;
    }

    private static boolean isWord(Word word, long first, long second, byte[] text, int from, int length) {
        return word.first == first && word.second == second && (length <= WordKey.EXACT_BYTES
                || Arrays.equals(word.bytes, 0, word.bytes.length, text, from, from + length));
    }

    void add(long first, long second, int spread, byte[] text, int from, int length, int[] ids) {
        byte[] bytes = length <= WordKey.EXACT_BYTES ? NO_BYTES : Arrays.copyOfRange(text, from, from + length);
        words[2 * (spread >>> 8 & PAIRS - 1) + 1] = new Word(first, second, bytes, ids);
    }
}
