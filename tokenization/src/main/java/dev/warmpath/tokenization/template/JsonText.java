package dev.warmpath.tokenization.template;

import java.math.BigInteger;
import java.util.Collection;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/** {@code tojson} as Hugging Face defines it: Python's json.dumps, nothing escaped for HTML. */
final class JsonText {
    private static final HexFormat HEX = HexFormat.of();
    private static final int MOST_INDENT = 64;

    private final boolean asciiOnly;
    private final Text indent;
    private final boolean indented;
    private final Text itemSeparator;
    private final Text keySeparator;
    private final boolean sortedKeys;
    private final RenderContext context;
    private final Text.Builder out = new Text.Builder();

    /** @param arguments of the filter: ensure_ascii, indent, separators, sort_keys */
    JsonText(Callee.Arguments arguments, RenderContext context) {
        this.context = context;
        asciiOnly = Operators.truth(arguments.or(0, Value.FALSE));
        Value given = arguments.or(1, Value.NONE);
        indented = !(given instanceof Value.None);
        indent = given instanceof Text text ? text : !indented ? Text.EMPTY
                : Text.trusted(" ".repeat(Math.clamp(Operators.integer(given, context), 0, MOST_INDENT)));
        List<Value> separators = Operators.items(
                arguments.or(2, Value.NONE) instanceof Value.Sequence pair ? pair : new Value.Undefined(""), context);
        itemSeparator = separators.size() == 2 ? PythonText.of(separators.get(0), context)
                : Text.trusted(indented ? "," : ", ");
        keySeparator = separators.size() == 2 ? PythonText.of(separators.get(1), context) : Text.trusted(": ");
        sortedKeys = Operators.truth(arguments.or(3, Value.FALSE));
    }

    Text write(Value value) {
        value(value, 1);
        return out.build();
    }

    private void value(Value value, int level) {
        context.enter();
        switch (value) {
            case Text text -> quoted(text);
            case Value.None _ -> write("null");
            case Value.Bool(boolean flag) -> write(flag ? "true" : "false");
            case Value.Int(long number) -> write(Long.toString(number));
            case Value.BigInt(BigInteger number) -> write(PythonText.digits(number, context));
            case Value.Float(double number) -> write(real(number));
            case Value.Sequence(List<Value> items, boolean _) -> list(items, level);
            case Value.Dict(Map<Value, Value> entries) -> dict(entries, level);
            case Value.Undefined _, Value.Generator _, Value.Namespace _, Value.Macro _, Value.Function _,
                    Value.Method _, Value.Loop _ ->
                throw context.wrong(Operators.typeName(value) + " has no JSON form");
        }
        context.leave();
    }

    private void write(String text) {
        context.output((long) out.length() + text.length(), text.length());
        out.append(text);
    }

    private void write(Text text) {
        context.output((long) out.length() + text.chars().length(), text);
        out.append(text);
    }

    private void list(List<Value> items, int level) {
        if (items.isEmpty()) {
            write("[]");
            return;
        }
        write("[");
        for (int i = 0; i < items.size(); i++) {
            separate(i, level);
            value(items.get(i), level + 1);
        }
        close("]", level);
    }

    private void dict(Map<Value, Value> entries, int level) {
        if (entries.isEmpty()) {
            write("{}");
            return;
        }
        write("{");
        int index = 0;
        for (Value key : keys(entries)) {
            separate(index++, level);
            key(key);
            write(keySeparator);
            value(Objects.requireNonNull(entries.get(key)), level + 1);
        }
        close("}", level);
    }

    /** In their order, or sorted. */
    private Collection<Value> keys(Map<Value, Value> entries) {
        return sortedKeys ? OrderFilters.sorted(List.copyOf(entries.keySet()), List.copyOf(entries.keySet()),
                /* reverse */ false, context) : entries.keySet();
    }

    private void key(Value key) {
        if (key instanceof Text text) {
            quoted(text);
        } else if (Operators.isKey(key)) {
            write("\"");
            value(key, 0);
            write("\"");
        } else {
            throw context.wrong(Operators.typeName(key) + " cannot be a key in JSON");
        }
    }

    private void separate(int index, int level) {
        if (index > 0) {
            write(itemSeparator);
        }
        newLine(level);
    }

    private void close(String bracket, int level) {
        newLine(level - 1);
        write(bracket);
    }

    private void newLine(int level) {
        if (indented) {
            write("\n");
            for (int i = 0; i < level; i++) {
                write(indent);
            }
        }
    }

    private static String real(double number) {
        return Double.isNaN(number) ? "NaN" : Double.isInfinite(number) ? number > 0 ? "Infinity" : "-Infinity"
                : PythonText.real(number);
    }

    private void quoted(Text text) {
        String chars = text.chars();
        write("\"");
        context.output((long) out.length() + chars.length(), text);
        int plainFrom = 0;
        for (int i = 0; i < chars.length(); i++) {
            String escape = escape(chars.charAt(i));
            if (!escape.isEmpty()) {
                out.append(text, plainFrom, i);
                write(escape);
                plainFrom = i + 1;
            }
        }
        out.append(text, plainFrom, chars.length());
        write("\"");
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
            default -> c < 0x20 || asciiOnly && c > 0x7e ? "\\u" + HEX.toHexDigits((short) c) : "";
        };
    }
}
