package dev.warmpath.router.tokenization.template;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Everything a template can call, by name; what is not here is refused when the template is compiled. Names,
 * parameters and defaults are those of Jinja 3.1, and of Hugging Face for {@code tojson}, {@code raise_exception} and
 * {@code strftime_now}.
 */
final class Builtins {
    static final Map<String, Callee> FUNCTIONS = new HashMap<>();
    static final Map<String, Callee> FILTERS = new HashMap<>();
    static final Map<String, Callee> TESTS = new HashMap<>();
    static final Map<String, Callee> METHODS = TextMethods.all();

    /**
     * Something that can be called.
     * @param required how many of the first parameters must be given
     * @param open     takes any number of arguments, named ones too, and has no parameters
     */
    record Callee(String name, List<String> parameters, int required, boolean open, Body body) {
        /** {@code map('upper')}, {@code selectattr('role', 'equalto', 'user')}: a string says what is called. */
        boolean namesAnother() {
            return FILTERS.get(name) == this && open;
        }
    }

    @FunctionalInterface
    interface Body {
        /** @param target what is filtered, tested or owns the method; None for a function */
        Value call(Value target, Arguments arguments, RenderContext context);
    }

    /**
     * Evaluated arguments.
     * @param values one per parameter, null where not given; for an open callee as many as given
     * @param names  for an open callee one per value, null for a positional one; else empty
     */
    record Arguments(List<@Nullable Value> values, List<@Nullable String> names) {
        Value get(int index) {
            return or(index, Value.NONE);
        }

        Value or(int index, Value otherwise) {
            @Nullable Value value = index < values.size() ? values.get(index) : null;
            return value == null ? otherwise : value;
        }

        boolean isGiven(int index) {
            return index < values.size() && values.get(index) != null;
        }

        @Nullable Value named(String name) {
            int place = names.indexOf(name);
            return place < 0 ? null : values.get(place);
        }

        String string(int index, String otherwise, RenderContext context) {
            return isGiven(index) && !(get(index) instanceof Value.None)
                    ? PythonText.of(get(index), context).chars() : otherwise;
        }

        /** The positional arguments from this one on, for a callee named by an earlier one. */
        Arguments from(int index) {
            return new Arguments(values.subList(Math.min(index, values.size()), values.size()), List.of());
        }
    }

    static {
        functions();
        textFilters();
        listFilters();
        tests();
    }

    private Builtins() {}

    static Callee callee(String name, String parameters, int required, Body body) {
        return new Callee(name, parameters.isEmpty() ? List.of() : List.of(parameters.split(" ")), required, false,
                body);
    }

    private static void function(String name, String parameters, int required, Body body) {
        FUNCTIONS.put(name, callee(name, parameters, required, body));
    }

    private static void filter(String name, String parameters, int required, Body body) {
        FILTERS.put(name, callee(name, parameters, required, body));
    }

    private static void test(String name, String parameters, Body body) {
        Callee test = callee(name, parameters, 0, body);
        TESTS.put(name, new Callee(name, test.parameters(), test.parameters().size(), false, body));
    }

    private static void open(Map<String, Callee> family, String name, Body body) {
        family.put(name, new Callee(name, List.of(), 0, true, body));
    }

    private static void functions() {
        function("raise_exception", "message", 1, (_, arguments, context) -> {
            throw context.refused(arguments.string(0, "", context));
        });
        function("range", "start stop step", 1, (_, arguments, context) -> range(arguments, context));
        function("strftime_now", "format", 1,
                (_, arguments, context) -> Strftime.format(text(arguments.get(0), context), context));
        open(FUNCTIONS, "namespace", (_, arguments, context) -> {
            var fields = new HashMap<String, Value>();
            entries(arguments, context).forEach((key, value) -> fields.put(key.toString(), value));
            return new Value.Namespace(fields);
        });
        open(FUNCTIONS, "dict", (_, arguments, context) -> new Value.Dict(entries(arguments, context)));
    }

