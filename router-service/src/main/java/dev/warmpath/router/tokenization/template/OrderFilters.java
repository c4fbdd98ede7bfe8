package dev.warmpath.router.tokenization.template;

import dev.warmpath.router.tokenization.template.Builtins.Arguments;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.Function;

/**
 * Jinja's filters that compare the items of a list: {@code sort}, {@code dictsort}, {@code unique}, {@code min},
 * {@code max}; and {@code sum}. Strings are compared without regard to case, unless {@code case_sensitive} is true.
 */
final class OrderFilters {

    private static final Value NO_ITEM = new Value.Undefined("No aggregated item, sequence was empty.");

    private OrderFilters() {}

    /** @param arguments reverse, case_sensitive, attribute: one, or several with commas between, the first first */
    static Value sort(Value target, Arguments arguments, RenderContext context) {
        boolean caseSensitive = flag(arguments, 1);
        List<Function<Value, Value>> keys = new ArrayList<>();
        if (arguments.isGiven(2) && arguments.get(2) instanceof Text attributes) {
            for (String attribute : attributes.chars().split(",")) {
                keys.add(key(Text.trusted(attribute), caseSensitive, context));
            }
        } else {
            keys.add(key(arguments.get(2), caseSensitive, context));
        }
        return Value.list(sorted(Operators.items(target, context), keys, flag(arguments, 0), context));
    }

    /** @param arguments case_sensitive, by: key or value, reverse */
    static Value dictsort(Value target, Arguments arguments, RenderContext context) {
        String by = arguments.string(1, "key", context);
        if (!by.equals("key") && !by.equals("value")) {
            throw context.wrong("You can only sort by either \"key\" or \"value\"");
        }
        Value place = new Value.Int(by.equals("key") ? 0 : 1);
        List<Value> pairs = Operators.items(TextMethods.items(target, context), context);
        return Value.list(sorted(pairs, List.of(key(place, flag(arguments, 0), context)), flag(arguments, 2), context));
    }

    /** @param arguments case_sensitive, attribute */
    static Value unique(Value target, Arguments arguments, RenderContext context) {
        Function<Value, Value> key = key(arguments.get(1), flag(arguments, 0), context);
        Map<Value, Value> first = new LinkedHashMap<>();
        for (Value item : Operators.items(target, context)) {
            first.putIfAbsent(Operators.key(key.apply(item), context), item);
        }
        return Value.list(List.copyOf(first.values()));
    }

    /**
     * The first of the least, or of the largest.
     *
     * @param arguments case_sensitive, attribute
     */
    static Value extreme(Value target, Arguments arguments, boolean least, RenderContext context) {
        Function<Value, Value> key = key(arguments.get(1), flag(arguments, 0), context);
        Value found = NO_ITEM;
        for (Value item : Operators.items(target, context)) {
            boolean isFurther = found == NO_ITEM
                    || Operators.compare(least ? "<" : ">", key.apply(item), key.apply(found), context);
            found = isFurther ? item : found;
        }
        return found;
    }

    /** @param arguments attribute, start */
    static Value sum(Value target, Arguments arguments, RenderContext context) {
        Value sum = arguments.or(1, new Value.Int(0));
        for (Value item : Operators.items(target, context)) {
            sum = Arithmetic.apply("+", sum, arguments.isGiven(0) && !(arguments.get(0) instanceof Value.None)
                    ? Builtins.attribute(item, arguments.get(0), context) : item, context);
        }
        return sum;
    }

    private static boolean flag(Arguments arguments, int index) {
        return Operators.truth(arguments.or(index, Value.FALSE));
    }

    /** @param attribute of each item; None: the item itself */
    private static Function<Value, Value> key(Value attribute, boolean caseSensitive, RenderContext context) {
        return item -> {
            Value value = attribute instanceof Value.None ? item : Builtins.attribute(item, attribute, context);
            return value instanceof Text text && !caseSensitive
                    ? Text.trusted(text.chars().toLowerCase(Locale.ROOT)) : value;
        };
    }

    /** Stable, in both directions, as Python's. */
    private static List<Value> sorted(
            List<Value> items, List<Function<Value, Value>> keys, boolean reverse, RenderContext context) {
        Comparator<Value> order = (one, other) -> {
            context.steps(1);
            for (Function<Value, Value> key : keys) {
                Value left = key.apply(one);
                Value right = key.apply(other);
                if (Operators.compare("<", left, right, context)) {
                    return -1;
                }
                if (Operators.compare("<", right, left, context)) {
                    return 1;
                }
            }
            return 0;
        };
        List<Value> sorted = new ArrayList<>(items);
        try {
            sorted.sort(reverse ? order.reversed() : order);
        } catch (IllegalArgumentException e) {
            throw context.wrong("the items of a list have no order");
        }
        return sorted;
    }
}
