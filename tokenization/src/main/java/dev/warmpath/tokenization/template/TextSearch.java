package dev.warmpath.tokenization.template;

/**
 * Looks for one string in others, in time that grows with their lengths' sum: the JDK's search, which is many times
 * faster for what templates look for, takes the lengths' product where the same characters come again and again. Hence
 * a long string is looked for as Knuth, Morris and Pratt do (1977).
 */
final class TextSearch {
    private static final int LONG_CHARS = 32;
    private static final int[] NONE = new int[0];

    private final String part;
    private final RenderContext context;
    /** By place in a long {@code part}: how much of its beginning the characters before the place end with. */
    private final int[] borders;

    /** @param part not empty where occurrences are looked for one after the other */
    TextSearch(String part, RenderContext context) {
        this.part = part;
        this.context = context;
        if (part.length() <= LONG_CHARS) {
            borders = NONE;
            return;
        }
        context.items(part.length() / 4);
        borders = new int[part.length() + 1];
        borders[0] = -1;
        for (int i = 0, border = -1; i < part.length(); ) {
            while (border >= 0 && part.charAt(i) != part.charAt(border)) {
                border = borders[border];
            }
            borders[++i] = ++border;
        }
    }

    /** The first place at or after {@code from}, or -1. */
    static int find(String text, String part, int from, RenderContext context) {
        return new TextSearch(part, context).next(text, from);
    }

    /** The last place, or -1. */
    static int findLast(String text, String part, RenderContext context) {
        return new TextSearch(part, context).last(text);
    }

    int next(String text, int from) {
        int at = borders == NONE ? text.indexOf(part, from) : scan(text, from, /* toLast */ false);
        charge((at < 0 ? text.length() : at + part.length()) - from);
        return at;
    }

    private int last(String text) {
        charge(text.length());
        return borders == NONE ? text.lastIndexOf(part) : scan(text, 0, /* toLast */ true);
    }

    private void charge(long chars) {
        context.read(borders == NONE ? chars * Math.max(1, part.length() / 8) : 2 * chars);
    }

    private int scan(String text, int from, boolean toLast) {
        int found = -1;
        int matched = 0;
        for (int i = from; i < text.length() && (found < 0 || toLast); i++) {
            while (matched >= 0 && (matched == part.length() || text.charAt(i) != part.charAt(matched))) {
                matched = borders[matched];
            }
            if (++matched == part.length()) {
                found = i + 1 - matched;
            }
        }
        return found;
    }
}
