package dev.warmpath.tokenization.template;

import dev.warmpath.tokenization.template.Callee.Arguments;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** What strings can be asked, with Python's results. Parts of markup are markup. */
final class TextMethods {
    /** Where Python's splitlines cuts. */
    private static final Pattern LINE_END = Pattern.compile("\\r\\n|[\\n\\r\\x0b\\x0c\\x1c-\\x1e\\x85\\u2028\\u2029]");

    private TextMethods() {}

    static Text string(Value value, RenderContext context) {
        if (value instanceof Text text) {
            return text;
        }
        Operators.refuseUndefined(value, context);
        throw context.wrong("a string is needed, not " + Operators.typeName(value));
    }

    /** @param given chars; none: white space */
    static Text strip(Text text, Arguments given, boolean left, boolean right, RenderContext context) {
        if (given.get(0) instanceof Value.None) {
            return strip(text, "", left, right, context);
        }
        String set = string(given.get(0), context).chars();
        return set.isEmpty() ? text : strip(text, set, left, right, context);
    }

    private static Text strip(Text text, String set, boolean left, boolean right, RenderContext context) {
        context.items(set.length() / 8);
        Text stripped = text.strip(set, left, right);
        context.read(text.chars().length() - stripped.chars().length());
        if (stripped != text) {
            context.copy(stripped);
        }
        return stripped;
    }

    static Text removed(Text text, Arguments given, boolean atStart, RenderContext context) {
        String part = string(given.get(0), context).chars();
        context.read(part.length());
        boolean isThere = atStart ? text.chars().startsWith(part) : text.chars().endsWith(part);
        if (!isThere) {
            return text;
        }
        context.copy(text);
        return atStart ? text.substring(part.length(), text.chars().length())
                : text.substring(0, text.chars().length() - part.length());
    }

    /** @param given sep, maxsplit */
    static Value split(Text text, Arguments given, boolean fromLeft, RenderContext context) {
        long limit = given.integer(1, -1, context);
        boolean onSpace = given.get(0) instanceof Value.None;
        List<Value> parts = onSpace ? fromLeft ? words(text, limit, context) : wordsFromRight(text, limit, context)
                : parts(text, separator(given, context), limit, fromLeft, context);
        return Value.list(parts);
    }

    private static String separator(Arguments given, RenderContext context) {
        String separator = string(given.get(0), context).chars();
        if (separator.isEmpty()) {
            throw context.wrong("empty separator");
        }
        return separator;
    }

    private static List<Value> parts(Text text, String separator, long limit, boolean fromLeft, RenderContext context) {
        List<Integer> all = fromLeft ? places(text.chars(), separator, context)
                : placesFromRight(text.chars(), separator, limit, context);
        int count = limit < 0 ? all.size() : (int) Math.min(limit, all.size());
        var parts = new ArrayList<Value>(count + 1);
        int from = 0;
        for (int i = 0; i < count; i++) {
            parts.add(part(text, from, all.get(i), context));
            from = all.get(i) + separator.length();
        }
        parts.add(part(text, from, text.chars().length(), context));
        return parts;
    }

    private static Text part(Text text, int from, int to, RenderContext context) {
        context.items(1);
        context.chars(to - from);
        return text.substring(from, to);
    }

    /** Where the part is, one after the other. */
    private static List<Integer> places(String chars, String part, RenderContext context) {
        var search = new TextSearch(part, context);
        var places = new ArrayList<Integer>();
        for (int at = search.next(chars, 0); at >= 0; at = search.next(chars, at + part.length())) {
            context.items(1);
            places.add(at);
        }
        return places;
    }

    /** The last ones, the first of them first: of those that overlap, the one behind counts. */
    private static List<Integer> placesFromRight(String chars, String part, long limit, RenderContext context) {
        context.chars(chars.length());
        List<Integer> mirrored = places(new StringBuilder(chars).reverse().toString(),
                new StringBuilder(part).reverse().toString(), context);
        var places = new ArrayList<Integer>();
        for (int i = (limit < 0 ? mirrored.size() : (int) Math.min(limit, mirrored.size())) - 1; i >= 0; i--) {
            places.add(chars.length() - mirrored.get(i) - part.length());
        }
        return places;
    }

    private static List<Value> words(Text text, long limit, RenderContext context) {
        var words = new ArrayList<Value>();
        String chars = text.chars();
        context.read(chars.length());
        int from = afterSpace(chars, 0);
        while (from < chars.length()) {
            if (limit >= 0 && words.size() == limit) {
                words.add(part(text, from, chars.length(), context));
                break;
            }
            int to = from;
            while (to < chars.length() && !Text.isSpace(chars.charAt(to))) {
                to++;
            }
            words.add(part(text, from, to, context));
            from = afterSpace(chars, to);
        }
        return words;
    }

    private static int afterSpace(String chars, int from) {
        int at = from;
        while (at < chars.length() && Text.isSpace(chars.charAt(at))) {
            at++;
        }
        return at;
    }

