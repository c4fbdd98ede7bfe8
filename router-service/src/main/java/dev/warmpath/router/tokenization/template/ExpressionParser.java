package dev.warmpath.router.tokenization.template;

import dev.warmpath.router.tokenization.template.Token.Kind;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Reads expressions with the precedence of Jinja 3: inline if, or, and, not, comparison, + -, ~, * / // %, **, sign,
 * then attributes, calls, filters and tests. Note that {@code ~} binds tighter than {@code +}, and a filter tighter
 * than any operator but the sign.
 */
final class ExpressionParser {
    private static final int MAX_DEPTH = 100;
    private static final Set<String> COMPARISONS = Set.of("==", "!=", "<", "<=", ">", ">=");

    private final TokenCursor cursor;
    private final CallParser calls;
    private final Set<String> macros;
    private int depth;

    ExpressionParser(TokenCursor cursor, Set<String> macros) {
        this.cursor = cursor;
        calls = new CallParser(cursor, this::expression);
        this.macros = macros;
    }

    /** One expression, or several with commas, which make a tuple. */
    Expression tuple(boolean withConditional) {
        Expression first = withConditional ? expression() : or();
        if (!cursor.isNext(Kind.OPERATOR, ",")) {
            return first;
        }
        var items = new ArrayList<>(List.of(first));
        while (cursor.skip(Kind.OPERATOR, ",") && !endsTuple()) {
            items.add(withConditional ? expression() : or());
        }
        return new Expression.ListOf(items, true);
    }

    private boolean endsTuple() {
        return switch (cursor.peek().kind()) {
            case OUTPUT_END, TAG_END -> true;
            case OPERATOR -> cursor.peek().text().equals(")");
            default -> false;
        };
    }

    Expression expression() {
        if (++depth > MAX_DEPTH) {
            throw cursor.wrong("an expression is nested deeper than " + MAX_DEPTH);
        }
        Expression value = or();
        while (cursor.skip(Kind.NAME, "if")) {
            Expression condition = or();
            @Nullable Expression otherwise = cursor.skip(Kind.NAME, "else") ? expression() : null;
            value = new Expression.Conditional(condition, value, otherwise);
        }
        depth--;
        return value;
    }

    private Expression or() {
        Expression left = and();
        while (cursor.skip(Kind.NAME, "or")) {
            left = new Expression.Or(left, and());
        }
        return left;
    }

    private Expression and() {
        Expression left = not();
        while (cursor.skip(Kind.NAME, "and")) {
            left = new Expression.And(left, not());
        }
        return left;
    }

    private Expression not() {
        int nots = 0;
        while (cursor.skip(Kind.NAME, "not")) {
            nots++;
        }
        Expression operand = comparison();
        // an even number of nots is still a bool
        return nots == 0 ? operand : nots % 2 == 1 ? new Expression.Not(operand)
                : new Expression.Not(new Expression.Not(operand));
    }

    private Expression comparison() {
        int line = cursor.peek().line();
        Expression first = sum();
        var operators = new ArrayList<String>();
        var operands = new ArrayList<Expression>();
        while (true) {
            if (cursor.peek().kind() == Kind.OPERATOR && COMPARISONS.contains(cursor.peek().text())) {
                operators.add(cursor.next().text());
            } else if (cursor.skip(Kind.NAME, "in")) {
                operators.add("in");
            } else if (cursor.skip(Kind.NAME, "not")) {
                cursor.expect(Kind.NAME, "in");
                operators.add("not in");
            } else {
                return operators.isEmpty() ? first : new Expression.Comparison(first, operators, operands, line);
            }
            operands.add(sum());
        }
    }

    private Expression sum() {
        Expression left = concatenation();
        while (isOperator("+", "-")) {
            Token operator = cursor.next();
            left = new Expression.Arithmetic(operator.text(), left, concatenation(), operator.line());
        }
        return left;
    }

    private Expression concatenation() {
        Expression first = product();
        if (!isOperator("~")) {
            return first;
        }
        var parts = new ArrayList<>(List.of(first));
        while (cursor.skip(Kind.OPERATOR, "~")) {
            parts.add(product());
        }
        return new Expression.Concatenation(parts);
    }

    private Expression product() {
        Expression left = power();
        while (isOperator("*", "/", "//", "%")) {
            Token operator = cursor.next();
            left = new Expression.Arithmetic(operator.text(), left, power(), operator.line());
        }
        return left;
    }

    private Expression power() {
        Expression left = signed(true);
        while (isOperator("**")) {
            Token operator = cursor.next();
            left = new Expression.Arithmetic("**", left, signed(true), operator.line());
        }
        return left;
    }

    private Expression signed(boolean withFilters) {
        if (++depth > MAX_DEPTH) {
            throw cursor.wrong("an expression is nested deeper than " + MAX_DEPTH);
        }
        Expression value;
        if (isOperator("-", "+")) {
            Token sign = cursor.next();
            value = new Expression.Signed(signed(false), sign.text().equals("-"), sign.line());
        } else {
            value = primary();
        }
        value = postfix(value);
        depth--;
        return withFilters ? filters(value) : value;
    }

    private Expression primary() {
        Token token = cursor.next();
        return switch (token.kind()) {
            case NAME -> name(token);
            case STRING -> strings(token);
            case INTEGER -> integer(token);
            case FLOAT -> new Expression.Constant(new Value.Float(Double.parseDouble(token.text())));
            case OPERATOR -> switch (token.text()) {
                case "(" -> parenthesis();
                case "[" -> new Expression.ListOf(list(), false);
                case "{" -> dict();
                default -> throw cursor.unexpected(token);
            };
            default -> throw cursor.unexpected(token);
        };
    }

