package dev.warmpath.router.tokenization.template;

import java.math.BigDecimal;
import java.util.List;
import java.util.Map;

/** Values as text: Python's {@code str} and {@code repr}. Client marks of strings inside lists and dicts survive. */
final class PythonText {
    private PythonText() {}

    /** As {@code {{ value }}} prints it. */
    static Text of(Value value, RenderContext context) {
        if (value instanceof Text text) {
            return text;
        }
        var out = new Text.Builder();
        if (!(value instanceof Value.Undefined)) {
            repr(value, out, context);
        }
        return out.build();
    }

    private static void repr(Value value, Text.Builder out, RenderContext context) {
        context.enter();
        switch (value) {
            case Text text -> quoted(text, out, context);
            case Value.Undefined _ -> out.append("Undefined");
            case Value.None _ -> out.append("None");
            case Value.Bool(boolean flag) -> out.append(flag ? "True" : "False");
            case Value.Int(long number) -> out.append(Long.toString(number));
            case Value.Float(double number) -> out.append(real(number));
            case Value.Sequence(List<Value> items, boolean tuple) -> {
                out.append(tuple ? "(" : "[");
                listed(items, out, context);
                out.append(tuple ? items.size() == 1 ? ",)" : ")" : "]");
            }
            case Value.Dict(Map<Value, Value> entries) -> {
                out.append("{");
                String separator = "";
                for (var entry : entries.entrySet()) {
                    out.append(separator);
                    separator = ", ";
                    repr(entry.getKey(), out, context);
                    out.append(": ");
                    repr(entry.getValue(), out, context);
                }
                out.append("}");
            }
            case Value.Namespace _, Value.Macro _, Value.Function _, Value.Loop _ ->
                throw context.unsupported("printing a " + Operators.typeName(value));
        }
        context.leave();
    }

    private static void listed(List<Value> items, Text.Builder out, RenderContext context) {
        String separator = "";
        for (Value item : items) {
            out.append(separator);
            separator = ", ";
            repr(item, out, context);
        }
    }

    private static void quoted(Text text, Text.Builder out, RenderContext context) {
        String chars = text.chars();
        context.chars(2L + chars.length());
        char quote = chars.indexOf('\'') >= 0 && chars.indexOf('"') < 0 ? '"' : '\'';
        out.append(String.valueOf(quote));
        for (int i = 0; i < chars.length(); ) {
            int codePoint = chars.codePointAt(i);
            int next = i + Character.charCount(codePoint);
            String escape = switch (codePoint) {
                case '\\' -> "\\\\";
                case '\n' -> "\\n";
                case '\r' -> "\\r";
                case '\t' -> "\\t";
                default -> codePoint == quote ? "\\" + quote : isPrintable(codePoint) ? "" : hex(codePoint);
            };
            if (escape.isEmpty()) {
                out.append(text, i, next);
            } else {
                out.append(escape);
            }
            i = next;
        }
        out.append(String.valueOf(quote));
    }

    private static boolean isPrintable(int codePoint) {
        if (codePoint == ' ') {
            return true;
        }
        return switch (Character.getType(codePoint)) {
            case Character.CONTROL, Character.FORMAT, Character.SURROGATE, Character.PRIVATE_USE,
                    Character.UNASSIGNED, Character.LINE_SEPARATOR, Character.PARAGRAPH_SEPARATOR,
                    Character.SPACE_SEPARATOR -> false;
            default -> true;
        };
    }

    private static String hex(int codePoint) {
        return codePoint < 0x100 ? String.format("\\x%02x", codePoint)
                : codePoint < 0x10000 ? String.format("\\u%04x", codePoint) : String.format("\\U%08x", codePoint);
    }

    /** Shortest digits that read back the same; an exponent below 1e-4 and from 1e16 on, as Python has it. */
    static String real(double number) {
        if (Double.isNaN(number)) {
            return "nan";
        }
        if (Double.isInfinite(number)) {
            return number > 0 ? "inf" : "-inf";
        }
        if (number == 0) {
            return 1 / number < 0 ? "-0.0" : "0.0";
        }
        BigDecimal exact = new BigDecimal(Double.toString(number)).stripTrailingZeros();
        int exponent = exact.precision() - exact.scale() - 1;
        if (exponent >= -4 && exponent < 16) {
            String plain = exact.toPlainString();
            return plain.indexOf('.') < 0 ? plain + ".0" : plain;
        }
        String digits = exact.unscaledValue().abs().toString();
        return (number < 0 ? "-" : "") + digits.charAt(0) + (digits.length() > 1 ? "." + digits.substring(1) : "")
                + "e" + (exponent < 0 ? "-" : "+") + (Math.abs(exponent) < 10 ? "0" : "") + Math.abs(exponent);
    }
}
