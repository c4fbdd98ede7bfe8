package dev.warmpath.tokenization.template;

import dev.warmpath.tokenization.template.Callee.Arguments;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Every function, filter and test of templates, by name; one that is not here fails when it is called. Names,
 * parameters and defaults are those of Jinja 3.1, and of Hugging Face for {@code tojson}, {@code raise_exception} and
 * {@code strftime_now}. {@link Methods} has what values can be asked.
 */
final class Builtins {
    static final Map<String, Callee> FUNCTIONS = new HashMap<>();
    static final Map<String, Callee> FILTERS = new HashMap<>();
    static final Map<String, Callee> TESTS = new HashMap<>();

    static {
        functions();
        ListFilters.all().forEach(filter -> FILTERS.put(filter.name(), filter));
        TextFilters.all().forEach(filter -> FILTERS.put(filter.name(), filter));
        tests();
    }

    private Builtins() {}

    static Callee filter(String name) {
        Callee known = FILTERS.get(name);
        return known != null ? known : Callee.unknown("the filter '" + shown(name) + "'");
    }

    static Callee test(String name) {
        Callee known = TESTS.get(name);
        return known != null ? known : Callee.unknown("the test '" + shown(name) + "'");
    }

    private static String shown(String name) {
        return name.length() <= 100 ? name : name.substring(0, 100) + "…";
    }

    private static void function(String name, String parameters, int required, Callee.Body body) {
        FUNCTIONS.put(name, Callee.of(name, parameters, required, body));
    }

    private static void functions() {
        function("raise_exception", "message", 1, (_, arguments, context) -> {
            throw context.refused(arguments.string(0, "None", context));
        });
        function("range", "start stop step", 1, (_, arguments, context) -> range(arguments, context));
        function("strftime_now", "format", 1,
                (_, arguments, context) -> Strftime.format(TextMethods.string(arguments.get(0), context), context));
        FUNCTIONS.put("namespace", Callee.open("namespace", (_, arguments, context) -> {
            var fields = new HashMap<String, Value>();
            entries(arguments, context).forEach((key, value) -> fields.put(key.toString(), value));
            return new Value.Namespace(fields);
        }));
        FUNCTIONS.put("dict",
                Callee.open("dict", (_, arguments, context) -> new Value.Dict(entries(arguments, context))));
    }

    private static Value range(Arguments arguments, RenderContext context) {
        boolean onlyStop = !arguments.isGiven(1);
        long start = onlyStop ? 0 : Operators.integer(arguments.get(0), context);
        long stop = Operators.integer(arguments.get(onlyStop ? 0 : 1), context);
        long step = Operators.integer(arguments.or(2, new Value.Int(1)), context);
        return Value.list(Range.of(start, stop, step, context));
    }

    /** Named arguments, after the entries of one positional dict or list of pairs. */
    private static Map<Value, Value> entries(Arguments arguments, RenderContext context) {
        var entries = new LinkedHashMap<Value, Value>();
        List<Value> positional = arguments.positional();
        if (positional.size() > 1) {
            throw context.wrong("a dict is made from one dict or list of pairs, not from " + positional.size());
        }
        for (Value given : positional) {
            if (given instanceof Value.Dict(Map<Value, Value> others)) {
                context.entries(others.size());
                entries.putAll(others);
            } else {
                pairs(given, context).forEach((key, value) -> entries.put(Operators.key(key, context), value));
            }
        }
        List<Value> named = arguments.named();
        context.entries(named.size());
        for (int i = 0; i < named.size(); i++) {
            entries.put(arguments.givenNames().get(i), named.get(i));
        }
        return entries;
    }

    private static Map<Value, Value> pairs(Value given, RenderContext context) {
        var pairs = new LinkedHashMap<Value, Value>();
        for (Value item : Operators.items(given, context)) {
            List<Value> pair = Operators.items(item, context);
            if (pair.size() != 2) {
                throw context.wrong("a dict is made from pairs, not from " + pair.size() + " values");
            }
            context.entries(1);
            pairs.put(Operators.key(pair.getFirst(), context), pair.getLast());
        }
        return pairs;
    }

