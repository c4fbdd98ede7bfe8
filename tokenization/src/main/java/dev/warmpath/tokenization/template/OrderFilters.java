package dev.warmpath.tokenization.template;

import dev.warmpath.tokenization.template.Callee.Arguments;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Set;
import java.util.function.UnaryOperator;

/**
 * Jinja's filters that compare the items of a list: {@code sort}, {@code dictsort}, {@code unique}, {@code min},
 * {@code max}; and {@code sum}. Strings are compared without regard to case, unless {@code case_sensitive} is true.
 */
final class OrderFilters {
    private static final Value NO_ITEM = new Value.Undefined("No aggregated item, sequence was empty.");

    private record Keyed(Value key, Value item) {}

    private OrderFilters() {}

    /** @param arguments reverse, case_sensitive, attribute: one, or several with commas between, the first first */
    static Value sort(Value target, Arguments arguments, RenderContext context) {
        var getters = new ArrayList<UnaryOperator<Value>>();
        for (Value attribute : attributes(arguments.get(2))) {
            getters.add(Attributes.sortKey(attribute, arguments.flag(1), context));
        }
        List<Value> items = Operators.items(target, context);
        var keys = new ArrayList<Value>(items.size());
        for (Value item : items) {
            keys.add(Value.list(getters.stream().map(getter -> getter.apply(item)).toList()));
        }
        return Value.list(sorted(items, keys, arguments.flag(0), context));
    }

    private static List<Value> attributes(Value given) {
        if (!(given instanceof Text names)) {
            return List.of(given);
        }
        var attributes = new ArrayList<Value>();
        for (String name : names.chars().split(",", -1)) {
            attributes.add(Text.trusted(name));
        }
        return attributes;
    }

    /** @param arguments case_sensitive, by: key or value, reverse */
    static Value dictsort(Value target, Arguments arguments, RenderContext context) {
        String by = arguments.string(1, "key", context);
        if (!by.equals("key") && !by.equals("value")) {
            throw context.wrong("You can only sort by either \"key\" or \"value\"");
        }
        var key = Attributes.sortKey(new Value.Int(by.equals("key") ? 0 : 1), arguments.flag(0), context);
        List<Value> pairs = Operators.items(Methods.items(target, context), context);
        return Value.list(sorted(pairs, pairs.stream().map(key).toList(), arguments.flag(2), context));
    }

    /** @param arguments case_sensitive, attribute */
    static Value unique(Value target, Arguments arguments, RenderContext context) {
        UnaryOperator<Value> key = Attributes.sortKey(arguments.get(1), arguments.flag(0), context);
        Set<Value> seen = new HashSet<>();
        return LazyItems.of(target, context, item -> {
            context.entries(1);
            return seen.add(Operators.key(key.apply(item), context)) ? item : null;
        });
    }

    /**
     * The first of the least, or of the largest.
     *
     * @param arguments case_sensitive, attribute
     */
    static Value extreme(Value target, Arguments arguments, boolean least, RenderContext context) {
        UnaryOperator<Value> key = Attributes.sortKey(arguments.get(1), arguments.flag(0), context);
        Iterator<Value> items = Operators.items(target, context).iterator();
        if (!items.hasNext()) {
            return NO_ITEM;
        }
        Value first = items.next();
        var found = new Keyed(key.apply(first), first);
        while (items.hasNext()) {
            Value item = items.next();
            var next = new Keyed(key.apply(item), item);
            found = Operators.compare(least ? "<" : ">", next.key, found.key, context) ? next : found;
        }
        return found.item;
    }

    /** @param arguments attribute, start */
    static Value sum(Value target, Arguments arguments, RenderContext context) {
        UnaryOperator<Value> getter = Attributes.getter(arguments.get(0), null, context);
        Value sum = arguments.or(1, new Value.Int(0));
        if (sum instanceof Text) {
            throw context.wrong("sum() can't sum strings [use ''.join(seq) instead]");
        }
        for (Value item : Operators.items(target, context)) {
            sum = Arithmetic.apply("+", sum, getter.apply(item), context);
        }
        return sum;
    }

    /**
     * Stable, in both directions, as Python's.
     *
     * @param keys of the items, one each
     */
    static List<Value> sorted(List<Value> items, List<Value> keys, boolean reverse, RenderContext context) {
        context.items(2L * items.size());
        var keyed = new ArrayList<Keyed>(items.size());
        for (int i = 0; i < items.size(); i++) {
            keyed.add(new Keyed(keys.get(i), items.get(i)));
        }
        Comparator<Keyed> order = (one, other) -> {
            context.steps(1);
            return Operators.compare("<", one.key, other.key, context) ? -1
                    : Operators.compare("<", other.key, one.key, context) ? 1 : 0;
        };
        try {
            keyed.sort(reverse ? order.reversed() : order);
        } catch (IllegalArgumentException e) {
            throw context.wrong("the items of a list have no order");
        }
        return new ArrayList<>(keyed.stream().map(Keyed::item).toList());
    }
}
