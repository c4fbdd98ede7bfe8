package dev.warmpath.router.tokenization.template;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Python's operators on {@link Value}s: truth, equality, order, arithmetic, membership, iteration. */
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
            case Value.Namespace _, Value.Macro _, Value.Function _, Value.Loop _ -> true;
        };
    }

    /** As Python's error messages name the type. */
    static String typeName(Value value) {
        return switch (value) {
            case Value.Undefined _ -> "Undefined";
            case Value.None _ -> "NoneType";
            case Value.Bool _ -> "bool";
            case Value.Int _ -> "int";
            case Value.Float _ -> "float";
            case Text _ -> "str";
            case Value.Sequence(List<Value> _, boolean tuple) -> tuple ? "tuple" : "list";
            case Value.Dict _ -> "dict";
            case Value.Namespace _ -> "Namespace";
            case Value.Macro _ -> "Macro";
            case Value.Function _ -> "function";
            case Value.Loop _ -> "LoopContext";
        };
    }

    static boolean isNumber(Value value) {
        return value instanceof Value.Int || value instanceof Value.Float || value instanceof Value.Bool;
    }

    private static boolean isIntegral(Value value) {
        return value instanceof Value.Int || value instanceof Value.Bool;
    }

    static long integer(Value value, RenderContext context) {
        return switch (value) {
            case Value.Int(long number) -> number;
            case Value.Bool(boolean flag) -> flag ? 1 : 0;
            default -> throw context.wrong("an integer is needed, not " + typeName(value));
        };
    }

    private static double real(Value value) {
        return switch (value) {
            case Value.Float(double number) -> number;
            case Value.Int(long number) -> number;
            case Value.Bool(boolean flag) -> flag ? 1 : 0;
            default -> throw new IllegalStateException("not a number: " + typeName(value));
        };
    }

    static boolean equal(Value left, Value right, RenderContext context) {
        context.steps(1);
        if (isNumber(left) && isNumber(right)) {
            return isIntegral(left) && isIntegral(right)
                    ? integer(left, context) == integer(right, context) : real(left) == real(right);
        }
        if (left instanceof Value.Sequence(var items, var tuple)
                && right instanceof Value.Sequence(var others, var otherTuple)) {
            if (tuple != otherTuple || items.size() != others.size()) {
                return false;
            }
            for (int i = 0; i < items.size(); i++) {
                if (!equal(items.get(i), others.get(i), context)) {
                    return false;
                }
            }
            return true;
        }
        if (left instanceof Value.Dict(var entries) && right instanceof Value.Dict(var others)) {
            return entries.size() == others.size() && entries.entrySet().stream().allMatch(entry ->
                    others.containsKey(entry.getKey()) && equal(entry.getValue(), others.get(entry.getKey()), context));
        }
        return switch (left) {
            case Text text -> text.equals(right);
            case Value.None _ -> right instanceof Value.None;
            case Value.Undefined _ -> right instanceof Value.Undefined;
            default -> left == right;
        };
    }

    static boolean compare(String operator, Value left, Value right, RenderContext context) {
        return switch (operator) {
            case "==" -> equal(left, right, context);
            case "!=" -> !equal(left, right, context);
            case "in" -> contains(right, left, context);
            case "not in" -> !contains(right, left, context);
            case "<" -> order(operator, left, right, context) < 0;
            case "<=" -> order(operator, left, right, context) <= 0;
            case ">" -> order(operator, left, right, context) > 0;
            case ">=" -> order(operator, left, right, context) >= 0;
            default -> throw new IllegalStateException(operator);
        };
    }

    private static int order(String operator, Value left, Value right, RenderContext context) {
        if (isIntegral(left) && isIntegral(right)) {
            return Long.compare(integer(left, context), integer(right, context));
        }
        if (isNumber(left) && isNumber(right)) {
            return Double.compare(real(left), real(right));
        }
        if (left instanceof Text text && right instanceof Text other) {
            return text.chars().compareTo(other.chars());
        }
        refuseUndefined(left, context);
        refuseUndefined(right, context);
        throw context.wrong("'" + operator + "' has no meaning between " + typeName(left) + " and " + typeName(right));
    }

    static boolean contains(Value container, Value item, RenderContext context) {
        return switch (container) {
            case Text text -> {
                if (!(item instanceof Text part)) {
                    refuseUndefined(item, context);
                    throw context.wrong("'in <string>' needs a string, not " + typeName(item));
                }
                context.steps(1 + text.chars().length() / 256);
                yield text.chars().contains(part.chars());
            }
            case Value.Sequence(List<Value> items, boolean _) ->
                items.stream().anyMatch(candidate -> equal(candidate, item, context));
            case Value.Dict(Map<Value, Value> entries) -> entries.containsKey(item);
            case Value.Undefined _ -> false;
            default -> throw context.wrong("'in' has no meaning for " + typeName(container));
        };
    }

    static void refuseUndefined(Value value, RenderContext context) {
        if (value instanceof Value.Undefined(String complaint)) {
            throw context.wrong(complaint);
        }
    }

    static Value signed(Value value, boolean negative, RenderContext context) {
        refuseUndefined(value, context);
        if (value instanceof Value.Float(double number)) {
            return new Value.Float(negative ? -number : number);
        }
        long number = integer(value, context);
        return new Value.Int(negative ? -number : number);
    }

    static Value arithmetic(String operator, Value left, Value right, RenderContext context) {
        refuseUndefined(left, context);
        refuseUndefined(right, context);
        @Nullable Value result = null;
        if (isNumber(left) && isNumber(right)) {
            result = number(operator, left, right, context);
        } else if (operator.equals("+")) {
            result = joined(left, right, context);
        } else if (operator.equals("*")) {
            result = isIntegral(right) ? repeated(left, integer(right, context), context)
                    : isIntegral(left) ? repeated(right, integer(left, context), context) : null;
        } else if (operator.equals("%") && left instanceof Text) {
            throw context.unsupported("formatting a string with '%'");
        }
        if (result == null) {
            throw context.wrong("'" + operator + "' has no meaning for " + typeName(left) + " and " + typeName(right));
        }
        return result;
    }

    private static Value number(String operator, Value left, Value right, RenderContext context) {
        boolean divides = operator.equals("/") || operator.equals("//") || operator.equals("%");
        if (divides && real(right) == 0) {
            throw context.wrong("division by zero");
        }
        boolean negativePower = operator.equals("**") && real(right) < 0;
        if (isIntegral(left) && isIntegral(right) && !operator.equals("/") && !negativePower) {
            try {
                return new Value.Int(integral(operator, integer(left, context), integer(right, context)));
            } catch (ArithmeticException e) {
                throw context.wrong("the result of '" + operator + "' does not fit in 64 bits");
            }
        }
        double x = real(left);
        double y = real(right);
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
            var builder = new Text.Builder();
            builder.append(text);
            builder.append(other);
            return builder.build();
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

    /** The items of what can be looped over: a string's code points, a dict's keys, nothing of Undefined. */
    static List<Value> items(Value value, RenderContext context) {
        List<Value> items = switch (value) {
            case Value.Sequence(List<Value> elements, boolean _) -> elements;
            case Value.Dict(Map<Value, Value> entries) -> List.copyOf(entries.keySet());
            case Value.Undefined _ -> List.of();
            case Text text -> {
                context.steps(text.chars().length());
                yield characters(text);
            }
            default -> throw context.wrong(typeName(value) + " cannot be iterated");
        };
        context.steps(items.size());
        return items;
    }

    private static List<Value> characters(Text text) {
        var characters = new ArrayList<Value>();
        String chars = text.chars();
        for (int i = 0; i < chars.length(); ) {
            int next = i + Character.charCount(chars.codePointAt(i));
            characters.add(text.substring(i, next));
            i = next;
        }
        return characters;
    }

    static int length(Value value, RenderContext context) {
        return switch (value) {
            case Text text -> text.codePointCount();
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
