package dev.warmpath.router.tokenization.template;

import dev.warmpath.router.tokenization.template.Builtins.Arguments;
import dev.warmpath.router.tokenization.template.Builtins.Callee;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.Predicate;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** The methods of strings and dicts that templates call, with Python's results. */
final class TextMethods {
    @FunctionalInterface
    private interface TextBody {
        Value call(Text target, Arguments arguments, RenderContext context);
    }

    private static final int MOST_INDENT = 1_024;
    /** Where Python's splitlines cuts. */
    private static final Pattern LINE_END = Pattern.compile("\\r\\n|[\\n\\r\\x0b\\x0c\\x1c-\\x1e\\x85\\u2028\\u2029]");

    private TextMethods() {}

    static Map<String, Callee> all() {
        var methods = new HashMap<String, Callee>();
        text(methods, "strip", "chars", 0, (text, arguments, context) ->
                text.strip(arguments.string(0, "", context), true, true));
        text(methods, "lstrip", "chars", 0, (text, arguments, context) ->
                text.strip(arguments.string(0, "", context), true, false));
        text(methods, "rstrip", "chars", 0, (text, arguments, context) ->
                text.strip(arguments.string(0, "", context), false, true));
        text(methods, "split", "sep maxsplit", 0, TextMethods::split);
        text(methods, "startswith", "prefix", 1, (text, arguments, context) ->
                Value.bool(any(arguments.get(0), context, text.chars()::startsWith)));
        text(methods, "endswith", "suffix", 1, (text, arguments, context) ->
                Value.bool(any(arguments.get(0), context, text.chars()::endsWith)));
        text(methods, "upper", "", 0, (text, _, context) -> upper(text, context));
        text(methods, "lower", "", 0, (text, _, context) -> lower(text, context));
        text(methods, "title", "", 0, (text, _, context) -> title(text, context));
        text(methods, "capitalize", "", 0, (text, _, context) -> capitalize(text, context));
        text(methods, "replace", "old new count", 2, (text, arguments, context) -> replace(
                text, string(arguments.get(0), context), string(arguments.get(1), context), arguments.get(2), context));
        text(methods, "join", "iterable", 1, (text, arguments, context) ->
                join(text, Operators.items(arguments.get(0), context), context));
        text(methods, "find", "sub", 1, (text, arguments, context) -> {
            int at = text.chars().indexOf(string(arguments.get(0), context).chars());
            return new Value.Int(at < 0 ? at : text.chars().codePointCount(0, at));
        });
        dict(methods);
        return methods;
    }

    private static void text(Map<String, Callee> methods, String name, String parameters, int required, TextBody body) {
        methods.put(name, Builtins.callee(name, parameters, required, (target, arguments, context) -> {
            if (!(target instanceof Text text)) {
                throw noMethod(target, name, context);
            }
            return body.call(text, arguments, context);
        }));
    }

    private static void dict(Map<String, Callee> methods) {
        methods.put("get", Builtins.callee("get", "key default", 1, (target, arguments, context) -> {
            @Nullable Value found = entries(target, "get", context).get(Operators.key(arguments.get(0), context));
            return found != null ? found : arguments.get(1);
        }));
        methods.put("items", Builtins.callee("items", "", 0, (target, _, context) -> items(target, context)));
        methods.put("keys", Builtins.callee("keys", "", 0, (target, _, context) ->
                Value.list(List.copyOf(entries(target, "keys", context).keySet()))));
        methods.put("values", Builtins.callee("values", "", 0, (target, _, context) ->
                Value.list(List.copyOf(entries(target, "values", context).values()))));
    }

    private static TemplateException noMethod(Value target, String name, RenderContext context) {
        Operators.refuseUndefined(target, context);
        return context.wrong("'" + Operators.typeName(target) + "' has no method '" + name + "'");
    }

    private static Map<Value, Value> entries(Value target, String method, RenderContext context) {
        if (target instanceof Value.Dict(Map<Value, Value> entries)) {
            context.steps(1 + entries.size() / 16);
            return entries;
        }
        throw noMethod(target, method, context);
    }

    static Value items(Value target, RenderContext context) {
        var pairs = new ArrayList<Value>();
        entries(target, "items", context).forEach((key, value) -> {
            context.steps(2);
            pairs.add(new Value.Sequence(List.of(key, value), true));
        });
        return Value.list(pairs);
    }

    private static Text string(Value value, RenderContext context) {
        if (value instanceof Text text) {
            return text;
        }
        throw context.wrong("a string is needed, not " + Operators.typeName(value));
    }

    private static boolean any(Value wanted, RenderContext context, Predicate<String> holds) {
        List<Value> candidates =
                wanted instanceof Value.Sequence(List<Value> items, boolean tuple) && tuple ? items : List.of(wanted);
        return candidates.stream().anyMatch(candidate -> holds.test(string(candidate, context).chars()));
    }

    private static Value split(Text text, Arguments arguments, RenderContext context) {
        context.chars(text.chars().length());
        long limit = arguments.isGiven(1) ? Operators.integer(arguments.get(1), context) : -1;
        boolean onSpace = arguments.get(0) instanceof Value.None;
        List<Value> parts = onSpace ? words(text, limit, context)
                : parts(text, string(arguments.get(0), context).chars(), limit, context);
        return Value.list(parts);
    }

