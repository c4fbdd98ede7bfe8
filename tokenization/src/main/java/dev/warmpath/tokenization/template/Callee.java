package dev.warmpath.tokenization.template;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * A filter, test, function or method.
 *
 * @param required how many of the first parameters must be given
 * @param open     takes any number of arguments, named ones too, and has no parameters
 * @param owns     of a method: whether such a value has it
 */
record Callee(String name, List<String> parameters, int required, boolean open, Predicate<Value> owns, Body body) {
    @FunctionalInterface
    interface Body {
        /** @param target what is filtered, tested or owns the method; None for a function */
        Value call(Value target, Arguments arguments, RenderContext context);
    }

    /**
     * Evaluated arguments.
     *
     * @param values one per parameter, null where not given; for an open callee as many as given
     * @param names  for an open callee one per value, null for a positional one; else empty
     */
    record Arguments(List<@Nullable Value> values, List<@Nullable Text> names) {
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

        boolean flag(int index) {
            return isGiven(index) && Operators.truth(get(index));
        }

        /** None, too, is the default. */
        String string(int index, String otherwise, RenderContext context) {
            return isGiven(index) && !(get(index) instanceof Value.None)
                    ? PythonText.of(get(index), context).chars() : otherwise;
        }

        /** None, too, is the default. */
        long integer(int index, long otherwise, RenderContext context) {
            return isGiven(index) && !(get(index) instanceof Value.None)
                    ? Operators.integer(get(index), context) : otherwise;
        }

        /** Of an open callee: the positional ones. */
        List<Value> positional() {
            var positional = new ArrayList<Value>();
            for (int i = 0; i < values.size(); i++) {
                if (names.get(i) == null) {
                    positional.add(get(i));
                }
            }
            return positional;
        }

        /** Of an open callee: the named ones, without their names. */
        List<Value> named() {
            var named = new ArrayList<Value>();
            for (int i = 0; i < values.size(); i++) {
                if (names.get(i) != null) {
                    named.add(get(i));
                }
            }
            return named;
        }

        /** Of an open callee: those that are given, in the order of {@link #named}. */
        List<Text> givenNames() {
            var given = new ArrayList<Text>();
            for (@Nullable Text name : names) {
                if (name != null) {
                    given.add(name);
                }
            }
            return given;
        }
    }

    /** Arguments that do not fit what is called; whoever knows the line tells it. */
    static final class Unfit extends Exception {
        private static final long serialVersionUID = 1L;

        Unfit(String message) {
            super(message, null, false, false);
        }
    }

    static Callee of(String name, String parameters, int required, Body body) {
        return new Callee(name, parameters.isEmpty() ? List.of() : List.of(parameters.split(" ")), required,
                /* open */ false, _ -> true, body);
    }

    /** One that does whatever it is given. */
    static Callee open(String name, Body body) {
        return new Callee(name, List.of(), 0, /* open */ true, _ -> true, body);
    }

    /** One that nobody has written. */
    static Callee unknown(String what) {
        return open(what, (_, _, context) -> {
            throw context.unsupported(what);
        });
    }

    /** Only of such values. */
    Callee ownedBy(Predicate<Value> owners) {
        return new Callee(name, parameters, required, open, owners, body);
    }

    /**
     * Puts each argument at its parameter's place.
     *
     * @return one per parameter, null where none was given; of an open callee all, positional ones first
     */
    <T> List<@Nullable T> placed(List<T> positional, List<Text> names, List<T> named) throws Unfit {
        if (open) {
            var all = new ArrayList<@Nullable T>(positional);
            all.addAll(named);
            return all;
        }
        if (positional.size() > parameters.size()) {
            throw new Unfit("'" + name + "' takes " + parameters.size() + " arguments, not " + positional.size());
        }
        List<@Nullable T> placed = new ArrayList<>(Collections.nCopies(parameters.size(), null));
        for (int i = 0; i < positional.size(); i++) {
            placed.set(i, positional.get(i));
        }
        for (int i = 0; i < names.size(); i++) {
            int place = parameters.indexOf(names.get(i).chars());
            if (place < 0 || placed.get(place) != null) {
                throw new Unfit("'" + name + "' takes no argument '" + names.get(i) + "'");
            }
            placed.set(place, named.get(i));
        }
        for (int i = 0; i < required; i++) {
            if (placed.get(i) == null) {
                throw new Unfit("'" + name + "' needs '" + parameters.get(i) + "'");
            }
        }
        return placed;
    }

    /** Of an open callee: which of what is {@link #placed} is named how. */
    List<@Nullable Text> namesOf(int positionalCount, List<Text> names) {
        if (!open) {
            return List.of();
        }
        List<@Nullable Text> all = new ArrayList<>(Arrays.asList(new @Nullable Text[positionalCount]));
        all.addAll(names);
        return all;
    }

    /** @param target as of {@link Body#call} */
    Value call(Value target, List<Value> positional, List<Text> names, List<Value> named, RenderContext context) {
        try {
            return body.call(target,
                    new Arguments(placed(positional, names, named), namesOf(positional.size(), names)), context);
        } catch (Unfit e) {
            throw context.wrong(String.valueOf(e.getMessage()));
        }
    }
}
