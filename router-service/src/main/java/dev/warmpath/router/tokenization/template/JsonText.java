package dev.warmpath.router.tokenization.template;

import java.util.List;
import java.util.Map;

/** {@code tojson} as Hugging Face defines it: Python's json.dumps, nothing escaped for HTML. */
final class JsonText {
    private final boolean asciiOnly;
    private final String indent;
    private final boolean indented;
    private final String itemSeparator;
    private final String keySeparator;
    private final boolean sortedKeys;
    private final RenderContext context;
    private final Text.Builder out = new Text.Builder();

    /** @param arguments of the filter: ensure_ascii, indent, separators, sort_keys */
    JsonText(Builtins.Arguments arguments, RenderContext context) {
        this.context = context;
        asciiOnly = Operators.truth(arguments.or(0, Value.FALSE));
        Value given = arguments.or(1, Value.NONE);
        indented = !(given instanceof Value.None);
        indent = given instanceof Text text ? text.chars()
                : indented ? " ".repeat(Math.clamp(Operators.integer(given, context), 0, 64)) : "";
        List<Value> separators = Operators.items(
                arguments.or(2, Value.NONE) instanceof Value.Sequence pair ? pair : new Value.Undefined(""), context);
        itemSeparator = separators.size() == 2 ? string(separators.get(0)) : indented ? "," : ", ";
        keySeparator = separators.size() == 2 ? string(separators.get(1)) : ": ";
        sortedKeys = Operators.truth(arguments.or(3, Value.FALSE));
    }

    private String string(Value value) {
        return PythonText.of(value, context).chars();
    }

    Text write(Value value) {
        value(value, 1);
        return out.build();
    }

    private void value(Value value, int level) {
        context.enter();
        switch (value) {
            case Text text -> quoted(text);
            case Value.None _ -> out.append("null");
            case Value.Bool(boolean flag) -> out.append(flag ? "true" : "false");
            case Value.Int(long number) -> out.append(Long.toString(number));
            case Value.Float(double number) -> out.append(real(number));
            case Value.Sequence(List<Value> items, boolean _) -> list(items, level);
            case Value.Dict(Map<Value, Value> entries) -> dict(entries, level);
            case Value.Undefined _, Value.Namespace _, Value.Macro _, Value.Function _, Value.Loop _ ->
                throw context.wrong(Operators.typeName(value) + " has no JSON form");
        }
        context.leave();
    }

    private void list(List<Value> items, int level) {
        if (items.isEmpty()) {
            out.append("[]");
            return;
        }
        out.append("[");
        for (int i = 0; i < items.size(); i++) {
            separate(i, level);
            value(items.get(i), level + 1);
        }
        close("]", level);
    }

    private void dict(Map<Value, Value> entries, int level) {
        if (entries.isEmpty()) {
            out.append("{}");
            return;
        }
        out.append("{");
        List<Map.Entry<Value, Value>> ordered = entries.entrySet().stream().toList();
        if (sortedKeys) {
            ordered = ordered.stream().sorted((a, b) -> string(a.getKey()).compareTo(string(b.getKey()))).toList();
        }
        for (int i = 0; i < ordered.size(); i++) {
            separate(i, level);
            key(ordered.get(i).getKey());
            out.append(keySeparator);
            value(ordered.get(i).getValue(), level + 1);
        }
        close("}", level);
    }

    private void key(Value key) {
        if (key instanceof Text text) {
            quoted(text);
        } else if (key instanceof Value.Sequence || key instanceof Value.Dict) {
            throw context.wrong(Operators.typeName(key) + " cannot be a key in JSON");
        } else {
            out.append("\"");
            value(key, 0);
            out.append("\"");
        }
    }

    private void separate(int index, int level) {
        if (index > 0) {
            out.append(itemSeparator);
        }
        newLine(level);
    }

    private void close(String bracket, int level) {
        newLine(level - 1);
        out.append(bracket);
    }

    private void newLine(int level) {
        if (indented) {
            context.chars(1L + (long) level * indent.length());
            out.append("\n" + indent.repeat(level));
        }
    }

    private static String real(double number) {
        return Double.isNaN(number) ? "NaN" : Double.isInfinite(number) ? number > 0 ? "Infinity" : "-Infinity"
                : PythonText.real(number);
    }

    private void quoted(Text text) {
        String chars = text.chars();
        context.chars(2L + chars.length());
        out.append("\"");
        int plainFrom = 0;
        for (int i = 0; i < chars.length(); i++) {
            String escape = escape(chars.charAt(i));
            if (!escape.isEmpty()) {
                out.append(text, plainFrom, i);
                out.append(escape);
                plainFrom = i + 1;
            }
        }
        out.append(text, plainFrom, chars.length());
        out.append("\"");
    }

    private String escape(char c) {
        return switch (c) {
            case '"' -> "\\\"";
            case '\\' -> "\\\\";
            case '\n' -> "\\n";
            case '\r' -> "\\r";
            case '\t' -> "\\t";
            case '\b' -> "\\b";
            case '\f' -> "\\f";
            default -> c < 0x20 || asciiOnly && c > 0x7e ? String.format("\\u%04x", (int) c) : "";
        };
    }
}
