package dev.warmpath.tokenization.template;

import java.math.BigDecimal;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** {@code '%s of %d' % (a, b)} and {@code '%(name)s' % {…}}, as Python has them. What is set into markup is escaped. */
final class PercentFormat {
    private static final Pattern DIRECTIVE = Pattern.compile(
            "%(?:\\(([^()]*+)\\))?([-+ #0]*+)([0-9]++|\\*)?(?:\\.([0-9]*+|\\*))?[hlL]?(.)", Pattern.DOTALL);

    private final Text format;
    private final Value given;
    private final Iterator<Value> arguments;
    private final RenderContext context;
    private final Text.Builder out = new Text.Builder();

    /** @param given a tuple of arguments, a dict of them, or one */
    PercentFormat(Text format, Value given, RenderContext context) {
        this.format = format;
        this.given = given;
        this.context = context;
        arguments = (given instanceof Value.Sequence(List<Value> items, boolean tuple) && tuple ? items
                : List.of(given)).iterator();
    }

    Text format() {
        String chars = format.chars();
        Matcher directive = DIRECTIVE.matcher(chars);
        int from = 0;
        for (int at = chars.indexOf('%'); at >= 0; at = chars.indexOf('%', from)) {
            context.steps(1);
            append(format.substring(from, at));
            if (!directive.region(at, chars.length()).lookingAt()) {
                throw context.wrong("incomplete format");
            }
            one(directive);
            from = directive.end();
        }
        append(format.substring(from, chars.length()));
        if (arguments.hasNext() && !hasEntries(given)) {
            throw context.wrong("not all arguments converted during string formatting");
        }
        return out.build().asMarkup(format.isMarkup());
    }

    /** What Python takes for a dict here: none of it need be used. */
    private static boolean hasEntries(Value given) {
        return given instanceof Value.Dict || given instanceof Value.Undefined
                || given instanceof Value.Sequence(List<Value> _, boolean tuple) && !tuple;
    }

    private void append(Text text) {
        context.output((long) out.length() + text.chars().length(), text);
        out.append(text);
    }

    private void one(Matcher directive) {
        char type = directive.group(5).charAt(0);
        if (type == '%') {
            append(Text.trusted("%"));
            return;
        }
        String flags = directive.group(2);
        @Nullable Value named = directive.group(1) == null ? null : entry(directive.group(1));
        int width = size(directive.group(3), 0);
        int precision = "".equals(directive.group(4)) ? 0 : size(directive.group(4), FormatSpec.NONE);
        Value value = named != null ? named : next();
        boolean left = flags.contains("-") || width < 0;
        boolean zero = flags.contains("0") && !left;
        char sign = flags.contains("+") ? '+' : flags.contains(" ") ? ' ' : '-';
        boolean zeros = zero && "srac".indexOf(type) < 0;
        append(written(value, new FormatSpec(zeros ? "0" : " ", left ? '<' : zeros ? '=' : '>', sign,
                flags.contains("#"), Math.abs(width), '\0', precision, type)));
    }

    private Value entry(String name) {
        if (!(given instanceof Value.Dict(Map<Value, Value> entries))) {
            throw context.wrong("format requires a mapping");
        }
        @Nullable Value found = entries.get(Text.trusted(name));
        if (found == null) {
            throw context.wrong("there is no '" + name + "' to format");
        }
        return found;
    }

    private Value next() {
        if (!arguments.hasNext()) {
            throw context.wrong("not enough arguments for format string");
        }
        return arguments.next();
    }

    private int size(@Nullable String written, int otherwise) {
        return "*".equals(written)
                ? Math.clamp(Operators.integer(next(), context), -Integer.MAX_VALUE, Integer.MAX_VALUE)
                : FormatSpec.number(written, otherwise);
    }

    private Text written(Value value, FormatSpec spec) {
        return switch (spec.type()) {
            case 's' -> spec.padded(escaped(PythonText.of(value, context)), spec.align(), context);
            case 'r' -> spec.padded(escaped(PythonText.repr(value, context)), spec.align(), context);
            case 'a' -> spec.padded(escaped(PythonText.ascii(value, context)), spec.align(), context);
            case 'd', 'i', 'u' -> whole(number(value, spec), spec, 'd');
            case 'x', 'X', 'o' -> whole(number(value, spec), spec, spec.type());
            case 'e', 'E', 'f', 'F', 'g', 'G' -> withPrecision(spec, spec.precision(), spec.type())
                    .of(new Value.Float(Operators.real(number(value, spec))), context);
            case 'c' -> withPrecision(spec, FormatSpec.NONE, 's').padded(character(value), spec.align(), context);
            default -> throw context.wrong("unsupported format character '" + spec.type() + "'");
        };
    }

    private Text escaped(Text text) {
        return format.isMarkup() ? Html.escaped(text, context) : text;
    }

    private Value number(Value value, FormatSpec spec) {
        Operators.refuseUndefined(value, context);
        if (!Operators.isNumber(value) || value instanceof Value.Float && "xXo".indexOf(spec.type()) >= 0) {
            throw context.wrong("%" + spec.type() + " format: a number is required, not " + Operators.typeName(value));
        }
        return value;
    }

    /** Of a float, what is before its point. A precision is the least number of digits. */
    private Text whole(Value value, FormatSpec spec, char type) {
        Value number = value;
        if (value instanceof Value.Float(double real)) {
            if (!Double.isFinite(real)) {
                throw context.wrong("%d format: a finite number is required");
            }
            number = Value.integer(new BigDecimal(real).toBigInteger());
        }
        if (spec.precision() == FormatSpec.NONE) {
            return withPrecision(spec, FormatSpec.NONE, type).of(number, context);
        }
        boolean isNegative = Operators.bigInteger(number).signum() < 0;
        int before = (isNegative || spec.sign() != '-' ? 1 : 0) + (spec.alternate() && type != 'd' ? 2 : 0);
        long width = Math.max((long) spec.precision() + before, spec.align() == '=' ? spec.width() : 0);
        Text digits = new FormatSpec("0", '=', spec.sign(), spec.alternate(), (int) Math.min(width, Integer.MAX_VALUE),
                '\0', FormatSpec.NONE, type).of(number, context);
        return withPrecision(spec, FormatSpec.NONE, 's')
                .padded(digits, spec.align() == '=' ? '>' : spec.align(), context);
    }

    private static FormatSpec withPrecision(FormatSpec spec, int precision, char type) {
        return new FormatSpec(spec.fill(), spec.align(), spec.sign(), spec.alternate(), spec.width(), spec.grouping(),
                precision, type);
    }

    private Text character(Value value) {
        if (value instanceof Text text && text.codePointCount() == 1) {
            return text;
        }
        if (Operators.isIntegral(value) && Character.isValidCodePoint(
                Math.clamp(Operators.integer(value, context), -1, Integer.MAX_VALUE))) {
            // whose number it was, nobody knows
            return Text.fromClient(Character.toString((int) Operators.integer(value, context)));
        }
        throw context.wrong("%c requires an int or a character");
    }
}
