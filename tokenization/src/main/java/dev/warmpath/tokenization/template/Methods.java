package dev.warmpath.tokenization.template;

import dev.warmpath.tokenization.template.Callee.Arguments;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.IntPredicate;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * Everything that a string, a dict, a list or {@code loop} can be asked, by name, with Python's parameters. What would
 * change a list or a dict is forbidden, as in Jinja's sandbox; what nobody has written is known and fails if called.
 */
final class Methods {
    private static final Map<String, Callee> ALL = new HashMap<>();
    private static final Predicate<Value> TEXT = Text.class::isInstance;
    private static final Predicate<Value> DICT = Value.Dict.class::isInstance;
    private static final Predicate<Value> SEQUENCE = Value.Sequence.class::isInstance;
    private static final Predicate<Value> LOOP = Value.Loop.class::isInstance;

    @FunctionalInterface
    private interface TextBody {
        Value call(Text target, Arguments arguments, RenderContext context);
    }

    static {
        cutting();
        finding();
        changing();
        asking();
        dicts();
        sequences();
        forbidden(DICT, "dict", "clear pop popitem setdefault update");
        forbidden(SEQUENCE, "list", "append extend insert remove reverse sort");
        for (String name : List.of("encode", "expandtabs", "format_map", "isidentifier", "isprintable", "istitle",
                "maketrans", "translate")) {
            add(Callee.unknown("the method '" + name + "'"), name, TEXT);
        }
        add(Callee.unknown("the method 'fromkeys'"), "fromkeys", DICT);
        add(Callee.unknown("the method 'changed'"), "changed", LOOP);
        add(Callee.open("cycle", Methods::cycle), "cycle", LOOP);
    }

    private Methods() {}

    /** The method by this name of those that have one, or null; whether a value does, {@link Callee#owns} tells. */
    static @Nullable Callee named(String name) {
        return ALL.get(name);
    }

    private static void add(Callee callee, String name, Predicate<Value> owners) {
        @Nullable Callee other = ALL.get(name);
        ALL.put(name, (other == null ? callee : either(other, callee)).ownedBy(
                other == null ? owners : other.owns().or(owners)));
    }

    /** Two methods of one name and as many parameters: {@code index}, {@code count}. */
    private static Callee either(Callee one, Callee other) {
        return new Callee(one.name(), one.parameters(), one.required(), one.open(), one.owns(),
                (target, arguments, context) -> (one.owns().test(target) ? one : other).body()
                        .call(target, arguments, context));
    }

    private static void text(String name, String parameters, int required, TextBody body) {
        add(Callee.of(name, parameters, required,
                (target, arguments, context) -> body.call((Text) target, arguments, context)), name, TEXT);
    }

    private static void forbidden(Predicate<Value> owners, String type, String names) {
        for (String name : names.split(" ")) {
            add(Callee.open(name, (_, _, context) -> {
                throw context.wrong("access to attribute '" + name + "' of '" + type + "' object is unsafe.");
            }), name, owners);
        }
    }

    private static void cutting() {
        text("strip", "chars", 0, (text, given, context) -> TextMethods.strip(text, given, true, true, context));
        text("lstrip", "chars", 0, (text, given, context) -> TextMethods.strip(text, given, true, false, context));
        text("rstrip", "chars", 0, (text, given, context) -> TextMethods.strip(text, given, false, true, context));
        text("removeprefix", "prefix", 1, (text, given, context) -> TextMethods.removed(text, given, true, context));
        text("removesuffix", "suffix", 1, (text, given, context) -> TextMethods.removed(text, given, false, context));
        text("split", "sep maxsplit", 0, (text, given, context) -> TextMethods.split(text, given, true, context));
        text("rsplit", "sep maxsplit", 0, (text, given, context) -> TextMethods.split(text, given, false, context));
        text("splitlines", "keepends", 0, TextMethods::splitLines);
        text("partition", "sep", 1, (text, given, context) -> TextMethods.partition(text, given, true, context));
        text("rpartition", "sep", 1, (text, given, context) -> TextMethods.partition(text, given, false, context));
    }

    private static void finding() {
        text("startswith", "prefix start end", 1,
                (text, given, context) -> TextMethods.begins(text, given, true, context));
        text("endswith", "suffix start end", 1,
                (text, given, context) -> TextMethods.begins(text, given, false, context));
        text("find", "sub start end", 1, (text, given, context) ->
                new Value.Int(TextMethods.find(text, given, true, context)));
        text("rfind", "sub start end", 1, (text, given, context) ->
                new Value.Int(TextMethods.find(text, given, false, context)));
        text("index", "sub start end", 1, (text, given, context) -> TextMethods.index(text, given, true, context));
        text("rindex", "sub start end", 1, (text, given, context) -> TextMethods.index(text, given, false, context));
        text("count", "sub start end", 1, TextMethods::count);
    }

