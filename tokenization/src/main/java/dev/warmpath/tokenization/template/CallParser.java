package dev.warmpath.tokenization.template;

import dev.warmpath.tokenization.template.Expression.CallArguments;
import dev.warmpath.tokenization.template.Token.Kind;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** Reads the arguments of a call and puts each at its parameter's place, where it is known what will be called. */
final class CallParser {
    private final TokenCursor cursor;
    private final Supplier<Expression> expression;

    /** @param expression reads one expression from the cursor */
    CallParser(TokenCursor cursor, Supplier<Expression> expression) {
        this.cursor = cursor;
        this.expression = expression;
    }

    /** The arguments of a call; its opening parenthesis has been read. */
    CallArguments arguments() {
        var positional = new ArrayList<Expression>();
        var names = new ArrayList<Text>();
        var named = new ArrayList<Expression>();
        @Nullable Expression spread = null;
        @Nullable Expression spreadNamed = null;
        boolean first = true;
        while (!cursor.skip(Kind.OPERATOR, ")")) {
            if (!first) {
                cursor.expect(Kind.OPERATOR, ",");
                if (cursor.skip(Kind.OPERATOR, ")")) {
                    break;
                }
            }
            first = false;
            if (spread == null && spreadNamed == null && cursor.skip(Kind.OPERATOR, "*")) {
                spread = expression.get();
            } else if (spreadNamed == null && cursor.skip(Kind.OPERATOR, "**")) {
                spreadNamed = expression.get();
            } else if (cursor.isNamedArgument() && spreadNamed == null) {
                names.add(Text.trusted(cursor.expectName().text()));
                cursor.expect(Kind.OPERATOR, "=");
                named.add(expression.get());
            } else if (names.isEmpty() && spread == null && spreadNamed == null) {
                positional.add(expression.get());
            } else {
                throw cursor.wrong("a positional argument follows a named one");
            }
        }
        return new CallArguments(positional, names, named, spread, spreadNamed);
    }

    /** A call of a filter, test or function; one that cannot be made fails if it is reached. */
    Expression bind(Callee callee, @Nullable Expression target, CallArguments given, Token name) {
        if (given.isSpread()) {
            return new Expression.Failure(TemplateException.Kind.UNSUPPORTED,
                    "'*' before an argument of '" + name.text() + "' is not supported", name.line());
        }
        try {
            return bound(callee, target, given, null, name.line());
        } catch (Callee.Unfit e) {
            return new Expression.Failure(
                    TemplateException.Kind.EVALUATION, String.valueOf(e.getMessage()), name.line());
        }
    }

    /** A call of a function, unless the template has a variable of its name. */
    Expression bindFunction(Callee function, Expression.Name variable, CallArguments given, Token name) {
        return boundOr(function, null, given, new Expression.Invocation(variable, given, name.line()));
    }

    /** A call of a method, which the owner has, or not. */
    Expression bindMethod(@Nullable Callee method, Expression owner, CallArguments given, Token name) {
        var attribute = new Expression.Attribute(owner, name.text(), method, name.line());
        var anything = new Expression.Invocation(attribute, given, name.line());
        return method == null ? anything : boundOr(method, owner, given, anything);
    }

    private static Expression boundOr(Callee callee, @Nullable Expression target, CallArguments given,
            Expression.Invocation otherwise) {
        if (given.isSpread()) {
            return otherwise;
        }
        try {
            return bound(callee, target, given, otherwise, otherwise.line());
        } catch (Callee.Unfit e) {
            return otherwise;                                    // which fails alike, should it be this callee
        }
    }

    private static Expression.Call bound(Callee callee, @Nullable Expression target, CallArguments given,
            Expression.@Nullable Invocation otherwise, int line) throws Callee.Unfit {
        List<@Nullable Expression> placed = callee.placed(given.positional(), given.names(), given.named());
        return new Expression.Call(callee, target, placed,
                callee.namesOf(given.positional().size(), given.names()), otherwise, line);
    }
}
