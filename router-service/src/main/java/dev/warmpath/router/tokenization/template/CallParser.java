package dev.warmpath.router.tokenization.template;

import dev.warmpath.router.tokenization.template.Token.Kind;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** Reads the arguments of a call and puts each at its parameter's place, so that a wrong one is refused by name. */
final class CallParser {
    private final TokenCursor cursor;
    private final Supplier<Expression> expression;

    /** @param expression reads one expression from the cursor */
    CallParser(TokenCursor cursor, Supplier<Expression> expression) {
        this.cursor = cursor;
        this.expression = expression;
    }

    /** The arguments of a call; its opening parenthesis has been read. */
    Arguments arguments() {
        var arguments = new Arguments();
        boolean first = true;
        while (!cursor.skip(Kind.OPERATOR, ")")) {
            if (!first) {
                cursor.expect(Kind.OPERATOR, ",");
                if (cursor.skip(Kind.OPERATOR, ")")) {
                    break;
                }
            }
            first = false;
            if (cursor.isOperator("*", "**")) {
                throw cursor.unsupported(cursor.peek(), "'" + cursor.peek().text() + "' before an argument");
            }
            arguments.add(expression.get(), cursor);
            if (cursor.skip(Kind.OPERATOR, "=")) {
                arguments.nameLast(expression.get(), cursor);
            }
        }
        return arguments;
    }

    /** Puts each argument at its parameter's place, or refuses it by name. */
    Expression bind(Builtins.Callee callee, @Nullable Expression target, Arguments given, Token name) {
        if (callee.open()) {
            var all = new ArrayList<@Nullable Expression>(given.positional);
            var names = new ArrayList<@Nullable String>(Collections.nCopies(all.size(), null));
            all.addAll(given.named);
            names.addAll(given.names);
            refuseUnknownFilterOrTest(callee, given, name);
            return new Expression.Call(callee, target, all, names, name.line());
        }
        var bound = new @Nullable Expression[callee.parameters().size()];
        if (given.positional.size() > bound.length) {
            throw cursor.wrongAt(name, "'" + name.text() + "' takes " + bound.length + " arguments, not "
                    + given.positional.size());
        }
        given.positional.toArray(bound);
        for (int i = 0; i < given.names.size(); i++) {
            int place = callee.parameters().indexOf(given.names.get(i));
            if (place < 0 || bound[place] != null) {
                throw cursor.unsupported(name, "the argument '" + given.names.get(i) + "' of '" + name.text() + "'");
            }
            bound[place] = given.named.get(i);
        }
        for (int i = 0; i < callee.required(); i++) {
            if (bound[i] == null) {
                throw cursor.wrongAt(name, "'" + name.text() + "' needs '" + callee.parameters().get(i) + "'");
            }
        }
        return new Expression.Call(callee, target, Arrays.asList(bound), List.of(), name.line());
    }

    /** {@code map('upper')} and {@code selectattr('role', 'eq', 'user')} name their callee in a string. */
    private void refuseUnknownFilterOrTest(Builtins.Callee callee, Arguments given, Token name) {
        boolean namesFilter = callee.name().equals("map");
        int place = namesFilter || callee.name().equals("select") || callee.name().equals("reject") ? 0 : 1;
        if (!callee.namesAnother() || given.positional.size() <= place
                || !(given.positional.get(place) instanceof Expression.Constant(Text inner))) {
            return;
        }
        if (!(namesFilter ? Builtins.FILTERS : Builtins.TESTS).containsKey(inner.chars())) {
            throw cursor.unsupported(name, "the " + (namesFilter ? "filter" : "test") + " '" + inner + "'");
        }
    }

    /** As written: positional ones, then named ones. */
    static final class Arguments {
        final List<Expression> positional = new ArrayList<>();
        final List<String> names = new ArrayList<>();
        final List<Expression> named = new ArrayList<>();

        void add(Expression argument, TokenCursor cursor) {
            positional.add(argument);
            if (!names.isEmpty() && !cursor.isNext(Kind.OPERATOR, "=")) {
                throw cursor.wrong("a positional argument follows a named one");
            }
        }

        /** What was read as the last positional argument is the name of this one. */
        void nameLast(Expression argument, TokenCursor cursor) {
            if (!(positional.removeLast() instanceof Expression.Name name)) {
                throw cursor.wrong("a named argument needs a plain name before '='");
            }
            names.add(name.name());
            named.add(argument);
        }
    }
}
