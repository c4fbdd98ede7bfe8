package dev.warmpath.tokenization.template;

import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** {@code '{} of {b[0]:>5}'.format(a, b=…)}, as Python has it. What is set into markup is escaped. */
final class BraceFormat {
    private static final int MOST_NESTED = 2;

    private final List<Value> positional;
    private final Map<String, Value> named;
    private final RenderContext context;
    private int nextArgument;

    BraceFormat(List<Value> positional, Map<String, Value> named, RenderContext context) {
        this.positional = positional;
        this.named = named;
        this.context = context;
    }

    Text format(Text format) {
        return format(format, MOST_NESTED).asMarkup(format.isMarkup());
    }

    private Text format(Text format, int depth) {
        if (depth == 0) {
            throw context.wrong("Max string recursion exceeded");
        }
        String chars = format.chars();
        var out = new Text.Builder();
        for (int at = 0; at < chars.length(); ) {
            context.steps(1);
            int next = nextBrace(chars, at);
            append(out, format.substring(at, next));
            if (next == chars.length()) {
                break;
            }
            boolean isDoubled = next + 1 < chars.length() && chars.charAt(next + 1) == chars.charAt(next);
            if (isDoubled) {
                append(out, format.substring(next, next + 1));
                at = next + 2;
            } else if (chars.charAt(next) == '}') {
                throw context.wrong("Single '}' encountered in format string");
            } else {
                int end = fieldEnd(chars, next);
                append(out, field(format.substring(next + 1, end), format.isMarkup(), depth));
                at = end + 1;
            }
        }
        return out.build();
    }

    private void append(Text.Builder out, Text text) {
        context.output((long) out.length() + text.chars().length(), text);
        out.append(text);
    }

    private static int nextBrace(String chars, int from) {
        int at = from;
        while (at < chars.length() && chars.charAt(at) != '{' && chars.charAt(at) != '}') {
            at++;
        }
        return at;
    }

    private int fieldEnd(String chars, int open) {
        int depth = 0;
        for (int at = open; at < chars.length(); at++) {
            depth += chars.charAt(at) == '{' ? 1 : chars.charAt(at) == '}' ? -1 : 0;
            if (depth == 0) {
                return at;
            }
        }
        throw context.wrong("expected '}' before end of string");
    }

    /** {@code name!conversion:spec}; the spec may hold fields of its own. */
    private Text field(Text field, boolean escapes, int depth) {
        String chars = field.chars();
        int colon = indexOf(chars, ':', 0);
        int bang = chars.lastIndexOf('!', colon);
        int nameEnd = bang >= 0 && bang == colon - 2 ? bang : colon;
        Value value = named(chars.substring(0, nameEnd));
        if (nameEnd == bang && bang >= 0) {
            value = converted(value, chars.charAt(bang + 1));
        }
        String written = colon == chars.length() ? ""
                : format(field.substring(colon + 1, chars.length()), depth - 1).chars();
        @Nullable FormatSpec spec = FormatSpec.parse(written);
        if (spec == null) {
            throw context.wrong("Invalid format specifier");
        }
        Text text = written.isEmpty() ? PythonText.of(value, context) : spec.of(value, context);
        if (field.clientRanges().length > 0) {
            text = Text.fromClient(text.chars());                // which the client has filled up, too
        }
        return escapes ? Html.escaped(text, context) : text;
    }

    /** Outside brackets; the end of the text if it is not there. */
    private static int indexOf(String chars, char wanted, int from) {
        int depth = 0;
        for (int at = from; at < chars.length(); at++) {
            char c = chars.charAt(at);
            depth += c == '[' ? 1 : c == ']' ? -1 : 0;
            if (c == wanted && depth <= 0) {
                return at;
            }
        }
        return chars.length();
    }

    private Value converted(Value value, char conversion) {
        return switch (conversion) {
            case 's' -> PythonText.of(value, context);
            case 'r' -> PythonText.repr(value, context);
            case 'a' -> PythonText.ascii(value, context);
            default -> throw context.wrong("Unknown conversion specifier '" + conversion + "'");
        };
    }

    /** An argument by its name, its number or its turn, and what lies in it: {@code 0.role[2]}. */
    private Value named(String path) {
        int end = 0;
        while (end < path.length() && path.charAt(end) != '.' && path.charAt(end) != '[') {
            end++;
        }
        Value value = argument(path.substring(0, end));
        while (end < path.length()) {
            context.steps(1);
            int from = end + 1;
            if (path.charAt(end) == '[') {
                end = path.indexOf(']', from);
                if (end < 0) {
                    throw context.wrong("Missing ']' in format string");
                }
                value = Access.item(value, Attributes.key(path.substring(from, end++)), context);
            } else {
                end = from;
                while (end < path.length() && path.charAt(end) != '.' && path.charAt(end) != '[') {
                    end++;
                }
                String name = path.substring(from, end);
                value = Access.attribute(value, name, Methods.named(name), context);
            }
        }
        return value;
    }

    private Value argument(String name) {
        boolean isNumber = Attributes.isNumber(name);
        if (name.isEmpty() || isNumber) {
            int at = isNumber ? FormatSpec.number(name, 0) : nextArgument++;
            if (at >= positional.size()) {
                throw context.wrong("Replacement index " + at + " out of range for positional args tuple");
            }
            return positional.get(at);
        }
        @Nullable Value value = named.get(name);
        if (value == null) {
            throw context.wrong("there is no '" + name + "' to format");
        }
        return value;
    }
}