    private static void test(String name, String parameters, Callee.Body body) {
        int required = parameters.isEmpty() ? 0 : parameters.split(" ").length;
        TESTS.put(name, Callee.of(name, parameters, required, body));
    }

    private static void tests() {
        test("defined", "", (target, _, _) -> Value.bool(!(target instanceof Value.Undefined)));
        test("undefined", "", (target, _, _) -> Value.bool(target instanceof Value.Undefined));
        test("none", "", (target, _, _) -> Value.bool(target instanceof Value.None));
        test("string", "", (target, _, _) -> Value.bool(target instanceof Text));
        test("escaped", "", (target, _, _) -> Value.bool(target instanceof Text text && text.isMarkup()));
        test("mapping", "", (target, _, _) -> Value.bool(target instanceof Value.Dict));
        test("iterable", "", (target, _, _) -> Value.bool(isSequence(target) || target instanceof Value.Generator
                || target instanceof Value.Loop));
        test("sequence", "", (target, _, _) -> Value.bool(isSequence(target)));
        test("callable", "", (target, _, _) -> Value.bool(isCallable(target)));
        test("number", "", (target, _, _) -> Value.bool(Operators.isNumber(target)));
        test("integer", "", (target, _, _) ->
                Value.bool(target instanceof Value.Int || target instanceof Value.BigInt));
        test("float", "", (target, _, _) -> Value.bool(target instanceof Value.Float));
        test("boolean", "", (target, _, _) -> Value.bool(target instanceof Value.Bool));
        test("true", "", (target, _, _) -> Value.bool(target instanceof Value.Bool(boolean flag) && flag));
        test("false", "", (target, _, _) -> Value.bool(target instanceof Value.Bool(boolean flag) && !flag));
        test("odd", "", (target, _, context) -> remains(target, new Value.Int(2), 1, context));
        test("even", "", (target, _, context) -> remains(target, new Value.Int(2), 0, context));
        test("divisibleby", "num", (target, arguments, context) -> remains(target, arguments.get(0), 0, context));
        test("lower", "", (target, _, context) ->
                Value.bool(TextCase.isAll(PythonText.of(target, context), Character::isLowerCase, context)));
        test("upper", "", (target, _, context) ->
                Value.bool(TextCase.isAll(PythonText.of(target, context), Character::isUpperCase, context)));
        test("sameas", "other", (target, arguments, _) -> Value.bool(isSame(target, arguments.get(0))));
        test("filter", "", (target, _, _) -> Value.bool(isNameIn(FILTERS, target)));
        test("test", "", (target, _, _) -> Value.bool(isNameIn(TESTS, target)));
        comparison("==", "eq", "equalto", "==");
        comparison("!=", "ne", "!=");
        comparison("<", "lt", "lessthan", "<");
        comparison("<=", "le", "<=");
        comparison(">", "gt", "greaterthan", ">");
        comparison(">=", "ge", ">=");
        comparison("in", "in");
    }

    private static Value remains(Value target, Value divisor, long rest, RenderContext context) {
        Value remainder = Arithmetic.apply("%", target, divisor, context);
        return Value.bool(Operators.equal(remainder, new Value.Int(rest), context));
    }

    private static void comparison(String operator, String... names) {
        for (String name : names) {
            test(name, "other", (target, arguments, context) ->
                    Value.bool(Operators.compare(operator, target, arguments.get(0), context)));
        }
    }

    private static boolean isNameIn(Map<String, Callee> family, Value value) {
        return value instanceof Text name && family.containsKey(name.chars());
    }

    private static boolean isSequence(Value value) {
        return value instanceof Text || value instanceof Value.Sequence || value instanceof Value.Dict
                || value instanceof Value.Undefined;
    }

    private static boolean isCallable(Value value) {
        return value instanceof Value.Macro || value instanceof Value.Function || value instanceof Value.Method
                || value instanceof Value.Undefined;               // which can be called, to say what it is
    }

    /** What Python has one of each, and else the very same. */
    private static boolean isSame(Value one, @Nullable Value other) {
        return one == other || one instanceof Value.None && other instanceof Value.None
                || one instanceof Value.Bool(boolean flag) && other instanceof Value.Bool(boolean otherFlag)
                && flag == otherFlag;
    }
}
