package dev.warmpath.tokenization.template;

import dev.warmpath.tokenization.template.Callee.Arguments;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** Filters of strings and numbers, and {@code default}. */
final class TextFilters {
    private static final int MOST_INDENT = 1_024;
    private static final int MOST_DIGITS = 4_300;
    private static final String DIGITS = "[0-9]++(?:_[0-9]++)*+";
    private static final Pattern INTEGER = Pattern.compile("[+-]?" + DIGITS);
    private static final Pattern REAL = Pattern.compile("[+-]?(?:" + DIGITS + "\\.?+(?:" + DIGITS + ")?+|\\." + DIGITS
            + ")(?:[eE][+-]?" + DIGITS + ")?");

    private TextFilters() {}

    static List<Callee> all() {
        Callee.Body safe = (target, _, context) -> text(target, context).asMarkup(true);
        Callee.Body escape = (target, _, context) -> Html.escaped(text(target, context), context);
        Callee.Body otherwise = (target, arguments, _) -> target instanceof Value.Undefined
                || arguments.flag(1) && !Operators.truth(target) ? arguments.or(0, Text.EMPTY) : target;
        return List.of(
                Callee.of("trim", "chars", 0, (target, arguments, context) ->
                        TextMethods.strip(text(target, context), arguments, true, true, context)),
                Callee.of("upper", "", 0, (target, _, context) -> TextCase.upper(text(target, context), context)),
                Callee.of("lower", "", 0, (target, _, context) -> TextCase.lower(text(target, context), context)),
                Callee.of("capitalize", "", 0,
                        (target, _, context) -> TextCase.capitalize(text(target, context), context)),
                Callee.of("title", "", 0, (target, _, context) -> TextCase.titleWords(text(target, context), context)),
                Callee.of("replace", "old new count", 2, (target, arguments, context) -> TextMethods.replace(
                        plain(target, context), plain(arguments.get(0), context), plain(arguments.get(1), context),
                        arguments.get(2), context)),
                Callee.of("string", "", 0, (target, _, context) -> text(target, context)),
                Callee.of("safe", "", 0, safe),
                Callee.of("escape", "", 0, escape),
                Callee.of("e", "", 0, escape),
                Callee.of("forceescape", "", 0, (target, _, context) -> Html.escaped(plain(target, context), context)),
                Callee.of("tojson", "ensure_ascii indent separators sort_keys", 0,
                        (target, arguments, context) -> new JsonText(arguments, context).write(target)),
                Callee.of("indent", "width first blank", 0, TextFilters::indent),
                Callee.open("format", TextFilters::format),
                Callee.of("abs", "", 0, (target, _, context) -> Arithmetic.absolute(target, context)),
                Callee.of("round", "precision method", 0, (target, arguments, context) -> Arithmetic.rounded(target,
                        arguments.integer(0, 0, context), arguments.string(1, "common", context), context)),
                Callee.of("float", "default", 0, (target, arguments, context) ->
                        toFloat(target, arguments.or(0, new Value.Float(0)), context)),
                Callee.of("int", "default base", 0, TextFilters::toInteger),
                Callee.of("default", "default_value boolean", 0, otherwise),
                Callee.of("d", "default_value boolean", 0, otherwise));
    }

    private static Text text(Value value, RenderContext context) {
        return PythonText.of(value, context);
    }

    /** As a string that is no markup, whatever it was. */
    private static Text plain(Value value, RenderContext context) {
        return PythonText.of(value, context).asMarkup(false);
    }

    /** @param arguments width, in spaces or what stands there, first, blank */
    private static Value indent(Value target, Arguments arguments, RenderContext context) {
        Value width = arguments.or(0, new Value.Int(4));
        Text space = width instanceof Text given ? given
                : Text.trusted(" ".repeat(Math.clamp(Operators.integer(width, context), 0, MOST_INDENT)));
        return TextMethods.indent(TextMethods.string(target, context), space, arguments.flag(1), arguments.flag(2),
                context);
    }

    /** {@code '%s'|format(x)}: all arguments, or all of them named. */
    private static Value format(Value target, Arguments arguments, RenderContext context) {
        List<Value> positional = arguments.positional();
        List<Text> names = arguments.givenNames();
        if (!positional.isEmpty() && !names.isEmpty()) {
            throw context.wrong("can't handle positional and keyword arguments at the same time");
        }
        Map<Value, Value> named = new LinkedHashMap<>();
        for (int i = 0; i < names.size(); i++) {
            named.put(names.get(i), arguments.named().get(i));
        }
        Value given = names.isEmpty() ? Value.tuple(positional) : new Value.Dict(named);
        return new PercentFormat(text(target, context), given, context).format();
    }

    /** @param arguments default, base */
    private static Value toInteger(Value value, Arguments arguments, RenderContext context) {
        Operators.refuseUndefined(value, context);
        @Nullable Value number = switch (value) {
            case Value.Int _, Value.BigInt _ -> value;
            case Value.Bool _ -> Value.integer(Operators.bigInteger(value));
            case Value.Float(double real) -> whole(real);
            case Text text -> integer(text, (int) arguments.integer(1, 10, context), context);
            default -> null;
        };
        return number != null ? number : arguments.or(0, new Value.Int(0));
    }

    private static @Nullable Value whole(double number) {
        return Double.isFinite(number) ? Value.integer(new BigDecimal(number).toBigInteger()) : null;
    }

    private static @Nullable Value integer(Text text, int base, RenderContext context) {
        context.read(text.chars().length());
        String digits = text.strip("", true, true).chars();
        if (base == 10 && digits.length() <= MOST_DIGITS && INTEGER.matcher(digits).matches()) {
            return Value.integer(new BigInteger(digits.replace("_", "")));
        }
        if (base != 10 && base >= Character.MIN_RADIX && base <= Character.MAX_RADIX) {
            @Nullable Value other = ofBase(digits, base);
            if (other != null) {
                return other;
            }
        }
        return REAL.matcher(digits).matches() ? whole(Double.parseDouble(digits.replace("_", ""))) : null;
    }

    private static @Nullable Value ofBase(String digits, int base) {
        String prefix = base == 16 ? "0x" : base == 8 ? "0o" : base == 2 ? "0b" : " ";
        String bare = digits.regionMatches(/* ignoreCase */ true, 0, prefix, 0, 2) ? digits.substring(2) : digits;
        try {
            return bare.length() <= MOST_DIGITS ? Value.integer(new BigInteger(bare.replace("_", ""), base)) : null;
        } catch (NumberFormatException e) {
            return null;
        }
    }

    private static Value toFloat(Value value, Value otherwise, RenderContext context) {
        Operators.refuseUndefined(value, context);
        if (Operators.isNumber(value)) {
            return new Value.Float(Operators.real(value));
        }
        if (!(value instanceof Text text)) {
            return otherwise;
        }
        context.read(8L * text.chars().length());
        String digits = text.strip("", true, true).chars();
        if (REAL.matcher(digits).matches()) {
            return new Value.Float(Double.parseDouble(digits.replace("_", "")));
        }
        String word = digits.length() > 9 ? "" : digits.toLowerCase(Locale.ROOT);
        return switch (word) {
            case "nan", "+nan", "-nan" -> new Value.Float(Double.NaN);
            case "inf", "+inf", "infinity", "+infinity" -> new Value.Float(Double.POSITIVE_INFINITY);
            case "-inf", "-infinity" -> new Value.Float(Double.NEGATIVE_INFINITY);
            default -> otherwise;
        };
    }
}
