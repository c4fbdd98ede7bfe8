package dev.warmpath.tokenization.template;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;

/** Values as text: Python's {@code str} and {@code repr}. Client marks of strings inside lists and dicts survive. */
final class PythonText {
    private static final HexFormat HEX = HexFormat.of();

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

    /** As Python's repr. */
    static Text repr(Value value, RenderContext context) {
        var out = new Text.Builder();
        repr(value, out, context);
        return out.build();
    }

    /** The same, with escapes for what is not in ASCII. */
    static Text ascii(Value value, RenderContext context) {
        Text text = repr(value, context);
        var out = new Text.Builder();
        for (int i = 0; i < text.chars().length(); ) {
            int codePoint = text.chars().codePointAt(i);
            int next = i + Character.charCount(codePoint);
            if (codePoint < 128) {
                out.append(text, i, next);
            } else {
                write(hex(codePoint), out, context);
            }
            i = next;
        }
        return out.build();
    }

    private static void repr(Value value, Text.Builder out, RenderContext context) {
        context.enter();
        switch (value) {
            case Text text when text.isMarkup() -> {
                write("Markup(", out, context);
                quoted(text, out, context);
                write(")", out, context);
            }
            case Text text -> quoted(text, out, context);
            case Value.Undefined _ -> write("Undefined", out, context);
            case Value.None _ -> write("None", out, context);
            case Value.Bool(boolean flag) -> write(flag ? "True" : "False", out, context);
            case Value.Int(long number) -> write(Long.toString(number), out, context);
            case Value.BigInt(BigInteger number) -> write(digits(number, context), out, context);
            case Value.Float(double number) -> write(real(number), out, context);
            case Value.Sequence(List<Value> items, boolean tuple) -> {
                write(tuple ? "(" : "[", out, context);
                listed(items, out, context);
                write(tuple ? items.size() == 1 ? ",)" : ")" : "]", out, context);
            }
            case Value.Dict(Map<Value, Value> entries) -> {
                write("{", out, context);
                String separator = "";
                for (var entry : entries.entrySet()) {
                    write(separator, out, context);
                    separator = ", ";
                    repr(entry.getKey(), out, context);
                    write(": ", out, context);
                    repr(entry.getValue(), out, context);
                }
                write("}", out, context);
            }
            case Value.Generator _, Value.Namespace _, Value.Macro _, Value.Function _, Value.Method _, Value.Loop _ ->
                throw context.unsupported("printing a " + Operators.typeName(value));
        }
        context.leave();
    }

    private static void write(String text, Text.Builder out, RenderContext context) {
        context.output((long) out.length() + text.length(), text.length());
        out.append(text);
    }

    static String digits(BigInteger number, RenderContext context) {
        context.read(number.bitLength() * 4L);                   // takes longer than its length
        return number.toString();
    }

    private static void listed(List<Value> items, Text.Builder out, RenderContext context) {
        String separator = "";
        for (Value item : items) {
            write(separator, out, context);
            separator = ", ";
            repr(item, out, context);
        }
    }

    private static void quoted(Text text, Text.Builder out, RenderContext context) {
        String chars = text.chars();
        char quote = chars.indexOf('\'') >= 0 && chars.indexOf('"') < 0 ? '"' : '\'';
        write(String.valueOf(quote), out, context);
        context.output((long) out.length() + chars.length(), text);
        int plainFrom = 0;
        for (int i = 0; i < chars.length(); ) {
            int codePoint = chars.codePointAt(i);
            int next = i + Character.charCount(codePoint);
            String escape = escape(codePoint, quote);
            if (!escape.isEmpty()) {
                out.append(text, plainFrom, i);
                write(escape, out, context);
                plainFrom = next;
            }
            i = next;
        }
        out.append(text, plainFrom, chars.length());
        write(String.valueOf(quote), out, context);
    }

    private static String escape(int codePoint, char quote) {
        return switch (codePoint) {
            case '\\' -> "\\\\";
            case '\n' -> "\\n";
            case '\r' -> "\\r";
            case '\t' -> "\\t";
            default -> codePoint == quote ? "\\" + quote : isPrintable(codePoint) ? "" : hex(codePoint);
        };
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
        return codePoint < 0x100 ? "\\x" + HEX.toHexDigits((byte) codePoint)
                : codePoint < 0x10000 ? "\\u" + HEX.toHexDigits((short) codePoint)
                : "\\U" + HEX.toHexDigits(codePoint);
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