    private static List<Value> parts(Text text, String separator, long limit, RenderContext context) {
        if (separator.isEmpty()) {
            throw context.wrong("split needs a separator that is not empty");
        }
        var parts = new ArrayList<Value>();
        int from = 0;
        for (int at = text.chars().indexOf(separator); at >= 0 && (limit < 0 || parts.size() < limit);
                at = text.chars().indexOf(separator, from)) {
            context.steps(1);
            parts.add(text.substring(from, at));
            from = at + separator.length();
        }
        parts.add(text.substring(from, text.chars().length()));
        return parts;
    }

    private static List<Value> words(Text text, long limit, RenderContext context) {
        var words = new ArrayList<Value>();
        Text rest = text.strip("", true, limit < 0);
        int from = 0;
        String chars = rest.chars();
        while (from < chars.length()) {
            context.steps(1);
            int to = from;
            while (to < chars.length() && !Text.isSpace(chars.charAt(to))) {
                to++;
            }
            if (limit >= 0 && words.size() == limit) {
                words.add(rest.substring(from, chars.length()));
                return words;
            }
            words.add(rest.substring(from, to));
            from = to;
            while (from < chars.length() && Text.isSpace(chars.charAt(from))) {
                from++;
            }
        }
        return words;
    }

    static Text replace(Text text, Text old, Text replacement, Value count, RenderContext context) {
        long left = count instanceof Value.None ? Long.MAX_VALUE : Operators.integer(count, context);
        left = left < 0 ? Long.MAX_VALUE : left;
        if (old.isEmpty()) {
            throw context.unsupported("replacing an empty string");
        }
        var builder = new Text.Builder();
        int from = 0;
        for (int at = text.chars().indexOf(old.chars()); at >= 0 && left > 0;
                at = text.chars().indexOf(old.chars(), from), left--) {
            context.steps(1);
            context.chars(at - from + replacement.chars().length());
            builder.append(text, from, at);
            builder.append(replacement);
            from = at + old.chars().length();
        }
        context.chars(text.chars().length() - from);
        builder.append(text, from, text.chars().length());
        return builder.build();
    }

    static Text join(Text separator, List<Value> items, RenderContext context) {
        var builder = new Text.Builder();
        for (int i = 0; i < items.size(); i++) {
            Text item = PythonText.of(items.get(i), context);
            context.steps(1);
            context.chars((long) item.chars().length() + separator.chars().length());
            if (i > 0) {
                builder.append(separator);
            }
            builder.append(item);
        }
        return builder.build();
    }

    static Text upper(Text text, RenderContext context) {
        context.chars(text.chars().length());
        return text.withChars(text.chars().toUpperCase(Locale.ROOT));
    }

    static Text lower(Text text, RenderContext context) {
        context.chars(text.chars().length());
        return text.withChars(text.chars().toLowerCase(Locale.ROOT));
    }

    static Text capitalize(Text text, RenderContext context) {
        context.chars(text.chars().length());
        String lower = text.chars().toLowerCase(Locale.ROOT);
        if (lower.isEmpty()) {
            return text;
        }
        int first = lower.codePointAt(0);
        return text.withChars(
                Character.toString(Character.toTitleCase(first)) + lower.substring(Character.charCount(first)));
    }

    /** As Jinja's filter: words begin behind spaces, hyphens and opening brackets. */
    static Text titleWords(Text text, RenderContext context) {
        context.chars(text.chars().length());
        var titled = new StringBuilder();
        boolean begins = true;
        for (int codePoint : text.chars().codePoints().toArray()) {
            boolean separates = Text.isSpace(codePoint) || "-({[<".indexOf(codePoint) >= 0;
            String one = Character.toString(codePoint);
            titled.append(separates ? one : begins ? one.toUpperCase(Locale.ROOT) : one.toLowerCase(Locale.ROOT));
            begins = separates;
        }
        return text.withChars(titled.toString());
    }

    /**
     * Each line but the first further in, and that one if it is asked for; empty ones stay where they are unless they are
     * asked for.
     *
     * @param width in spaces, or what stands there
     */
    static Text indent(Text text, Value width, boolean first, boolean blank, RenderContext context) {
        Text space = width instanceof Text given ? given
                : Text.trusted(" ".repeat(Math.clamp(Operators.integer(width, context), 0, MOST_INDENT)));
        var indented = new Text.Builder();
        int from = 0;
        boolean isFirst = true;
        Matcher end = LINE_END.matcher(text.chars());
        for (boolean more = true; more; isFirst = false) {
            more = end.find();
            int to = more ? end.start() : text.chars().length();
            boolean moves = isFirst ? first : blank || to > from;
            context.chars((long) to - from + space.chars().length());
            indented.append(isFirst ? "" : "\n");
            if (moves) {
                indented.append(space);
            }
            indented.append(text, from, to);
            from = more ? end.end() : to;
        }
        return indented.build();
    }

    private static Text title(Text text, RenderContext context) {
        context.chars(text.chars().length());
        var titled = new StringBuilder();
        boolean insideWord = false;
        for (int codePoint : text.chars().codePoints().toArray()) {
            titled.appendCodePoint(insideWord ? Character.toLowerCase(codePoint) : Character.toTitleCase(codePoint));
            insideWord = Character.isLetter(codePoint);
        }
        return text.withChars(titled.toString());
    }
}
