package dev.warmpath.router.tokenization.template;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

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

    static boolean isIntegral(Value value) {
        return value instanceof Value.Int || value instanceof Value.Bool;
    }

    static long integer(Value value, RenderContext context) {
        return switch (value) {
            case Value.Int(long number) -> number;
            case Value.Bool(boolean flag) -> flag ? 1 : 0;
            default -> throw context.wrong("an integer is needed, not " + typeName(value));
        };
    }

    static double real(Value value) {
        return switch (value) {
            case Value.Float(double number) -> number;
            case Value.Int(long number) -> number;
            case Value.Bool(boolean flag) -> flag ? 1 : 0;
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
            case Value.Dict(Map<Value, Value> entries) -> entries.containsKey(key(item, context));
            case Value.Undefined _ -> false;
            default -> throw context.wrong("'in' has no meaning for " + typeName(container));
        };
    }

    /** What a dict may have as a key: nothing nested, whose hash could run deep. */
    static Value key(Value value, RenderContext context) {
        if (value instanceof Value.Sequence || value instanceof Value.Dict || value instanceof Value.Namespace) {
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
