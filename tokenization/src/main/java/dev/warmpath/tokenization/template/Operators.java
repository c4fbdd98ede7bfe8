package dev.warmpath.tokenization.template;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;

/** What Python asks of values: truth, equality, order, membership, iteration. {@link Arithmetic} has the rest. */
final class Operators {
    private Operators() {}

    static boolean truth(Value value) {
        return switch (value) {
            case Value.Undefined _, Value.None _ -> false;
            case Value.Bool(boolean flag) -> flag;
            case Value.Int(long number) -> number != 0;
            case Value.Float(double number) -> number != 0;
            case Text text -> !text.isEmpty();
            case Value.Sequence(List<Value> items, boolean _) -> !items.isEmpty();
            case Value.Dict(Map<Value, Value> entries) -> !entries.isEmpty();
            case Value.BigInt _, Value.Generator _, Value.Namespace _, Value.Macro _, Value.Function _, Value.Method _,
                    Value.Loop _ -> true;
        };
    }

    /** As Python's error messages name the type. */
    static String typeName(Value value) {
        return switch (value) {
            case Value.Undefined _ -> "Undefined";
            case Value.None _ -> "NoneType";
            case Value.Bool _ -> "bool";
            case Value.Int _, Value.BigInt _ -> "int";
            case Value.Float _ -> "float";
            case Text _ -> "str";
            case Value.Sequence(List<Value> _, boolean tuple) -> tuple ? "tuple" : "list";
            case Value.Dict _ -> "dict";
            case Value.Generator _ -> "generator";
            case Value.Namespace _ -> "Namespace";
            case Value.Macro _ -> "Macro";
            case Value.Function _ -> "function";
            case Value.Method _ -> "method";
            case Value.Loop _ -> "LoopContext";
        };
    }

    static boolean isNumber(Value value) {
        return value instanceof Value.Float || isIntegral(value);
    }

    static boolean isIntegral(Value value) {
        return value instanceof Value.Int || value instanceof Value.Bool || value instanceof Value.BigInt;
    }

    /** Of what counts, measures or has a place: one that does not fit in 64 bits is the nearest that does. */
    static long integer(Value value, RenderContext context) {
        return switch (value) {
            case Value.Int(long number) -> number;
            case Value.Bool(boolean flag) -> flag ? 1 : 0;
            case Value.BigInt(BigInteger number) -> number.signum() > 0 ? Long.MAX_VALUE : Long.MIN_VALUE;
            default -> {
                refuseUndefined(value, context);
                throw context.wrong("an integer is needed, not " + typeName(value));
            }
        };
    }

    static BigInteger bigInteger(Value value) {
        return switch (value) {
            case Value.Int(long number) -> BigInteger.valueOf(number);
            case Value.Bool(boolean flag) -> flag ? BigInteger.ONE : BigInteger.ZERO;
            case Value.BigInt(BigInteger number) -> number;
            default -> throw new IllegalStateException("not an integer: " + typeName(value));
        };
    }

    static double real(Value value) {
        return switch (value) {
            case Value.Float(double number) -> number;
            case Value.Int(long number) -> number;
            case Value.Bool(boolean flag) -> flag ? 1 : 0;
            case Value.BigInt(BigInteger number) -> number.doubleValue();
            default -> throw new IllegalStateException("not a number: " + typeName(value));
        };
    }

    static boolean equal(Value left, Value right, RenderContext context) {
        context.enter();                                         // lists can be nested as deep as steps allow
        boolean equal = equalUnbounded(left, right, context);
        context.leave();
        return equal;
    }

    private static boolean equalUnbounded(Value left, Value right, RenderContext context) {
        if (isNumber(left) && isNumber(right)) {
            return isOrdered(left, right) && compareNumbers(left, right) == 0;
        }
        if (left instanceof Value.Sequence(var items, var tuple)
                && right instanceof Value.Sequence(var others, var otherTuple)) {
            return tuple == otherTuple && items.size() == others.size()
                    && firstDifference(items, others, context) == items.size();
        }
        if (left instanceof Value.Dict(var entries) && right instanceof Value.Dict(var others)) {
            return entries.size() == others.size() && entries.entrySet().stream().allMatch(entry ->
                    others.containsKey(entry.getKey()) && equal(entry.getValue(), others.get(entry.getKey()), context));
        }
        return switch (left) {
            case Text text -> right instanceof Text other && equalTexts(text, other, context);
            case Value.None _ -> right instanceof Value.None;
            case Value.Undefined _ -> right instanceof Value.Undefined;
            default -> left == right;
        };
    }

