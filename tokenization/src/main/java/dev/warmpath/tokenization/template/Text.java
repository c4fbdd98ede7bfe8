package dev.warmpath.tokenization.template;

import java.util.Arrays;
import java.util.BitSet;
import org.jspecify.annotations.Nullable;

/**
 * A string that remembers which of its characters came from the client. The marks travel through every operation, so
 * that the finished prompt still tells the template's own role markers from the same characters typed into a message.
 * Immutable; positions are UTF-16 units unless a name says code points.
 *
 * <p>What went through Jinja's filter {@code safe} is <em>markup</em>: it prints as it is, but a plain string that is
 * added to it, or formatted into it, is escaped for HTML, whoever prints it. Templates rely on neither, yet some of
 * them say {@code safe}, and what they then write is what models were trained on.
 */
final class Text implements Value, Comparable<Text> {
    private static final int[] NO_RANGES = new int[0];
    static final Text EMPTY = new Text("", NO_RANGES, /* markup */ false);
    private static final int FEW_CHARS = 8;

    private final String chars;
    /** start, end, start, end, …: sorted, disjoint, not empty, ends exclusive. */
    private final int[] clientRanges;
    private final boolean markup;
    /** Found when first asked for; racing threads find the same. */
    private int codePointCount = -1;

    private Text(String chars, int[] clientRanges, boolean markup) {
        this.chars = chars;
        this.clientRanges = clientRanges;
        this.markup = markup;
    }

    static Text trusted(String chars) {
        return chars.isEmpty() ? EMPTY : new Text(chars, NO_RANGES, /* markup */ false);
    }

    static Text fromClient(String chars) {
        return chars.isEmpty() ? EMPTY : new Text(chars, new int[] {0, chars.length()}, /* markup */ false);
    }

    /** The same, as markup or as a plain string. */
    Text asMarkup(boolean isMarkup) {
        return markup == isMarkup ? this : new Text(chars, clientRanges, isMarkup);
    }

    boolean isMarkup() {
        return markup;
    }

    String chars() {
        return chars;
    }

    int[] clientRanges() {
        return clientRanges;
    }

    boolean isEmpty() {
        return chars.isEmpty();
    }

    /** Memory that a copy takes, in bytes. */
    long bytes() {
        return 2L * chars.length() + 4L * clientRanges.length;
    }

    /** How many units are looked at to find a code point by its number: none if each is one unit, and that is known. */
    int unitsToFindAPlace() {
        return codePointCount == chars.length() ? 0 : chars.length();
    }

    int codePointCount() {
        if (codePointCount < 0) {
            codePointCount = chars.codePointCount(0, chars.length());
        }
        return codePointCount;
    }

    /** From and to count code points, as Python's indices do. Takes as long as the text if that has surrogates. */
    Text codePoints(int from, int to) {
        if (codePointCount() == chars.length()) {
            return substring(from, to);
        }
        int start = chars.offsetByCodePoints(0, from);
        return substring(start, chars.offsetByCodePoints(start, to - from));
    }

    Text substring(int from, int to) {
        if (from == 0 && to == chars.length()) {
            return this;
        }
        var marks = new Marks();
        marks.add(clientRanges, from, to, -from);
        return of(chars.substring(from, to), marks, markup);
    }

    /** Both, one behind the other, as they are; markup if this one is. */
    Text plus(Text other) {
        if (isEmpty() || other.isEmpty()) {
            return isEmpty() ? other.asMarkup(markup) : this;
        }
        var marks = new Marks();
        marks.add(clientRanges, 0, chars.length(), 0);
        marks.add(other.clientRanges, 0, other.chars.length(), chars.length());
        return of(chars.concat(other.chars), marks, markup);
    }

    private static Text of(String chars, Marks marks, boolean markup) {
        return chars.isEmpty() && !markup ? EMPTY : new Text(chars, marks.ranges(), markup);
    }