    private static int beforeSpace(String chars, int to) {
        int at = to;
        while (at > 0 && Text.isSpace(chars.charAt(at - 1))) {
            at--;
        }
        return at;
    }

    private static List<Value> wordsFromRight(Text text, long limit, RenderContext context) {
        var words = new ArrayList<Value>();
        String chars = text.chars();
        context.read(chars.length());
        int to = beforeSpace(chars, chars.length());
        while (to > 0) {
            if (limit >= 0 && words.size() == limit) {
                words.add(part(text, 0, to, context));
                break;
            }
            int from = to;
            while (from > 0 && !Text.isSpace(chars.charAt(from - 1))) {
                from--;
            }
            words.add(part(text, from, to, context));
            to = beforeSpace(chars, from);
        }
        return words.reversed();
    }

    /** @param given keepends */
    static Value splitLines(Text text, Arguments given, RenderContext context) {
        var lines = new ArrayList<Value>();
        boolean keepsEnds = given.flag(0);
        context.read(text.chars().length());
        Matcher end = LINE_END.matcher(text.chars());
        int from = 0;
        while (end.find()) {
            lines.add(part(text, from, keepsEnds ? end.end() : end.start(), context));
            from = end.end();
        }
        if (from < text.chars().length()) {
            lines.add(part(text, from, text.chars().length(), context));
        }
        return Value.list(lines);
    }

    static Value partition(Text text, Arguments given, boolean first, RenderContext context) {
        String separator = separator(given, context);
        int at = first ? TextSearch.find(text.chars(), separator, 0, context)
                : TextSearch.findLast(text.chars(), separator, context);
        Text none = Text.EMPTY.asMarkup(text.isMarkup());
        if (at < 0) {
            return Value.tuple(first ? List.of(text, none, none) : List.of(none, none, text));
        }
        int end = at + separator.length();
        return Value.tuple(List.of(part(text, 0, at, context), part(text, at, end, context),
                part(text, end, text.chars().length(), context)));
    }

    /** The part of a text between two places that a caller may have named, in units. */
    private record Window(int from, int to) {
        /** @param given something, start, end */
        static @Nullable Window of(Text text, Arguments given, RenderContext context) {
            if (!given.isGiven(1) && !given.isGiven(2)) {
                return new Window(0, text.chars().length());
            }
            int length = Operators.length(text, context);
            int from = Methods.place(given.integer(1, 0, context), length);
            int to = Methods.place(given.integer(2, length, context), length);
            boolean isOutside = given.integer(1, 0, context) > length || from > to;
            context.read(2L * text.unitsToFindAPlace());
            return isOutside ? null : new Window(unit(text, from), unit(text, to));
        }

        private static int unit(Text text, int codePoint) {
            return text.unitsToFindAPlace() == 0 ? codePoint : text.chars().offsetByCodePoints(0, codePoint);
        }
    }

    /** @param given one string or a tuple of them, start, end */
    static Value begins(Text text, Arguments given, boolean atStart, RenderContext context) {
        List<Value> candidates = given.get(0) instanceof Value.Sequence(List<Value> items, boolean tuple) && tuple
                ? items : List.of(given.get(0));
        @Nullable Window window = Window.of(text, given, context);
        for (Value candidate : candidates) {
            String part = string(candidate, context).chars();
            context.steps(1);
            context.read(part.length());
            if (window != null && part.length() <= window.to - window.from
                    && text.chars().startsWith(part, atStart ? window.from : window.to - part.length())) {
                return Value.TRUE;
            }
        }
        return Value.FALSE;
    }

    /** The first or the last place, in code points, or -1. @param given sub, start, end */
    static int find(Text text, Arguments given, boolean first, RenderContext context) {
        String part = string(given.get(0), context).chars();
        @Nullable Window window = Window.of(text, given, context);
        if (window == null) {
            return -1;
        }
        boolean isWhole = window.from == 0 && window.to == text.chars().length();
        if (!isWhole) {
            context.chars(window.to - window.from);
        }
        String chars = isWhole ? text.chars() : text.chars().substring(window.from, window.to);
        int at = first ? TextSearch.find(chars, part, 0, context) : TextSearch.findLast(chars, part, context);
        context.read(text.unitsToFindAPlace());
        return at < 0 ? -1 : text.unitsToFindAPlace() == 0 ? window.from + at
                : text.chars().codePointCount(0, window.from + at);
    }

    static Value index(Text text, Arguments given, boolean first, RenderContext context) {
        int at = find(text, given, first, context);
        if (at < 0) {
            throw context.wrong("substring not found");
        }
        return new Value.Int(at);
    }

    /** @param given sub, start, end */
    static Value count(Text text, Arguments given, RenderContext context) {
        String part = string(given.get(0), context).chars();
        @Nullable Window window = Window.of(text, given, context);
        if (window == null) {
            return new Value.Int(0);
        }
        context.chars(window.to - window.from);
        String chars = text.chars().substring(window.from, window.to);
        return new Value.Int(part.isEmpty() ? chars.codePointCount(0, chars.length()) + 1
                : places(chars, part, context).size());
    }