    private static Value range(Arguments arguments, RenderContext context) {
        boolean onlyStop = !arguments.isGiven(1);
        long start = onlyStop ? 0 : Operators.integer(arguments.get(0), context);
        long stop = Operators.integer(arguments.get(onlyStop ? 0 : 1), context);
        long step = Operators.integer(arguments.or(2, new Value.Int(1)), context);
        if (step == 0) {
            throw context.wrong("the step of a range is zero");
        }
        var items = new ArrayList<Value>();
        for (long i = start; step > 0 ? i < stop : i > stop; i += step) {
            context.steps(1);
            items.add(new Value.Int(i));
        }
        return Value.list(items);
    }

    /** Named arguments, after the entries of one positional dict. */
    private static Map<Value, Value> entries(Arguments arguments, RenderContext context) {
        var entries = new LinkedHashMap<Value, Value>();
        for (int i = 0; i < arguments.values().size(); i++) {
            @Nullable String name = arguments.names().get(i);
            Value value = arguments.get(i);
            if (name != null) {
                entries.put(Text.trusted(name), value);
            } else if (value instanceof Value.Dict(Map<Value, Value> given)) {
                entries.putAll(given);
            } else {
                throw context.wrong("a dict is made from named arguments or a dict, not " + Operators.typeName(value));
            }
        }
        return entries;
    }

    private static void textFilters() {
        filter("trim", "chars", 0, (target, arguments, context) ->
                text(target, context).strip(arguments.string(0, "", context), true, true));
        filter("upper", "", 0, (target, _, context) -> TextMethods.upper(text(target, context), context));
        filter("lower", "", 0, (target, _, context) -> TextMethods.lower(text(target, context), context));
        filter("capitalize", "", 0, (target, _, context) -> TextMethods.capitalize(text(target, context), context));
        filter("replace", "old new count", 2, (target, arguments, context) -> TextMethods.replace(
                text(target, context), text(arguments.get(0), context), text(arguments.get(1), context),
                arguments.get(2), context));
        filter("string", "", 0, (target, _, context) -> text(target, context));
        filter("safe", "", 0, (target, _, context) -> text(target, context));
        filter("tojson", "ensure_ascii indent separators sort_keys", 0,
                (target, arguments, context) -> new JsonText(arguments, context).write(target));
        filter("title", "", 0, (target, _, context) -> TextMethods.titleWords(text(target, context), context));
        filter("indent", "width first blank", 0, (target, arguments, context) -> TextMethods.indent(
                text(target, context), arguments.or(0, new Value.Int(4)), Operators.truth(arguments.or(1, Value.FALSE)),
                Operators.truth(arguments.or(2, Value.FALSE)), context));
        filter("abs", "", 0, (target, _, context) -> Arithmetic.absolute(target, context));
        filter("round", "precision method", 0, (target, arguments, context) -> Arithmetic.rounded(target,
                Operators.integer(arguments.or(0, new Value.Int(0)), context), arguments.string(1, "common", context),
                context));
        filter("float", "default", 0, (target, arguments, _) -> toFloat(target, arguments.or(0, new Value.Float(0))));
        filter("int", "default base", 0, (target, arguments, _) -> toInteger(target, arguments));
        Body otherwise = (target, arguments, _) -> target instanceof Value.Undefined
                || Operators.truth(arguments.or(1, Value.FALSE)) && !Operators.truth(target)
                ? arguments.or(0, Text.EMPTY) : target;
        filter("default", "default_value boolean", 0, otherwise);
        filter("d", "default_value boolean", 0, otherwise);
    }

    private static Text text(Value value, RenderContext context) {
        return PythonText.of(value, context);
    }

