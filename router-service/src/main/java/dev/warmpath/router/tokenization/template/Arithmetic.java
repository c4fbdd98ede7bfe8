package dev.warmpath.router.tokenization.template;

import java.util.ArrayList;
import org.jspecify.annotations.Nullable;

/** Python's {@code + - * / // % **} on numbers, and {@code + *} on strings and lists. Integers have 64 bits. */
final class Arithmetic {
    private Arithmetic() {}

    static Value signed(Value value, boolean negative, RenderContext context) {
        Operators.refuseUndefined(value, context);
        if (value instanceof Value.Float(double number)) {
            return new Value.Float(negative ? -number : number);
        }
        return apply(negative ? "-" : "+", new Value.Int(0), value, context);
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
