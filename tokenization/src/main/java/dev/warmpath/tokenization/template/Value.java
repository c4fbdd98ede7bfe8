package dev.warmpath.tokenization.template;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** What a template computes with: Python's values, as far as templates see them. {@link Text} is the strings. */
sealed interface Value
        permits Text, Value.Undefined, Value.None, Value.Bool, Value.Int, Value.BigInt, Value.Float, Value.Sequence,
                Value.Dict, Value.Generator, Value.Namespace, Value.Macro, Value.Function, Value.Method, Value.Loop {
    None NONE = new None();
    Bool TRUE = new Bool(true);
    Bool FALSE = new Bool(false);

    /** Jinja's default Undefined: prints as nothing, iterates as empty, and fails with {@code complaint} if used. */
    record Undefined(String complaint) implements Value {}

    record None() implements Value {}

    record Bool(boolean value) implements Value {}

    record Int(long value) implements Value {}

    /** An integer that does not fit in 64 bits; others are {@link Int}. */
    record BigInt(BigInteger value) implements Value {}

    record Float(double value) implements Value {}

    /** A list, or with {@code tuple} a tuple; never changed once made. */
    record Sequence(List<Value> items, boolean tuple) implements Value {}

    /** A dict in insertion order; never changed once made. Keys 1, 1.0 and True are three keys, unlike Python's. */
    record Dict(Map<Value, Value> entries) implements Value {}

    /** What {@code map}, {@code select} and the like make: each item when it is asked for, once. True even if empty. */
    record Generator(Iterator<Value> items) implements Value {}

    /** The one thing a template can change: {@code namespace(...)}. */
    record Namespace(Map<String, Value> fields) implements Value {}

    /** A macro with the scope it was defined in. */
    record Macro(Statement.MacroDefinition definition, Scope scope) implements Value {}

    /** A function of {@link Builtins}, met as a value: {@code strftime_now is defined}. */
    record Function(Callee callee) implements Value {}

    /** A method, met as a value: {@code schema.items}, even where {@code schema} has such a key. */
    record Method(Value owner, Callee callee) implements Value {}

    /** The variable {@code loop}. */
    record Loop(List<Value> items, int index0) implements Value {
        Value field(String name) {
            return switch (name) {
                case "index" -> new Int(index0 + 1);
                case "index0" -> new Int(index0);
                case "revindex" -> new Int(items.size() - index0);
                case "revindex0" -> new Int(items.size() - index0 - 1);
                case "first" -> bool(index0 == 0);
                case "last" -> bool(index0 == items.size() - 1);
                case "length" -> new Int(items.size());
                case "depth" -> new Int(1);
                case "depth0" -> new Int(0);
                case "previtem" -> index0 > 0 ? items.get(index0 - 1) : new Undefined("there is no previous item");
                case "nextitem" ->
                    index0 < items.size() - 1 ? items.get(index0 + 1) : new Undefined("there is no next item");
                default -> new Undefined("'loop' has no attribute '" + name + "'");
            };
        }
    }

    static Bool bool(boolean value) {
        return value ? TRUE : FALSE;
    }

    static Value integer(BigInteger value) {
        return value.bitLength() < Long.SIZE ? new Int(value.longValue()) : new BigInt(value);
    }

    static Sequence list(List<Value> items) {
        return new Sequence(items, false);
    }

    static Sequence tuple(List<Value> items) {
        return new Sequence(items, true);
    }

    /**
     * A value from outside: null, Boolean, Number, String, List and Map of such, at most 64 deep. Strings, keys
     * included, are marked as the client's, and the context is told how long they are.
     */
    static Value of(@Nullable Object object, RenderContext context) {
        return of(object, 0, context);
    }

    private static Value of(@Nullable Object object, int depth, RenderContext context) {
        if (depth > 64) {
            throw context.limit("a value is nested deeper than 64");
        }
        return switch (object) {
            case null -> NONE;
            case Value value -> value;
            case String chars -> {
                context.given(chars.length());
                yield Text.fromClient(chars);
            }
            case Boolean flag -> bool(flag);
            case Integer number -> new Int(number);
            case Long number -> new Int(number);
            case BigInteger number -> integer(number);
            case BigDecimal number -> new Float(number.doubleValue());
            case Number number -> new Float(number.doubleValue());
            case List<?> list -> {
                var items = new ArrayList<Value>(list.size());
                list.forEach(item -> items.add(of(item, depth + 1, context)));
                yield list(items);
            }
            case Map<?, ?> map -> {
                var entries = new LinkedHashMap<Value, Value>();
                map.forEach((key, value) -> entries.put(of(key, depth + 1, context), of(value, depth + 1, context)));
                yield new Dict(entries);
            }
            default -> throw new IllegalArgumentException("no template value for " + object.getClass().getName());
        };
    }
}