    private static Value toInteger(Value value, Arguments arguments) {
        Value otherwise = arguments.or(0, new Value.Int(0));
        try {
            return switch (value) {
                case Value.Int number -> number;
                case Value.Bool(boolean flag) -> new Value.Int(flag ? 1 : 0);
                case Value.Float(double number) when Math.abs(number) < 0x1p63 -> new Value.Int((long) number);
                case Text text -> {
                    String digits = text.strip("", true, true).chars();
                    yield digits.matches("[+-]?\\d+") ? new Value.Int(Long.parseLong(digits))
                            : new Value.Int((long) Double.parseDouble(digits));
                }
                default -> otherwise;
            };
        } catch (NumberFormatException e) {
            return otherwise;
        }
    }

    private static Value toFloat(Value value, Value otherwise) {
        if (Operators.isNumber(value)) {
            return new Value.Float(Operators.real(value));
        }
        if (value instanceof Text text) {
            String digits = text.strip("", true, true).chars();
            return digits.matches("[+-]?(\\d+\\.?\\d*|\\.\\d+)([eE][+-]?\\d+)?")
                    ? new Value.Float(Double.parseDouble(digits)) : otherwise;
        }
        return otherwise;
    }

    private static void listFilters() {
        filter("sort", "reverse case_sensitive attribute", 0, OrderFilters::sort);
        filter("dictsort", "case_sensitive by reverse", 0, OrderFilters::dictsort);
        filter("unique", "case_sensitive attribute", 0, OrderFilters::unique);
        filter("min", "case_sensitive attribute", 0,
                (target, arguments, context) -> OrderFilters.extreme(target, arguments, true, context));
        filter("max", "case_sensitive attribute", 0,
                (target, arguments, context) -> OrderFilters.extreme(target, arguments, false, context));
        filter("sum", "attribute start", 0, OrderFilters::sum);
        Body length = (target, _, context) -> new Value.Int(Operators.length(target, context));
        filter("length", "", 0, length);
        filter("count", "", 0, length);
        filter("first", "", 0, (target, _, context) -> edge(Operators.items(target, context), true));
        filter("last", "", 0, (target, _, context) -> edge(Operators.items(target, context), false));
        filter("list", "", 0, (target, _, context) -> Value.list(Operators.items(target, context)));
        filter("reverse", "", 0, (target, _, context) -> target instanceof Text
                ? Access.slice(target, null, null, new Value.Int(-1), context)
                : Value.list(Operators.items(target, context).reversed()));
        filter("items", "", 0, (target, _, context) -> target instanceof Value.Undefined ? Value.list(List.of())
                : TextMethods.items(target, context));
        filter("join", "d attribute", 0, (target, arguments, context) -> {
            List<Value> items = Operators.items(target, context);
            if (arguments.isGiven(1)) {
                items = items.stream().map(item -> attribute(item, arguments.get(1), context)).toList();
            }
            return TextMethods.join(text(arguments.or(0, Text.EMPTY), context), items, context);
        });
        open(FILTERS, "map", Builtins::map);
        open(FILTERS, "select", (target, arguments, context) -> select(target, arguments, false, true, context));
        open(FILTERS, "reject", (target, arguments, context) -> select(target, arguments, false, false, context));
        open(FILTERS, "selectattr", (target, arguments, context) -> select(target, arguments, true, true, context));
        open(FILTERS, "rejectattr", (target, arguments, context) -> select(target, arguments, true, false, context));
    }

    private static Value edge(List<Value> items, boolean first) {
        return items.isEmpty() ? new Value.Undefined("No " + (first ? "first" : "last") + " item, sequence was empty.")
                : first ? items.getFirst() : items.getLast();
    }

    /** A dotted path of attributes, as {@code selectattr} and {@code map} take it. */
    static Value attribute(Value item, Value path, RenderContext context) {
        if (path instanceof Value.Int) {
            return Access.item(item, path, context);
        }
        Value value = item;
        for (String name : text(path, context).chars().split("\\.")) {
            value = Access.item(value, Text.trusted(name), context);
        }
        return value;
    }