    private Expression name(Token token) {
        return switch (token.text()) {
            case "true", "True" -> new Expression.Constant(Value.TRUE);
            case "false", "False" -> new Expression.Constant(Value.FALSE);
            case "none", "None" -> new Expression.Constant(Value.NONE);
            default -> isOperator("(") ? call(token) : new Expression.Name(token.text());
        };
    }

    private Expression strings(Token first) {
        var value = new StringBuilder(first.text());
        while (cursor.peek().kind() == Kind.STRING) {
            value.append(cursor.next().text());
        }
        return new Expression.Constant(Text.trusted(value.toString()));
    }

    private Expression integer(Token token) {
        try {
            return new Expression.Constant(new Value.Int(Long.parseLong(token.text())));
        } catch (NumberFormatException e) {
            throw cursor.unsupported(token, "an integer of more than 64 bits");
        }
    }

    private Expression parenthesis() {
        if (cursor.skip(Kind.OPERATOR, ")")) {
            return new Expression.ListOf(List.of(), true);
        }
        Expression value = tuple(true);
        cursor.expect(Kind.OPERATOR, ")");
        return value;
    }

    private List<Expression> list() {
        var items = new ArrayList<Expression>();
        while (!cursor.skip(Kind.OPERATOR, "]")) {
            if (!items.isEmpty()) {
                cursor.expect(Kind.OPERATOR, ",");
                if (cursor.skip(Kind.OPERATOR, "]")) {
                    break;
                }
            }
            items.add(expression());
        }
        return items;
    }

    private Expression dict() {
        var keys = new ArrayList<Expression>();
        var values = new ArrayList<Expression>();
        while (!cursor.skip(Kind.OPERATOR, "}")) {
            if (!keys.isEmpty()) {
                cursor.expect(Kind.OPERATOR, ",");
                if (cursor.skip(Kind.OPERATOR, "}")) {
                    break;
                }
            }
            keys.add(expression());
            cursor.expect(Kind.OPERATOR, ":");
            values.add(expression());
        }
        return new Expression.DictOf(keys, values);
    }

    private Expression postfix(Expression base) {
        Expression value = base;
        while (true) {
            Token token = cursor.peek();
            if (cursor.skip(Kind.OPERATOR, ".")) {
                value = attribute(value, cursor.next());
            } else if (cursor.skip(Kind.OPERATOR, "[")) {
                value = subscript(value, token.line());
            } else if (isOperator("(")) {
                throw cursor.unsupported(token, "a call of something other than a function, method or macro");
            } else {
                return value;
            }
        }
    }

    private Expression attribute(Expression base, Token name) {
        if (name.kind() == Kind.INTEGER) {
            return new Expression.Item(base, integer(name), name.line());
        }
        if (name.kind() != Kind.NAME) {
            throw cursor.unexpected(name);
        }
        if (!isOperator("(")) {
            return new Expression.Attribute(base, name.text(), name.line());
        }
        Builtins.Callee method = Builtins.METHODS.get(name.text());
        if (method == null) {
            throw cursor.unsupported(name, "the method '" + name.text() + "'");
        }
        cursor.next();
        return calls.bind(method, base, calls.arguments(), name);
    }

    private Expression subscript(Expression base, int line) {
        @Nullable Expression start = null;
        if (!isOperator(":")) {
            start = expression();
            if (cursor.skip(Kind.OPERATOR, "]")) {
                return new Expression.Item(base, start, line);
            }
        }
        cursor.expect(Kind.OPERATOR, ":");
        @Nullable Expression stop = isOperator(":", "]") ? null : expression();
        @Nullable Expression step = cursor.skip(Kind.OPERATOR, ":") && !isOperator("]") ? expression() : null;
        cursor.expect(Kind.OPERATOR, "]");
        return new Expression.Slice(base, start, stop, step, line);
    }

    private Expression call(Token name) {
        Builtins.Callee function = Builtins.FUNCTIONS.get(name.text());
        if (function == null && !macros.contains(name.text())) {
            throw cursor.unsupported(name, "the function '" + name.text() + "'");
        }
        cursor.next();
        CallParser.Arguments arguments = calls.arguments();
        return function != null && !macros.contains(name.text()) ? calls.bind(function, null, arguments, name)
                : new Expression.MacroCall(name.text(), arguments.positional, arguments.names, arguments.named,
                        name.line());
    }

    private Expression filters(Expression base) {
        Expression value = base;
        while (true) {
            if (cursor.skip(Kind.OPERATOR, "|")) {
                Token name = cursor.expectName();
                Builtins.Callee filter = Builtins.FILTERS.get(name.text());
                if (filter == null) {
                    throw cursor.unsupported(name, "the filter '" + name.text() + "'");
                }
                boolean hasArguments = cursor.skip(Kind.OPERATOR, "(");
                value = calls.bind(filter, value, hasArguments ? calls.arguments() : new CallParser.Arguments(), name);
            } else if (cursor.skip(Kind.NAME, "is")) {
                value = test(value);
            } else {
                return value;
            }
        }
    }

    private Expression test(Expression base) {
        boolean negated = cursor.skip(Kind.NAME, "not");
        Token name = cursor.expectName();
        Builtins.Callee test = Builtins.TESTS.get(name.text());
        if (test == null) {
            throw cursor.unsupported(name, "the test '" + name.text() + "'");
        }
        var arguments = new CallParser.Arguments();
        if (cursor.skip(Kind.OPERATOR, "(")) {
            arguments = calls.arguments();
        } else if (!test.parameters().isEmpty()) {
            arguments.positional.add(postfix(primary()));
        }
        Expression call = calls.bind(test, base, arguments, name);
        return negated ? new Expression.Not(call) : call;
    }

    private boolean isOperator(String... texts) {
        return cursor.isOperator(texts);
    }
}
