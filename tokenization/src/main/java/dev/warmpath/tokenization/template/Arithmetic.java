package dev.warmpath.tokenization.template;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.math.MathContext;
import java.math.RoundingMode;
import java.util.ArrayList;
import org.jspecify.annotations.Nullable;

/** Python's {@code + - * / // % **} on numbers, {@code + *} on strings and lists, and {@code %} on strings. */
final class Arithmetic {
    /** As many as a double has, both ways. */
    private static final int MOST_DIGITS = 300;
    /** Python does not print longer ones: 4,300 digits. */
    private static final int MOST_BITS = 14_284;
    private static final MathContext MORE_THAN_A_DOUBLE = new MathContext(60);

    private Arithmetic() {}

    static Value signed(Value value, boolean negative, RenderContext context) {
        Operators.refuseUndefined(value, context);
        if (value instanceof Value.Float(double number)) {
            return new Value.Float(negative ? -number : number);
        }
        if (!Operators.isIntegral(value)) {
            throw context.wrong("'" + (negative ? "-" : "+") + "' has no meaning for " + Operators.typeName(value));
        }
        return apply(negative ? "-" : "+", new Value.Int(0), value, context);
    }

    static Value absolute(Value value, RenderContext context) {
        Operators.refuseUndefined(value, context);
        if (!Operators.isNumber(value)) {
            throw context.wrong("'abs' needs a number, not " + Operators.typeName(value));
        }
        return value instanceof Value.Float(double number) ? new Value.Float(Math.abs(number))
                : Value.integer(Operators.bigInteger(value).abs());
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
            case "common" -> toNearest(value, (int) digits, context);
            case "ceil" -> new Value.Float((Math.ceil(Operators.real(value) * factor) + 0.0) / factor);
            case "floor" -> new Value.Float((Math.floor(Operators.real(value) * factor) + 0.0) / factor);
            default -> throw context.wrong("method must be common, ceil or floor");
        };
    }

    private static Value toNearest(Value value, int digits, RenderContext context) {
        double number = Operators.real(value);
        if (Operators.isIntegral(value)) {
            BigDecimal whole = new BigDecimal(Operators.bigInteger(value));
            return digits >= 0 ? signed(value, /* negative */ false, context)
                    : Value.integer(whole.setScale(digits, RoundingMode.HALF_EVEN).toBigInteger());
        }
        return !Double.isFinite(number) ? value : new Value.Float(Math.copySign(
                new BigDecimal(number).setScale(digits, RoundingMode.HALF_EVEN).doubleValue(), number));
    }

    static Value apply(String operator, Value left, Value right, RenderContext context) {
        @Nullable Value result = null;
        if (Operators.isNumber(left) && Operators.isNumber(right)) {
            result = number(operator, left, right, context);
        } else if (operator.equals("%") && left instanceof Text format) {
            result = new PercentFormat(format, right, context).format();
        } else if (operator.equals("+")) {
            result = joined(left, right, context);
        } else if (operator.equals("*")) {
            result = Operators.isIntegral(right) ? repeated(left, Operators.integer(right, context), context)
                    : Operators.isIntegral(left) ? repeated(right, Operators.integer(left, context), context) : null;
        }
        if (result == null) {
            Operators.refuseUndefined(left, context);
            Operators.refuseUndefined(right, context);
            throw context.wrong("'" + operator + "' has no meaning for "
                    + Operators.typeName(left) + " and " + Operators.typeName(right));
        }
        return result;
    }

    private static Value number(String operator, Value left, Value right, RenderContext context) {
        boolean divides = operator.equals("/") || operator.equals("//") || operator.equals("%");
        boolean negativePower = operator.equals("**") && Operators.real(right) < 0;
        if ((divides && Operators.real(right) == 0) || negativePower && Operators.real(left) == 0) {
            throw context.wrong("division by zero");
        }
        if (!Operators.isIntegral(left) || !Operators.isIntegral(right) || negativePower) {
            return new Value.Float(real(operator, finite(left, context), finite(right, context), context));
        }
        if (operator.equals("/")) {
            return new Value.Float(quotient(left, right, context));
        }
        if (left instanceof Value.Int(long x) && right instanceof Value.Int(long y)) {
            try {
                return new Value.Int(integral(operator, x, y));
            } catch (ArithmeticException e) {
                return bounded(big(operator, BigInteger.valueOf(x), BigInteger.valueOf(y), context), context);
            }
        }
        return bounded(big(operator, Operators.bigInteger(left), Operators.bigInteger(right), context), context);
    }

    /** An integer that no double is near cannot be computed with a float. */
    private static double finite(Value value, RenderContext context) {
        double number = Operators.real(value);
        if (value instanceof Value.BigInt && Double.isInfinite(number)) {
            throw context.wrong("the integer is too large for a float");
        }
        return number;
    }

    private static double quotient(Value left, Value right, RenderContext context) {
        double x = finite(left, context);
        double y = finite(right, context);
        boolean exact = x == 0 || Math.abs(x) < 0x1p53 && Math.abs(y) < 0x1p53;
        return exact ? x / y : new BigDecimal(Operators.bigInteger(left))
                .divide(new BigDecimal(Operators.bigInteger(right)), MORE_THAN_A_DOUBLE).doubleValue();
    }

    private static double real(String operator, double x, double y, RenderContext context) {
        return switch (operator) {
            case "+" -> x + y;
            case "-" -> x - y;
            case "*" -> x * y;
            case "/" -> x / y;
            case "//" -> floorQuotient(x, y);
            case "%" -> floorRemainder(x, y);
            case "**" -> power(x, y, context);
            default -> throw new IllegalStateException(operator);
        };
    }

    /** Of the sign of the divisor, as Python has it. */
    private static double floorRemainder(double x, double y) {
        double remainder = x % y;
        return remainder == 0 ? Math.copySign(0, y) : remainder < 0 != y < 0 ? remainder + y : remainder;
    }

    private static double floorQuotient(double x, double y) {
        double quotient = (x - floorRemainder(x, y)) / y;
        double floor = Math.floor(quotient);
        return quotient == 0 ? Math.copySign(0, x / y) : quotient - floor > 0.5 ? floor + 1 : floor;
    }

    private static double power(double x, double y, RenderContext context) {
        double power = Math.pow(x, y);
        boolean isComplex = x < 0 && Double.isFinite(x) && Double.isFinite(y) && y != Math.rint(y);
        boolean isTooLarge = Double.isInfinite(power) && Double.isFinite(x) && Double.isFinite(y);
        if (isComplex || isTooLarge) {
            throw context.wrong("the result of '**' is " + (isComplex ? "no real number" : "too large for a float"));
        }
        return power;
    }

    private static long integral(String operator, long x, long y) {
        return switch (operator) {
            case "+" -> Math.addExact(x, y);
            case "-" -> Math.subtractExact(x, y);
            case "*" -> Math.multiplyExact(x, y);
            case "//" -> Math.floorDivExact(x, y);
            case "%" -> Math.floorMod(x, y);
            case "**" -> throw new ArithmeticException();          // nobody raises numbers often
            default -> throw new IllegalStateException(operator);
        };
    }

    private static BigInteger big(String operator, BigInteger x, BigInteger y, RenderContext context) {
        return switch (operator) {
            case "+" -> x.add(y);
            case "-" -> x.subtract(y);
            case "*" -> x.multiply(y);
            case "//" -> floor(x, y)[0];
            case "%" -> floor(x, y)[1];
            case "**" -> power(x, y, context);
            default -> throw new IllegalStateException(operator);
        };
    }

    /** Quotient and remainder. */
    private static BigInteger[] floor(BigInteger x, BigInteger y) {
        BigInteger[] both = x.divideAndRemainder(y);
        boolean rounds = both[1].signum() != 0 && both[1].signum() != y.signum();
        return rounds ? new BigInteger[] {both[0].subtract(BigInteger.ONE), both[1].add(y)} : both;
    }

    private static BigInteger power(BigInteger base, BigInteger exponent, RenderContext context) {
        if (base.abs().bitLength() <= 1) {
            return base.signum() == 0 && exponent.signum() > 0 ? BigInteger.ZERO
                    : base.signum() < 0 && exponent.testBit(0) ? base : BigInteger.ONE;
        }
        if (exponent.bitLength() >= Integer.SIZE || exponent.longValue() * (base.bitLength() - 1) > MOST_BITS) {
            throw tooLarge(context);
        }
        return base.pow(exponent.intValue());
    }

    private static Value bounded(BigInteger number, RenderContext context) {
        if (number.bitLength() > MOST_BITS) {
            throw tooLarge(context);
        }
        context.read(number.bitLength());
        return Value.integer(number);
    }

    private static TemplateException tooLarge(RenderContext context) {
        return context.limit("the chat template makes an integer of more than 4300 digits");
    }

    private static @Nullable Value joined(Value left, Value right, RenderContext context) {
        if (left instanceof Text text && right instanceof Text other) {
            return joined(text, other, context);
        }
        if (left instanceof Value.Sequence(var items, var tuple)
                && right instanceof Value.Sequence(var others, var otherTuple) && tuple == otherTuple) {
            return new Value.Sequence(SumOfLists.of(items, others, context), tuple);
        }
        return null;
    }

    /** What is joined to markup is escaped. */
    private static Text joined(Text left, Text right, RenderContext context) {
        Text first = right.isMarkup() ? Html.escaped(left, context) : left;
        Text second = left.isMarkup() ? Html.escaped(right, context) : right;
        context.copy(first);
        context.copy(second);
        context.output((long) first.chars().length() + second.chars().length(), 0);
        return first.plus(second).asMarkup(left.isMarkup() || right.isMarkup());
    }

    private static @Nullable Value repeated(Value value, long times, RenderContext context) {
        long count = Math.clamp(times, 0, Integer.MAX_VALUE);
        if (value instanceof Text text) {
            return repeated(text, count, context);
        }
        if (value instanceof Value.Sequence(var items, var tuple)) {
            context.items(count * items.size());
            var all = new ArrayList<Value>();
            for (long i = 0; i < count && !items.isEmpty(); i++) {
                all.addAll(items);
            }
            return new Value.Sequence(all, tuple);
        }
        return null;
    }

    static Text repeated(Text text, long count, RenderContext context) {
        context.chars(count * text.chars().length());
        var builder = new Text.Builder();
        for (long i = 0; i < count && !text.isEmpty(); i++) {
            builder.append(text);
        }
        return builder.build().asMarkup(text.isMarkup());
    }
}
