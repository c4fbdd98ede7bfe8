package dev.warmpath.tokenization;

import dev.warmpath.tokenization.bpe.TextStream;
import java.util.Arrays;

/**
 * Text from tokens as they come, through a decoder that only decodes whole arrays.
 *
 * <p>Idea: the last few tokens are decoded as a window, together with a new one, because a token's text depends on its
 * neighbours: several may share a character, and some decoders drop a space from the first. Text is counted from the
 * window's end, so that the window can lose tokens at its front. A character in the making decodes to U+FFFD at the end
 * of the window, and waits; after {@value #FORCED_AT} tokens it was no character and comes out as such. Cost per token:
 * one decode of {@value #TRIM_AT} tokens, on a bad stretch of bytes of {@value #FORCED_AT}.
 *
 * <p>For decoders that are not known to {@code tokenization.bpe}. One that judges a run of bytes as a whole may give
 * another number of U+FFFD for a run that is not UTF-8.
 */
final class WindowStream implements TextStream {
    private static final char REPLACEMENT = '\uFFFD';
    /** Tokens that stay as context: a character is at most four. */
    private static final int KEPT = 4;
    private static final int TRIM_AT = 8;
    private static final int FORCED_AT = 24;
    /** U+FFFD that one character in the making can show: one for each of its bytes that are there. */
    private static final int UNFINISHED_CHARS = 3;

    private final ModelTokenizer tokenizer;
    private final int[] window = new int[FORCED_AT];
    private int size;
    /** How much of the window's text was returned, in UTF-16 units. */
    private int returned;

    WindowStream(ModelTokenizer tokenizer) {
        this.tokenizer = tokenizer;
    }

    @Override
    public String accept(int id) {
        if (tokenizer.isSpecial(id)) {
            return "";                                           // as context it would hide a dropped space
        }
        window[size++] = id;
        String text = tokenizer.decode(window, 0, size);
        int certain = certainLength(text);
        String piece = certain > returned ? text.substring(returned, certain) : "";
        returned = Math.max(returned, certain);
        if (size >= TRIM_AT) {
            trim(text);
        }
        return piece;
    }

    @Override
    public String finish() {
        String text = tokenizer.decode(window, 0, size);
        String rest = returned < text.length() ? text.substring(returned) : "";
        size = 0;
        returned = 0;
        return rest;
    }

    private int certainLength(String text) {
        int end = text.length();
        while (end > 0 && text.charAt(end - 1) == REPLACEMENT) {
            end--;
        }
        return size < FORCED_AT ? end : Math.max(end, text.length() - UNFINISHED_CHARS);
    }

    /** Drops tokens from the front where the rest still decodes to the end of the same text. */
    private void trim(String text) {
        boolean forced = size == FORCED_AT;
        if (returned < text.length() && !forced) {
            return;
        }
        String waiting = text.substring(Math.min(returned, text.length()));
        for (int keep = KEPT; keep < (forced ? size : 2 * KEPT); keep++) {
            String tail = tokenizer.decode(window, size - keep, size);
            if (tail.length() > waiting.length() && text.endsWith(tail)) {
                keep(keep, tail.length() - waiting.length());
                return;
            }
        }
        if (forced) {
            int keep = FORCED_AT / 2;
            keep(keep, Math.max(0, tokenizer.decode(window, size - keep, size).length() - waiting.length()));
        }
    }

    private void keep(int count, int returnedOfRest) {
        System.arraycopy(window, size - count, window, 0, count);
        Arrays.fill(window, count, size, 0);
        size = count;
        returned = returnedOfRest;
    }
}