    private static boolean equalTexts(Text left, Text right, RenderContext context) {
        if (left.chars().length() != right.chars().length()) {
            return false;
        }
        context.read(left.chars().length());
        return left.equals(right);
    }

    private static int firstDifference(List<Value> left, List<Value> right, RenderContext context) {
        int end = Math.min(left.size(), right.size());
        for (int i = 0; i < end; i++) {
            if (!equal(left.get(i), right.get(i), context)) {
                return i;
            }
        }
        return end;
    }

    /** Not a number is neither less nor more than anything. */
    private static boolean isOrdered(Value left, Value right) {
        return !(left instanceof Value.Float(double x) && Double.isNaN(x))
                && !(right instanceof Value.Float(double y) && Double.isNaN(y));
    }

    private static int compareNumbers(Value left, Value right) {
        if (left instanceof Value.Int(long x) && right instanceof Value.Int(long y)) {
            return Long.compare(x, y);
        }
        if (isIntegral(left) && isIntegral(right)) {
            return bigInteger(left).compareTo(bigInteger(right));
        }
        double x = real(left);
        double y = real(right);
        boolean exact = Math.abs(x) < 0x1p53 && Math.abs(y) < 0x1p53 || Double.isInfinite(x) || Double.isInfinite(y);
        return exact ? x < y ? -1 : x > y ? 1 : 0 : decimal(left).compareTo(decimal(right));
    }

    private static BigDecimal decimal(Value number) {
        return number instanceof Value.Float(double real) ? new BigDecimal(real) : new BigDecimal(bigInteger(number));
    }

    static boolean compare(String operator, Value left, Value right, RenderContext context) {
        return switch (operator) {
            case "==" -> equal(left, right, context);
            case "!=" -> !equal(left, right, context);
            case "in" -> contains(right, left, context);
            case "not in" -> !contains(right, left, context);
            default -> ordered(operator, left, right, context);
        };
    }

    private static boolean ordered(String operator, Value left, Value right, RenderContext context) {
        if (isNumber(left) && isNumber(right)) {
            return isOrdered(left, right) && holds(operator, compareNumbers(left, right));
        }
        if (left instanceof Text text && right instanceof Text other) {
            context.read(Math.min(text.chars().length(), other.chars().length()));
            return holds(operator, compareCodePoints(text.chars(), other.chars()));
        }
        if (left instanceof Value.Sequence(var items, var tuple)
                && right instanceof Value.Sequence(var others, var otherTuple) && tuple == otherTuple) {
            int at = firstDifference(items, others, context);
            return at == Math.min(items.size(), others.size())
                    ? holds(operator, Integer.compare(items.size(), others.size()))
                    : orderedInside(operator, items.get(at), others.get(at), context);
        }
        refuseUndefined(left, context);
        refuseUndefined(right, context);
        throw context.wrong("'" + operator + "' has no meaning between " + typeName(left) + " and " + typeName(right));
    }

    private static boolean orderedInside(String operator, Value left, Value right, RenderContext context) {
        context.enter();
        boolean ordered = ordered(operator, left, right, context);
        context.leave();
        return ordered;
    }

    private static boolean holds(String operator, int order) {
        return switch (operator) {
            case "<" -> order < 0;
            case "<=" -> order <= 0;
            case ">" -> order > 0;
            case ">=" -> order >= 0;
            default -> throw new IllegalStateException(operator);
        };
    }

    /** Where surrogates differ from other units, the order of UTF-16 is not that of code points. */
    private static int compareCodePoints(String left, String right) {
        int at = 0;
        int end = Math.min(left.length(), right.length());
        while (at < end && left.charAt(at) == right.charAt(at)) {
            at++;
        }
        if (at == end) {
            return Integer.compare(left.length(), right.length());
        }
        char x = left.charAt(at);
        char y = right.charAt(at);
        return Character.isSurrogate(x) != Character.isSurrogate(y)
                ? Character.isSurrogate(x) ? 1 : -1 : Character.compare(x, y);
    }