    /** These characters after a change that may move them (case, escapes): marks stay exact if the length does. */
    Text withChars(String changed) {
        if (changed.length() == chars.length()) {
            return new Text(changed, clientRanges, markup);
        }
        return (clientRanges.length == 0 ? trusted(changed) : fromClient(changed)).asMarkup(markup);
    }

    /** Cuts every character of {@code set}, or Python's white space where it is empty, off the chosen ends. */
    Text strip(String set, boolean left, boolean right) {
        @Nullable BitSet many = set.length() <= FEW_CHARS ? null
                : set.codePoints().collect(BitSet::new, BitSet::set, BitSet::or);
        int from = 0;
        int to = chars.length();
        while (left && from < to && strips(set, many, chars.codePointAt(from))) {
            from += Character.charCount(chars.codePointAt(from));
        }
        while (right && from < to && strips(set, many, chars.codePointBefore(to))) {
            to -= Character.charCount(chars.codePointBefore(to));
        }
        return substring(from, to);
    }

    private static boolean strips(String set, @Nullable BitSet many, int codePoint) {
        return many != null ? many.get(codePoint) : set.isEmpty() ? isSpace(codePoint) : set.indexOf(codePoint) >= 0;
    }

    /** Python's str.isspace: Unicode's spaces and the separators of ASCII. */
    static boolean isSpace(int codePoint) {
        return Character.isWhitespace(codePoint) || Character.isSpaceChar(codePoint) || codePoint == 0x85;
    }

    /** So that a dict of many keys with one hash, as a client may send, is still searched as a tree. */
    @Override
    public int compareTo(Text other) {
        return chars.compareTo(other.chars);
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof Text text && text.chars.equals(chars);
    }

    @Override
    public int hashCode() {
        return chars.hashCode();
    }

    @Override
    public String toString() {
        return chars;
    }

    /** Ranges while a text is put together, in its order. */
    private static final class Marks {
        private int[] ranges = NO_RANGES;
        private int count;

        /** Those of another text that lie in {@code [from, to)} of it, moved by {@code shift}; looks at no others. */
        void add(int[] others, int from, int to, int shift) {
            for (int i = firstEndingAfter(others, from); i < others.length && others[i] < to; i += 2) {
                int start = Math.max(from, others[i]);
                int end = Math.min(to, others[i + 1]);
                if (start < end) {
                    add(start + shift, end + shift);
                }
            }
        }

        private void add(int start, int end) {
            if (count > 0 && ranges[count - 1] == start) {
                ranges[count - 1] = end;
                return;
            }
            if (count == ranges.length) {
                ranges = Arrays.copyOf(ranges, Math.max(2, 2 * count));
            }
            ranges[count++] = start;
            ranges[count++] = end;
        }

        int[] ranges() {
            return count == ranges.length ? ranges : Arrays.copyOf(ranges, count);
        }
    }

    /** The place in {@code ranges} of the first one that ends behind {@code at}; their length if there is none. */
    static int firstEndingAfter(int[] ranges, int at) {
        int low = 0;
        int high = ranges.length / 2;
        while (low < high) {
            int middle = (low + high) >>> 1;
            if (ranges[2 * middle + 1] > at) {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        return 2 * low;
    }

    /** Puts texts together, marks included. */
    static final class Builder {
        private static final int USUAL_CHARS = 512;

        private final StringBuilder chars;
        private final Marks marks = new Marks();

        Builder() {
            this(USUAL_CHARS);
        }

        /** @param expectedChars about the length of the text that it will be */
        Builder(int expectedChars) {
            chars = new StringBuilder(expectedChars);
        }

        void append(String trusted) {
            chars.append(trusted);
        }

        void append(Text text) {
            append(text, 0, text.chars.length());
        }

        void append(Text text, int from, int to) {
            marks.add(text.clientRanges, from, to, chars.length() - from);
            chars.append(text.chars, from, to);
        }

        int length() {
            return chars.length();
        }

        Text build() {
            return of(chars.toString(), marks, /* markup */ false);
        }
    }
}
