package dev.warmpath.tokenization.template;

import dev.warmpath.tokenization.template.Callee.Arguments;
import java.util.Iterator;
import java.util.List;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/** Filters of lists. Those that Jinja writes as generators make each item when it is asked for, and once. */
final class ListFilters {
    private ListFilters() {}

    static List<Callee> all() {
        Callee.Body length = (target, _, context) -> new Value.Int(Operators.length(target, context));
        return List.of(
                Callee.of("length", "", 0, length),
                Callee.of("count", "", 0, length),
                Callee.of("first", "", 0, (target, _, context) -> first(target, context)),
                Callee.of("last", "", 0, (target, _, context) -> last(target, context)),
                Callee.of("list", "", 0, (target, _, context) -> Value.list(Operators.items(target, context))),
                Callee.of("reverse", "", 0, (target, _, context) -> reversed(target, context)),
                Callee.of("items", "", 0, (target, _, context) -> items(target, context)),
                Callee.of("join", "d attribute", 0, ListFilters::join),
                Callee.of("attr", "name", 1, (target, arguments, context) -> attribute(target, arguments, context)),
                Callee.of("sort", "reverse case_sensitive attribute", 0, OrderFilters::sort),
                Callee.of("dictsort", "case_sensitive by reverse", 0, OrderFilters::dictsort),
                Callee.of("unique", "case_sensitive attribute", 0, OrderFilters::unique),
                Callee.of("min", "case_sensitive attribute", 0, (target, arguments, context) ->
                        OrderFilters.extreme(target, arguments, true, context)),
                Callee.of("max", "case_sensitive attribute", 0, (target, arguments, context) ->
                        OrderFilters.extreme(target, arguments, false, context)),
                Callee.of("sum", "attribute start", 0, OrderFilters::sum),
                Callee.open("map", ListFilters::map),
                Callee.open("select", (target, given, context) -> chosen(target, given, false, true, context)),
                Callee.open("reject", (target, given, context) -> chosen(target, given, false, false, context)),
                Callee.open("selectattr", (target, given, context) -> chosen(target, given, true, true, context)),
                Callee.open("rejectattr", (target, given, context) -> chosen(target, given, true, false, context)));
    }

    private static Value first(Value target, RenderContext context) {
        Iterator<Value> items = target instanceof Value.Generator(Iterator<Value> left) ? left
                : target instanceof Text text && !text.isEmpty() ? List.<Value>of(text.codePoints(0, 1)).iterator()
                : Operators.items(target, context).iterator();
        return items.hasNext() ? items.next() : new Value.Undefined("No first item, sequence was empty.");
    }

    private static Value last(Value target, RenderContext context) {
        if (target instanceof Value.Generator) {
            throw context.wrong("'generator' object is not reversible");
        }
        List<Value> items = Operators.items(target, context);
        return items.isEmpty() ? new Value.Undefined("No last item, sequence was empty.") : items.getLast();
    }

    private static Value reversed(Value target, RenderContext context) {
        return switch (target) {
            case Text _ -> Access.slice(target, null, null, new Value.Int(-1), context);
            case Value.Generator _ -> Value.list(Operators.items(target, context).reversed());
            default -> new Value.Generator(Operators.items(target, context).reversed().iterator());
        };
    }

    private static Value items(Value target, RenderContext context) {
        return target instanceof Value.Undefined ? LazyItems.none() : LazyItems.of(
                () -> Operators.items(Methods.items(target, context), context).iterator(), context, item -> item);
    }

    /** @param arguments d, attribute */
    private static Value join(Value target, Arguments arguments, RenderContext context) {
        UnaryOperator<Value> attribute = Attributes.getter(arguments.get(1), null, context);
        List<Value> items = Operators.items(target, context).stream().map(attribute).toList();
        return TextMethods.join(PythonText.of(arguments.or(0, Text.EMPTY), context), items, context);
    }

    /** As by a dot, but never a key. */
    private static Value attribute(Value target, Arguments arguments, RenderContext context) {
        String name = arguments.string(0, "", context);
        if (target instanceof Value.Dict) {
            Callee method = Methods.named(name);
            return method != null && method.owns().test(target) ? new Value.Method(target, method)
                    : new Value.Undefined("'dict' has no attribute '" + name + "'");
        }
        return Access.attribute(target, name, Methods.named(name), context);
    }

    /** @param arguments the name of a filter and its arguments, or attribute and default */
    private static Value map(Value target, Arguments arguments, RenderContext context) {
        return Operators.truth(target) ? LazyItems.of(target, context, change(arguments, context)::apply)
                : LazyItems.none();
    }

    private static UnaryOperator<Value> change(Arguments arguments, RenderContext context) {
        List<Value> positional = arguments.positional();
        List<Text> names = arguments.givenNames();
        List<Value> named = arguments.named();
        int attributeAt = names.indexOf(Text.trusted("attribute"));
        if (positional.isEmpty() && attributeAt >= 0) {
            int defaultAt = names.indexOf(Text.trusted("default"));
            if (names.size() > (defaultAt >= 0 ? 2 : 1)) {
                throw context.wrong("'map' takes attribute and default, or a filter");
            }
            @Nullable Value otherwise = defaultAt < 0 || named.get(defaultAt) instanceof Value.None
                    ? null : named.get(defaultAt);
            return Attributes.getter(named.get(attributeAt), otherwise, context);
        }
        if (positional.isEmpty()) {
            throw context.wrong("map requires a filter argument");
        }
        Callee filter = Builtins.filter(PythonText.of(positional.getFirst(), context).chars());
        List<Value> rest = positional.subList(1, positional.size());
        return item -> filter.call(item, rest, names, named, context);
    }

    /** @param arguments an attribute if it is looked at, the name of a test and its arguments; no test: the truth */
    private static Value chosen(
            Value target, Arguments arguments, boolean byAttribute, boolean wanted, RenderContext context) {
        if (!Operators.truth(target)) {
            return LazyItems.none();
        }
        List<Value> positional = arguments.positional();
        if (byAttribute && positional.isEmpty()) {
            throw context.wrong("Missing parameter for attribute name");
        }
        UnaryOperator<Value> looked = byAttribute ? Attributes.getter(positional.getFirst(), null, context)
                : UnaryOperator.identity();
        int testAt = byAttribute ? 1 : 0;
        if (positional.size() <= testAt) {
            return LazyItems.of(target, context, item -> Operators.truth(looked.apply(item)) == wanted ? item : null);
        }
        Callee test = Builtins.test(PythonText.of(positional.get(testAt), context).chars());
        List<Value> rest = positional.subList(testAt + 1, positional.size());
        List<Text> names = arguments.givenNames();
        List<Value> named = arguments.named();
        return LazyItems.of(target, context, item -> {
            Value answer = test.call(looked.apply(item), rest, names, named, context);
            return Operators.truth(answer) == wanted ? item : null;
        });
    }
}
