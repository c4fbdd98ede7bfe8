package dev.warmpath.router.tokenization.template;

import java.math.BigDecimal;
import java.math.RoundingMode;
import java.util.ArrayList;
import org.jspecify.annotations.Nullable;

/** Python's {@code + - * / // % **} on numbers, and {@code + *} on strings and lists. Integers have 64 bits. */
final class Arithmetic {
    /** As many as a double has, both ways. */
    private static final int MOST_DIGITS = 300;

    private Arithmetic() {}

    static Value signed(Value value, boolean negative, RenderContext context) {
        Operators.refuseUndefined(value, context);
        if (value instanceof Value.Float(double number)) {
            return new Value.Float(negative ? -number : number);
        }
        return apply(negative ? "-" : "+", new Value.Int(0), value, context);
    }

    static Value absolute(Value value, RenderContext context) {
        Operators.refuseUndefined(value, context);
        if (!Operators.isNumber(value)) {
            throw context.wrong("'abs' needs a number, not " + Operators.typeName(value));
        }
        return Operators.real(value) < 0 ? signed(value, /* negative */ true, context)
                : signed(value, /* negative */ false, context);
    }

    /**
     * To so many digits behind the point: of a half to the even one, as Python's {@code round}, which leaves integers what
     * they are; or with the method {@code ceil} or {@code floor} up or down, to a float.
     */
    static Value rounded(Value value, long digits, String method, RenderContext context) {
        Operators.refuseUndefined(value, context);
        if (!Operators.isNumber(value)) {
            throw context.wrong("'round' needs a number, not " + Operators.typeName(value));
        }
        if (Math.abs(digits) > MOST_DIGITS) {
            throw context.wrong("'round' takes " + MOST_DIGITS + " digits at most");
        }
        double factor = Math.pow(10, digits);
        return switch (method) {
            case "common" -> toNearest(value, digits, context);
            case "ceil" -> new Value.Float(Math.ceil(Operators.real(value) * factor) / factor);
            case "floor" -> new Value.Float(Math.floor(Operators.real(value) * factor) / factor);
            default -> throw context.wrong("method must be common, ceil or floor");
        };
    }

    private static Value toNearest(Value value, long digits, RenderContext context) {
        double number = Operators.real(value);
        boolean isWhole = Operators.isIntegral(value);
        if (isWhole && digits >= 0 || !Double.isFinite(number)) {
            return signed(value, /* negative */ false, context);
        }
        double result = Math.copySign(
                new BigDecimal(number).setScale((int) digits, RoundingMode.HALF_EVEN).doubleValue(), number);
        return isWhole ? new Value.Int((long) result) : new Value.Float(result);
    }

    static Value apply(String operator, Value left, Value right, RenderContext context) {
        Operators.refuseUndefined(left, context);
        Operators.refuseUndefined(right, context);
        @Nullable Value result = null;
        if (Operators.isNumber(left) && Operators.isNumber(right)) {
            result = number(operator, left, right, context);
        } else if (operator.equals("+")) {
            result = joined(left, right, context);
        } else if (operator.equals("*")) {
            result = Operators.isIntegral(right) ? repeated(left, Operators.integer(right, context), context)
                    : Operators.isIntegral(left) ? repeated(right, Operators.integer(left, context), context) : null;
        } else if (operator.equals("%") && left instanceof Text) {
            throw context.unsupported("formatting a string with '%'");
        }
        if (result == null) {
            throw context.wrong("'" + operator + "' has no meaning for "
                    + Operators.typeName(left) + " and " + Operators.typeName(right));
        }
        return result;
    }

    private static Value number(String operator, Value left, Value right, RenderContext context) {
        boolean divides = operator.equals("/") || operator.equals("//") || operator.equals("%");
        if (divides && Operators.real(right) == 0) {
            throw context.wrong("division by zero");
        }
        boolean negativePower = operator.equals("**") && Operators.real(right) < 0;
        if (Operators.isIntegral(left) && Operators.isIntegral(right) && !operator.equals("/") && !negativePower) {
            try {
                return new Value.Int(
                        integral(operator, Operators.integer(left, context), Operators.integer(right, context)));
            } catch (ArithmeticException e) {
                throw context.wrong("the result of '" + operator + "' does not fit in 64 bits");
            }
        }
        double x = Operators.real(left);
        double y = Operators.real(right);
        return new Value.Float(switch (operator) {
            case "+" -> x + y;
            case "-" -> x - y;
            case "*" -> x * y;
            case "/" -> x / y;
            case "//" -> Math.floor(x / y);
            case "%" -> x - y * Math.floor(x / y);
            case "**" -> Math.pow(x, y);
            default -> throw new IllegalStateException(operator);
        });
    }

    private static long integral(String operator, long x, long y) {
        return switch (operator) {
            case "+" -> Math.addExact(x, y);
            case "-" -> Math.subtractExact(x, y);
            case "*" -> Math.multiplyExact(x, y);
            case "//" -> Math.floorDivExact(x, y);
            case "%" -> Math.floorMod(x, y);
            case "**" -> power(x, y);
            default -> throw new IllegalStateException(operator);
        };
    }

    private static long power(long base, long exponent) {
        if (base == 0 || base == 1) {
            return exponent == 0 ? 1 : base;
        }
        if (base == -1) {
            return exponent % 2 == 0 ? 1 : -1;
        }
        long result = 1;
        for (long i = 0; i < exponent; i++) {                    // overflows after at most 63 turns
            result = Math.multiplyExact(result, base);
        }
        return result;
    }

    private static @Nullable Value joined(Value left, Value right, RenderContext context) {
        if (left instanceof Text text && right instanceof Text other) {
            context.chars((long) text.chars().length() + other.chars().length());
            return text.plus(other);
        }
        if (left instanceof Value.Sequence(var items, var tuple)
                && right instanceof Value.Sequence(var others, var otherTuple) && tuple == otherTuple) {
            context.steps(items.size() + others.size());
            var all = new ArrayList<>(items);
            all.addAll(others);
            return new Value.Sequence(all, tuple);
        }
        return null;
    }

    private static @Nullable Value repeated(Value value, long times, RenderContext context) {
        long count = Math.max(0, Math.min(times, Integer.MAX_VALUE));
        if (value instanceof Text text) {
            context.chars(count * text.chars().length());
            var builder = new Text.Builder();
            for (long i = 0; i < count && !text.isEmpty(); i++) {
                builder.append(text);
            }
            return builder.build();
        }
        if (value instanceof Value.Sequence(var items, var tuple)) {
            context.steps(count * items.size());
            var all = new ArrayList<Value>();
            for (long i = 0; i < count && !items.isEmpty(); i++) {
                all.addAll(items);
            }
            return new Value.Sequence(all, tuple);
        }
        return null;
    }
}