    private static Value map(Value target, Arguments arguments, RenderContext context) {
        @Nullable Value attribute = arguments.named("attribute");
        @Nullable Value otherwise = arguments.named("default");
        @Nullable Callee filter = attribute != null ? null : named(FILTERS, arguments.get(0), "filter", context);
        var mapped = new ArrayList<Value>();
        for (Value item : Operators.items(target, context)) {
            if (filter != null) {
                mapped.add(filter.body().call(item, arguments.from(1), context));
                continue;
            }
            Value value = attribute(item, attribute == null ? Value.NONE : attribute, context);
            mapped.add(value instanceof Value.Undefined && otherwise != null ? otherwise : value);
        }
        return Value.list(mapped);
    }

    private static Value select(
            Value target, Arguments arguments, boolean byAttribute, boolean wanted, RenderContext context) {
        int testAt = byAttribute ? 1 : 0;
        @Nullable Callee test =
                arguments.isGiven(testAt) ? named(TESTS, arguments.get(testAt), "test", context) : null;
        var selected = new ArrayList<Value>();
        for (Value item : Operators.items(target, context)) {
            Value tested = byAttribute ? attribute(item, arguments.get(0), context) : item;
            Value answer = test == null ? tested : test.body().call(tested, arguments.from(testAt + 1), context);
            if (Operators.truth(answer) == wanted) {
                selected.add(item);
            }
        }
        return Value.list(selected);
    }

    private static Callee named(Map<String, Callee> family, Value name, String what, RenderContext context) {
        String chars = text(name, context).chars();
        @Nullable Callee callee = family.get(chars);
        if (callee == null || callee.open()) {
            throw context.unsupported("the " + what + " '" + chars + "' here");
        }
        return callee;
    }

    private static void tests() {
        test("defined", "", (target, _, _) -> Value.bool(!(target instanceof Value.Undefined)));
        test("undefined", "", (target, _, _) -> Value.bool(target instanceof Value.Undefined));
        test("none", "", (target, _, _) -> Value.bool(target instanceof Value.None));
        test("string", "", (target, _, _) -> Value.bool(target instanceof Text));
        test("mapping", "", (target, _, _) -> Value.bool(target instanceof Value.Dict));
        test("iterable", "", (target, _, _) -> Value.bool(isIterable(target)));
        test("sequence", "", (target, _, _) -> Value.bool(isIterable(target)));
        test("number", "", (target, _, _) -> Value.bool(Operators.isNumber(target)));
        test("integer", "", (target, _, _) -> Value.bool(target instanceof Value.Int));
        test("float", "", (target, _, _) -> Value.bool(target instanceof Value.Float));
        test("boolean", "", (target, _, _) -> Value.bool(target instanceof Value.Bool));
        test("true", "", (target, _, _) -> Value.bool(target instanceof Value.Bool(boolean flag) && flag));
        test("false", "", (target, _, _) -> Value.bool(target instanceof Value.Bool(boolean flag) && !flag));
        test("odd", "", (target, _, context) -> Value.bool(Operators.integer(target, context) % 2 != 0));
        test("even", "", (target, _, context) -> Value.bool(Operators.integer(target, context) % 2 == 0));
        test("divisibleby", "num", (target, arguments, context) ->
                Value.bool(!Operators.truth(Arithmetic.apply("%", target, arguments.get(0), context))));
        comparison("==", "eq", "equalto");
        comparison("!=", "ne");
        comparison("<", "lt", "lessthan");
        comparison("<=", "le");
        comparison(">", "gt", "greaterthan");
        comparison(">=", "ge");
        comparison("in", "in");
    }

    private static void comparison(String operator, String... names) {
        for (String name : names) {
            test(name, "other", (target, arguments, context) ->
                    Value.bool(Operators.compare(operator, target, arguments.get(0), context)));
        }
    }

    private static boolean isIterable(Value value) {
        return value instanceof Text || value instanceof Value.Sequence || value instanceof Value.Dict
                || value instanceof Value.Undefined;
    }
}