    /** @param count most that are replaced; negative or None: all */
    static Text replace(Text text, Text old, Text replacement, Value count, RenderContext context) {
        long left = count instanceof Value.None ? -1 : Operators.integer(count, context);
        left = left < 0 ? Long.MAX_VALUE : left;
        Text written = text.isMarkup() ? Html.escaped(replacement, context) : replacement;
        var out = new Text.Builder(text.chars().length());
        var search = new TextSearch(old.chars(), context);
        int from = 0;
        int at = left == 0 ? -1 : search.next(text.chars(), 0);
        for (; at >= 0 && left > 0; left--) {
            context.steps(1);
            append(out, text, from, at, context);
            context.output((long) out.length() + written.chars().length(), written);
            out.append(written);
            from = at + old.chars().length();
            at = old.isEmpty() ? afterNext(text.chars(), at) : search.next(text.chars(), from);
        }
        append(out, text, from, text.chars().length(), context);
        return out.build().asMarkup(text.isMarkup());
    }

    /** An empty string is found before each code point and behind the last. */
    private static int afterNext(String chars, int at) {
        return at == chars.length() ? -1 : at + Character.charCount(chars.codePointAt(at));
    }

    private static void append(Text.Builder out, Text text, int from, int to, RenderContext context) {
        context.output((long) out.length() + to - from, to - from);
        out.append(text, from, to);
    }

    /** As the filter and the operator {@code ~} join: whatever it is, as it prints. */
    static Text join(Text separator, List<Value> items, RenderContext context) {
        var out = new Text.Builder();
        for (int i = 0; i < items.size(); i++) {
            context.steps(1);
            if (i > 0) {
                context.output((long) out.length() + separator.chars().length(), separator);
                out.append(separator);
            }
            Text item = PythonText.of(items.get(i), context);
            context.output((long) out.length() + item.chars().length(), item);
            out.append(item);
        }
        return out.build();
    }

    /** As Python's method joins: strings alone; by markup, they are escaped. */
    static Text joinStrings(Text separator, List<Value> items, RenderContext context) {
        var strings = new ArrayList<Value>(items.size());
        for (Value item : items) {
            Text string = string(item, context);
            strings.add(separator.isMarkup() ? Html.escaped(string, context) : string);
        }
        return join(separator, strings, context).asMarkup(separator.isMarkup());
    }

    /** @param given width */
    static Text zeroFilled(Text text, Arguments given, RenderContext context) {
        boolean isSigned = text.chars().startsWith("-") || text.chars().startsWith("+");
        int signs = isSigned ? 1 : 0;
        long missing = Math.max(0, given.integer(0, 0, context) - text.codePointCount());
        context.chars(missing + text.chars().length());
        var out = new Text.Builder();
        out.append(text, 0, signs);
        out.append("0".repeat((int) missing));
        out.append(text, signs, text.chars().length());
        return out.build().asMarkup(text.isMarkup());
    }

    /** @param given width, fillchar */
    static Text padded(Text text, Arguments given, char side, RenderContext context) {
        Text fill = given.isGiven(1) ? string(given.get(1), context) : Text.trusted(" ");
        if (fill.codePointCount() != 1) {
            throw context.wrong("The fill character must be exactly one character long");
        }
        long width = given.integer(0, 0, context);
        long missing = Math.max(0, width - text.codePointCount());
        long before = side == '<' ? 0 : side == '>' ? missing : missing / 2 + (missing & width & 1);
        context.chars(missing * fill.chars().length() + text.chars().length());
        var out = new Text.Builder();
        for (long i = 0; i < before; i++) {
            out.append(fill);
        }
        out.append(text);
        for (long i = before; i < missing; i++) {
            out.append(fill);
        }
        return out.build().asMarkup(text.isMarkup());
    }

    /**
     * Jinja's filter: each line but the first further in, and that one if it is asked for; empty ones stay where they
     * are unless they are asked for.
     *
     * @param space what is put before a line
     */
    static Text indent(Text text, Text space, boolean first, boolean blank, RenderContext context) {
        var indented = new Text.Builder(text.chars().length());
        int from = 0;
        boolean isFirst = true;
        Matcher end = LINE_END.matcher(text.chars());
        for (boolean more = true; more; isFirst = false) {
            more = end.find();
            int to = more ? end.start() : text.chars().length();
            boolean moves = isFirst ? first : blank || to > from;
            context.steps(1);
            indented.append(isFirst ? "" : "\n");
            if (moves) {
                context.output((long) indented.length() + space.chars().length(), space);
                indented.append(space);
            }
            append(indented, text, from, to, context);
            from = more ? end.end() : to;
        }
        return indented.build().asMarkup(text.isMarkup());
    }
}
