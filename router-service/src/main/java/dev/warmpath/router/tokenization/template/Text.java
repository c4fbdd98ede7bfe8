package dev.warmpath.router.tokenization.template;

import java.util.Arrays;

/**
 * A string that remembers which of its characters came from the client. The marks travel through every operation, so
 * that the finished prompt still tells the template's own role markers from the same characters typed into a message.
 * Immutable; positions are UTF-16 units unless a name says code points.
 */
final class Text implements Value {
    static final Text EMPTY = new Text("", new int[0]);

    private final String chars;
    /** start, end, start, end, …: sorted, disjoint, not empty, ends exclusive. */
    private final int[] clientRanges;

    private Text(String chars, int[] clientRanges) {
        this.chars = chars;
        this.clientRanges = clientRanges;
    }

    static Text trusted(String chars) {
        return chars.isEmpty() ? EMPTY : new Text(chars, EMPTY.clientRanges);
    }

    static Text fromClient(String chars) {
        return chars.isEmpty() ? EMPTY : new Text(chars, new int[] {0, chars.length()});
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

    int codePointCount() {
        return chars.codePointCount(0, chars.length());
    }

    /** From and to count code points, as Python's indices do. */
    Text codePoints(int from, int to) {
        int start = chars.offsetByCodePoints(0, from);
        return substring(start, chars.offsetByCodePoints(start, to - from));
    }

    Text substring(int from, int to) {
        if (from == 0 && to == chars.length()) {
            return this;
        }
        var marks = new Marks();
        marks.add(clientRanges, from, to, -from);
        return of(chars.substring(from, to), marks);
    }

    /** Both, one behind the other. */
    Text plus(Text other) {
        if (isEmpty() || other.isEmpty()) {
            return isEmpty() ? other : this;
        }
        var marks = new Marks();
        marks.add(clientRanges, 0, chars.length(), 0);
        marks.add(other.clientRanges, 0, other.chars.length(), chars.length());
        return of(chars.concat(other.chars), marks);
    }

    private static Text of(String chars, Marks marks) {
        return chars.isEmpty() ? EMPTY : new Text(chars, marks.ranges());
    }

    /** These characters after a change that may move them (case, escapes): marks stay exact if the length does. */
    Text withChars(String changed) {
        if (changed.length() == chars.length()) {
            return new Text(changed, clientRanges);
        }
        return clientRanges.length == 0 ? trusted(changed) : fromClient(changed);
    }

    /** Cuts every character of {@code set}, or Python's white space where it is empty, off the chosen ends. */
    Text strip(String set, boolean left, boolean right) {
        int from = 0;
        int to = chars.length();
        while (left && from < to && strips(set, chars.codePointAt(from))) {
            from += Character.charCount(chars.codePointAt(from));
        }
        while (right && from < to && strips(set, chars.codePointBefore(to))) {
            to -= Character.charCount(chars.codePointBefore(to));
        }
        return substring(from, to);
    }

    private static boolean strips(String set, int codePoint) {
        return set.isEmpty() ? isSpace(codePoint) : set.indexOf(codePoint) >= 0;
    }

    /** Python's str.isspace: Unicode's spaces and the separators of ASCII. */
    static boolean isSpace(int codePoint) {
        return Character.isWhitespace(codePoint) || Character.isSpaceChar(codePoint) || codePoint == 0x85;
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
        private int[] ranges = EMPTY.clientRanges;
        private int count;

        /** Those of another text that lie in {@code [from, to)} of it, moved by {@code shift}. */
        void add(int[] others, int from, int to, int shift) {
            for (int i = 0; i < others.length; i += 2) {
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

    /** Puts texts together, marks included. */
    static final class Builder {
        private static final int FEW_CHARS = 512;

        private final StringBuilder chars;
        private final Marks marks = new Marks();

        Builder() {
            this(FEW_CHARS);
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
            return of(chars.toString(), marks);
        }
    }
}