    private static void changing() {
        text("upper", "", 0, (text, _, context) -> TextCase.upper(text, context));
        text("lower", "", 0, (text, _, context) -> TextCase.lower(text, context));
        text("casefold", "", 0, (text, _, context) -> TextCase.folded(text, context));
        text("title", "", 0, (text, _, context) -> TextCase.title(text, context));
        text("capitalize", "", 0, (text, _, context) -> TextCase.capitalize(text, context));
        text("swapcase", "", 0, (text, _, context) -> TextCase.swapped(text, context));
        text("replace", "old new count", 2, (text, given, context) ->
                TextMethods.replace(text, TextMethods.string(given.get(0), context),
                        TextMethods.string(given.get(1), context), given.get(2), context));
        text("join", "iterable", 1, (text, given, context) ->
                TextMethods.joinStrings(text, Operators.items(given.get(0), context), context));
        text("zfill", "width", 1, TextMethods::zeroFilled);
        text("ljust", "width fillchar", 1, (text, given, context) -> TextMethods.padded(text, given, '<', context));
        text("rjust", "width fillchar", 1, (text, given, context) -> TextMethods.padded(text, given, '>', context));
        text("center", "width fillchar", 1, (text, given, context) -> TextMethods.padded(text, given, '^', context));
        add(Callee.open("format", Methods::format), "format", TEXT);
    }

    private static Value format(Value target, Arguments arguments, RenderContext context) {
        var named = new HashMap<String, Value>();
        List<Text> names = arguments.givenNames();
        for (int i = 0; i < names.size(); i++) {
            named.put(names.get(i).chars(), arguments.named().get(i));
        }
        return new BraceFormat(arguments.positional(), named, context).format((Text) target);
    }

    private static void asking() {
        all("isalpha", Character::isLetter);
        all("isdigit", Character::isDigit);
        all("isdecimal", Character::isDigit);
        all("isnumeric", TextCase::isNumeric);
        all("isalnum", codePoint -> Character.isLetter(codePoint) || TextCase.isNumeric(codePoint));
        all("isspace", Text::isSpace);
        text("isascii", "", 0, (text, _, context) -> {
            context.read(text.chars().length());
            return Value.bool(text.chars().chars().allMatch(c -> c < 128));
        });
        text("isupper", "", 0, (text, _, context) -> Value.bool(TextCase.isAll(text, Character::isUpperCase, context)));
        text("islower", "", 0, (text, _, context) -> Value.bool(TextCase.isAll(text, Character::isLowerCase, context)));
    }

    private static void all(String name, IntPredicate holds) {
        text(name, "", 0, (text, _, context) -> {
            context.read(text.chars().length());
            return Value.bool(!text.isEmpty() && text.chars().codePoints().allMatch(holds));
        });
    }

    private static void dicts() {
        dict("get", "key default", 1, (entries, given, context) -> {
            @Nullable Value found = entries.get(Operators.key(given.get(0), context));
            return found != null ? found : given.get(1);
        });
        add(Callee.of("items", "", 0, (target, _, context) -> items(target, context)), "items", DICT);
        dict("keys", "", 0, (entries, _, context) -> {
            context.items(entries.size());
            return Value.list(List.copyOf(entries.keySet()));
        });
        dict("values", "", 0, (entries, _, context) -> {
            context.items(entries.size());
            return Value.list(List.copyOf(entries.values()));
        });
        add(Callee.of("copy", "", 0, (target, _, _) -> target), "copy", DICT.or(SEQUENCE));
    }

    @FunctionalInterface
    private interface DictBody {
        Value call(Map<Value, Value> entries, Arguments arguments, RenderContext context);
    }

    private static void dict(String name, String parameters, int required, DictBody body) {
        add(Callee.of(name, parameters, required, (target, arguments, context) ->
                body.call(((Value.Dict) target).entries(), arguments, context)), name, DICT);
    }

    /** Pairs of a dict. */
    static Value items(Value dict, RenderContext context) {
        if (!(dict instanceof Value.Dict(Map<Value, Value> entries))) {
            throw context.wrong("Can only get item pairs from a mapping.");
        }
        context.items(2L * entries.size());
        var pairs = new ArrayList<Value>(entries.size());
        entries.forEach((key, value) -> pairs.add(Value.tuple(List.of(key, value))));
        return Value.list(pairs);
    }

    private static void sequences() {
        add(Callee.of("index", "value start stop", 1, Methods::place), "index", SEQUENCE);
        add(Callee.of("count", "value start stop", 1, (target, given, context) -> {
            int count = 0;
            for (Value item : ((Value.Sequence) target).items()) {
                count += Operators.equal(item, given.get(0), context) ? 1 : 0;
            }
            return new Value.Int(count);
        }), "count", SEQUENCE);
    }

    private static Value place(Value target, Arguments given, RenderContext context) {
        List<Value> items = ((Value.Sequence) target).items();
        int from = place(given.integer(1, 0, context), items.size());
        int to = place(given.integer(2, items.size(), context), items.size());
        for (int i = from; i < to; i++) {
            if (Operators.equal(items.get(i), given.get(0), context)) {
                return new Value.Int(i);
            }
        }
        throw context.wrong("the value is not in the list");
    }

    /** From the end if it is negative, and within. */
    static int place(long given, int length) {
        return Math.clamp(given < 0 ? given + length : given, 0, length);
    }

    private static Value cycle(Value target, Arguments arguments, RenderContext context) {
        if (arguments.values().isEmpty()) {
            throw context.wrong("no items for cycling given");
        }
        return arguments.get(((Value.Loop) target).index0() % arguments.values().size());
    }
}
