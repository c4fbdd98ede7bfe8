package dev.warmpath.tokenization.template;

import dev.warmpath.tokenization.template.Token.Kind;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.HashSet;
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
    private static final int MAX_DIGITS = 4_300;
    private static final Set<String> AFTER_TESTS = Set.of("else", "or", "and", "is", "if", "in", "not");
    private static final Set<String> COMPARISONS = Set.of("==", "!=", "<", "<=", ">", ">=");

    private final TokenCursor cursor;
    private final TemplateFacts facts;
    private final CallParser calls;
    private Set<String> names = new HashSet<>();
    private int depth;

    /** @param facts told of the strings and the questions that are met */
    ExpressionParser(TokenCursor cursor, TemplateFacts facts) {
        this.cursor = cursor;
        this.facts = facts;
        calls = new CallParser(cursor, this::expression);
    }

    /** Variables that expressions have spoken of since the last call, which was given {@code before}. */
    Set<String> namesSince(Set<String> before) {
        Set<String> since = names;
        names = before;
        return since;
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
            facts.compared(first, operands.getLast());
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
            default -> variable(token);
        };
    }

    private Expression variable(Token name) {
        names.add(name.text());
        var variable = new Expression.Name(name.text());
        @Nullable Callee function = Builtins.FUNCTIONS.get(name.text());
        if (function == null || !cursor.skip(Kind.OPERATOR, "(")) {
            return variable;
        }
        return calls.bindFunction(function, variable, calls.arguments(), name);
    }

    private Expression strings(Token first) {
        var value = new StringBuilder(first.text());
        while (cursor.peek().kind() == Kind.STRING) {
            value.append(cursor.next().text());
        }
        facts.literal(value.toString());
        return new Expression.Constant(Text.trusted(value.toString()));
    }

    private Expression integer(Token token) {
        if (token.text().length() > MAX_DIGITS) {
            throw cursor.wrongAt(token, "an integer has more than " + MAX_DIGITS + " digits");
        }
        return new Expression.Constant(Value.integer(new BigInteger(token.text())));
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
            } else if (cursor.skip(Kind.OPERATOR, "(")) {
                value = new Expression.Invocation(value, calls.arguments(), token.line());
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
        @Nullable Callee method = Methods.named(name.text());
        if (cursor.skip(Kind.OPERATOR, "(")) {
            return calls.bindMethod(method, base, calls.arguments(), name);
        }
        return new Expression.Attribute(base, name.text(), method, name.line());
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

    private Expression filters(Expression base) {
        Expression value = base;
        while (true) {
            Token token = cursor.peek();
            if (cursor.isNext(Kind.OPERATOR, "|")) {
                value = filterChain(value);
            } else if (cursor.skip(Kind.NAME, "is")) {
                value = test(value);
            } else if (value != base && cursor.skip(Kind.OPERATOR, "(")) {
                value = new Expression.Invocation(value, calls.arguments(), token.line());
            } else {
                return value;
            }
        }
    }

    /** Filters one behind the other, each with its bar before it. */
    Expression filterChain(Expression base) {
        Expression value = base;
        while (cursor.skip(Kind.OPERATOR, "|")) {
            value = filter(value);
        }
        return value;
    }

    /** A filter, behind its bar or behind the word {@code filter}. */
    Expression filter(Expression base) {
        Token name = dottedName();
        Callee filter = Builtins.filter(name.text());
        boolean hasArguments = cursor.skip(Kind.OPERATOR, "(");
        return calls.bind(filter, base, hasArguments ? calls.arguments() : Expression.CallArguments.NONE, name);
    }

    /** Filters and tests of programs that extend Jinja have such names; ours have not. */
    private Token dottedName() {
        Token first = cursor.expectName();
        var name = new StringBuilder(first.text());
        while (cursor.skip(Kind.OPERATOR, ".")) {
            name.append('.').append(cursor.expectName().text());
        }
        return new Token(Kind.NAME, name.toString(), first.line());
    }

    private Expression test(Expression base) {
        boolean negated = cursor.skip(Kind.NAME, "not");
        Token name = dottedName();
        facts.tested(name.text(), base);
        @Nullable Callee known = Builtins.TESTS.get(name.text());
        var arguments = Expression.CallArguments.NONE;
        if (cursor.skip(Kind.OPERATOR, "(")) {
            arguments = calls.arguments();
        } else if (known == null ? beginsOperand(cursor.peek()) : !known.parameters().isEmpty()) {
            arguments = new Expression.CallArguments(List.of(postfix(primary())), List.of(), List.of(), null, null);
        }
        Expression call = calls.bind(known != null ? known : Builtins.test(name.text()), base, arguments, name);
        return negated ? new Expression.Not(call) : call;
    }

    /** Whether a test without parentheses takes this for its argument. */
    private static boolean beginsOperand(Token token) {
        return switch (token.kind()) {
            case STRING, INTEGER, FLOAT -> true;
            case NAME -> !AFTER_TESTS.contains(token.text());
            case OPERATOR -> "([{".contains(token.text());
            default -> false;
        };
    }

    private boolean isOperator(String... texts) {
        return cursor.isOperator(texts);
    }
}
