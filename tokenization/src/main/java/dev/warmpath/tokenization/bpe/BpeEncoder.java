package dev.warmpath.tokenization.bpe;

import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Byte pair encoding, with the ids of the Hugging Face library. Safe for concurrent use.
 *
 * <p>Idea: text is mostly words that are tokens, or were met before. A pattern cuts the text; a word of the
 * {@link Vocabulary} is one look-up, one of the {@link RecentWords} another, and only the rest is merged. Nothing is
 * allocated per token, except where a word is met for the first time.
 *
 * <p>Merging is what defines the ids; the vocabulary is only a short cut. Where a model does not say that its words
 * are to be taken as they stand ({@code ignore_merges}), a piece may be out of reach of its merges. So each is merged
 * once, when it is first met as a word, and {@code standing} remembers what came out; two threads may do so at once,
 * and find the same.
 */
public final class BpeEncoder {
    private static final byte UNKNOWN = 0;
    private static final byte STANDS = 1;
    private static final byte FALLS_APART = 2;

    private final Preparation preparation;
    private final WordPattern pattern;
    private final Alphabet alphabet;
    private final Vocabulary vocabulary;
    private final MergeTable merges;
    private final byte[] standing;
    private final RecentWords recent = new RecentWords();

    /** @param ignoreMerges a word of the vocabulary is its token, whatever merging would give */
    BpeEncoder(Preparation preparation, WordPattern pattern, Alphabet alphabet, Vocabulary vocabulary,
            MergeTable merges, boolean ignoreMerges) {
        this.preparation = preparation;
        this.pattern = pattern;
        this.alphabet = alphabet;
        this.vocabulary = vocabulary;
        this.merges = merges;
        standing = new byte[vocabulary.idCount()];
        if (ignoreMerges) {
            Arrays.fill(standing, STANDS);
        }
    }

    /**
     * Adds the ids of a text without added tokens.
     * @param first whether a prompt begins with it
     * @return false, and nothing added, if the library is to encode it: a character is unknown to one of the Unicode
     *         versions involved, or the text is nothing but accents
     */
    public boolean encode(String text, boolean first, TokenIds ids) {
        if (text.isEmpty()) {
            return true;
        }
        @Nullable String prepared = preparation.of(text, first);
        if (prepared == null) {
            return false;
        }
        int before = ids.count();
        if (!new Pass(Utf8.padded(prepared), ids).run()) {
            ids.cutTo(before);
            return false;
        }
        if (alphabet.fusedId() != Alphabet.DROPPED) {
            ids.fuse(before, alphabet.fusedId());                // a run of them may lie in several words
        }
        return true;
    }

    /** One text on its way. */
    private final class Pass {
        private final byte[] text;
        private final TokenIds ids;
        /** Most short texts need none. */
        private @Nullable Merger merger;

        private Pass(byte[] text, TokenIds ids) {
            this.text = text;
            this.ids = ids;
        }

        boolean run() {
            int limit = text.length - Utf8.PADDING;
            int end;
            for (int at = 0; at < limit; at = end) {
                end = pattern.wordEnd(text, at, limit);
                if (end == WordPattern.DISPUTED_WORD) {
                    return false;
                }
                word(at, end - at);
            }
            return true;
        }

        private void word(int from, int length) {
            if (length > RecentWords.MOST_BYTES && length > vocabulary.longestBytes()) {
                merge(from, length);
                return;
            }
            long first = WordKey.first(text, from, length);
            long second = WordKey.second(text, from, length);
            int spread = WordKey.spread(first, second);
            int id = vocabulary.find(first, second, spread, text, from, length);
            if (id != Vocabulary.NO_ID && stands(id, from, length)) {
                ids.add(id);
            } else if (length > RecentWords.MOST_BYTES) {
                merge(from, length);
            } else if (!recent.find(first, second, spread, text, from, length, ids)) {
                int before = ids.count();
                merge(from, length);
                recent.add(first, second, spread, text, from, length, ids.toArray(before));
            }
        }

        private void merge(int from, int length) {
            if (merger == null) {
                merger = new Merger(merges, alphabet);
            }
            merger.merge(text, from, from + length, ids);
        }

        /** Whether a piece of the vocabulary, met as a word, is one token. */
        private boolean stands(int id, int from, int length) {
            if (standing[id] == UNKNOWN) {
                int before = ids.count();
                merge(from, length);
                standing[id] = ids.count() == before + 1 && ids.get(before) == id ? STANDS : FALLS_APART;
                ids.cutTo(before);
            }
            return standing[id] == STANDS;
        }
    }
}