    static boolean contains(Value container, Value item, RenderContext context) {
        return switch (container) {
            case Text text -> {
                if (!(item instanceof Text part)) {
                    refuseUndefined(item, context);
                    throw context.wrong("'in <string>' needs a string, not " + typeName(item));
                }
                yield TextSearch.find(text.chars(), part.chars(), 0, context) >= 0;
            }
            case Value.Sequence(List<Value> items, boolean _) -> isAmong(items.iterator(), item, context);
            case Value.Generator(Iterator<Value> items) -> isAmong(items, item, context);
            case Value.Dict(Map<Value, Value> entries) ->
                !(item instanceof Value.Sequence(List<Value> _, boolean tuple) && tuple)
                        && entries.containsKey(key(item, context));
            case Value.Undefined _ -> false;
            default -> throw context.wrong("'in' has no meaning for " + typeName(container));
        };
    }

    private static boolean isAmong(Iterator<Value> items, Value item, RenderContext context) {
        while (items.hasNext()) {
            if (equal(items.next(), item, context)) {
                return true;
            }
        }
        return false;
    }

    /** What a dict may have as a key: nothing nested, whose hash could run deep. */
    static boolean isKey(Value value) {
        return !(value instanceof Value.Sequence || value instanceof Value.Dict || value instanceof Value.Namespace
                || value instanceof Value.Loop || value instanceof Value.Macro || value instanceof Value.Method);
    }

    static Value key(Value value, RenderContext context) {
        if (!isKey(value)) {
            throw context.unsupported("a " + typeName(value) + " as a key of a dict");
        }
        return value;
    }

    static void refuseUndefined(Value value, RenderContext context) {
        if (value instanceof Value.Undefined(String complaint)) {
            throw context.wrong(complaint);
        }
    }

    /** The items of what can be looped over: a string's code points, a dict's keys, nothing of Undefined. */
    static List<Value> items(Value value, RenderContext context) {
        return switch (value) {
            case Value.Sequence(List<Value> elements, boolean _) -> {
                context.steps(elements.size());
                yield elements;
            }
            case Value.Dict(Map<Value, Value> entries) -> {
                context.items(entries.size());
                yield List.copyOf(entries.keySet());
            }
            case Value.Undefined _ -> List.of();
            case Value.Generator(Iterator<Value> left) -> drained(left, context);
            case Text text -> characters(text, context);
            default -> throw context.wrong(typeName(value) + " cannot be iterated");
        };
    }

    private static List<Value> drained(Iterator<Value> left, RenderContext context) {
        var items = new ArrayList<Value>();
        while (left.hasNext()) {
            context.items(1);
            items.add(left.next());
        }
        return items;
    }

    private static List<Value> characters(Text text, RenderContext context) {
        String chars = text.chars();
        Text plain = text.asMarkup(false);
        var characters = new ArrayList<Value>();
        for (int i = 0; i < chars.length(); ) {
            int next = i + Character.charCount(chars.codePointAt(i));
            context.items(1);
            context.chars(1);
            characters.add(plain.substring(i, next));
            i = next;
        }
        return characters;
    }

    static int length(Value value, RenderContext context) {
        return switch (value) {
            case Text text -> {
                context.read(text.unitsToFindAPlace());
                yield text.codePointCount();
            }
            case Value.Sequence(List<Value> items, boolean _) -> items.size();
            case Value.Dict(Map<Value, Value> entries) -> entries.size();
            case Value.Loop loop -> loop.items().size();
            case Value.Undefined _ -> 0;
            default -> throw context.wrong(typeName(value) + " has no length");
        };
    }

    /** Fills the names of an unpacking, or says how many values there were. */
    static void unpack(List<String> targets, Value value, Scope scope, RenderContext context) {
        if (targets.size() == 1) {
            scope.set(targets.getFirst(), value);
            return;
        }
        List<Value> items = items(value, context);
        if (items.size() != targets.size()) {
            throw context.wrong("cannot unpack " + items.size() + " values into " + targets.size() + " names");
        }
        Iterator<Value> item = items.iterator();
        targets.forEach(target -> scope.set(target, item.next()));
    }
}
