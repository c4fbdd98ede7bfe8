package dev.warmpath.tokenization.bpe;

import static dev.warmpath.tokenization.bpe.CharClass.NEWLINE;
import static dev.warmpath.tokenization.bpe.CharClass.NUMBER;
import static dev.warmpath.tokenization.bpe.CharClass.SPACE;

/** The endings that several patterns share. */
final class White {
    private White() {}

    /** {@code \s*[\r\n]+|\s+(?!\S)|\s+}: up to the last line break of a run, else all but its last character. */
    static int end(byte[] text, int from, int limit) {
        int end = CharClass.runEnd(text, from, limit, SPACE);
        for (int at = end; at > from; at--) {
            if (text[at - 1] == '\n' || text[at - 1] == '\r') {
                return at;
            }
        }
        return allButLast(text, from, end, limit);
    }

    /**
     * {@code \s+(?!\S)|\s+} for a run of white space that ends at {@code end}: its last character belongs to what
     * follows, unless there is nothing, or it is the only one.
     */
    static int allButLast(byte[] text, int from, int end, int limit) {
        if (end == from) {
            return WordPattern.DISPUTED_WORD;                    // neither white space nor anything else
        }
        int last = Utf8.lastStart(text, end);
        return end == limit || last == from ? end : last;
    }

    /** {@code \p{N}{1,most}}. */
    static int upTo(int most, byte[] text, int from, int limit) {
        int at = from;
        for (int i = 0; i < most && at < limit && (CharClass.at(text, at) & NUMBER) != 0; i++) {
            at += Utf8.width(text[at]);
        }
        return at;
    }
}
