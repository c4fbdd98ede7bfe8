package dev.warmpath.tokenization.template;

import dev.warmpath.tokenization.template.Token.Kind;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Reads the tags of a template into statements; {@link ExpressionParser} reads what stands inside them. */
final class Parser {
    private static final int MAX_BLOCK_DEPTH = 64;
    private static final Set<String> EXTRAS =
            Set.of(Statement.CALLER, Statement.MORE, Statement.MORE_NAMED);

    private final TokenCursor cursor;
    private final TemplateFacts facts;
    private final ExpressionParser expressions;
    private int blockDepth;
    private int loopDepth;

    private Parser(List<Token> tokens, TemplateFacts facts) {
        cursor = new TokenCursor(tokens);
        expressions = new ExpressionParser(cursor, facts);
        this.facts = facts;
    }

    /**
     * @param facts told of what is seen
     * @throws TemplateException of kind SYNTAX or UNSUPPORTED, at the first place that cannot be read
     */
    static List<Statement> parse(String source, TemplateFacts facts) {
        var parser = new Parser(Lexer.scan(source), facts);
        return parser.block(Set.of(), "");
    }

    /** Statements up to a tag in {@code ends}, whose name is left to be read; or to the end of the template. */
    private List<Statement> block(Set<String> ends, String opener) {
        if (++blockDepth > MAX_BLOCK_DEPTH) {
            throw cursor.wrong("tags are nested deeper than " + MAX_BLOCK_DEPTH);
        }
        var statements = new ArrayList<Statement>();
        while (true) {
            Token token = cursor.next();
            switch (token.kind()) {
                case TEXT -> {
                    facts.literal(token.text());
                    statements.add(new Statement.PrintText(Text.trusted(token.text())));
                }
                case OUTPUT_BEGIN -> {
                    statements.add(new Statement.Print(expressions.tuple(true), token.line()));
                    cursor.expect(Kind.OUTPUT_END, "}}");
                }
                case TAG_BEGIN -> {
                    if (cursor.peek().kind() == Kind.NAME && ends.contains(cursor.peek().text())) {
                        blockDepth--;
                        return statements;
                    }
                    statements.add(tag());
                }
                case END -> {
                    if (!ends.isEmpty()) {
                        throw cursor.wrong("'" + opener + "' is not closed");
                    }
                    blockDepth--;
                    return statements;
                }
                default -> throw cursor.unexpected(token);
            }
        }
    }

    private Statement tag() {
        Token name = cursor.expectName();
        return switch (name.text()) {
            case "if" -> ifTag("if");
            case "for" -> forTag(name);
            case "set" -> setTag(name.line());
            case "with" -> withTag();
            case "macro" -> macroTag();
            case "call" -> callTag(name.line());
            case "filter" -> filterTag(name.line());
            case "generation" -> new Statement.Generation(bodyOf("generation", "endgeneration"));
            case "break" -> jump(name, new Statement.Break());
            case "continue" -> jump(name, new Statement.Continue());
            case "include", "import", "from", "extends" -> elsewhere(name);
            case "elif", "else", "endif", "endfor", "endset", "endwith", "endmacro", "endcall", "endfilter",
                    "endgeneration", "endraw" ->
                throw cursor.wrongAt(name, "'" + name.text() + "' closes nothing here");
            default -> throw cursor.unsupported(name, "the tag '" + name.text() + "'");
        };
    }

    /** What needs another template; there is none, as Hugging Face has it, so it fails once it is reached. */
    private Statement elsewhere(Token name) {
        while (cursor.peek().kind() != Kind.TAG_END && cursor.peek().kind() != Kind.END) {
            cursor.next();
        }
        cursor.expectTagEnd();
        return new Statement.Fail(unsupported("the tag '" + name.text() + "'", name.line()));
    }

    private static Expression.Failure unsupported(String what, int line) {
        return new Expression.Failure(TemplateException.Kind.UNSUPPORTED, what + " is not supported", line);
    }

    private List<Statement> bodyOf(String opener, String end) {
        beginBody();
        List<Statement> body = block(Set.of(end), opener);
        cursor.next();
        cursor.expectTagEnd();
        return body;
    }

    private void beginBody() {
        cursor.skip(Kind.OPERATOR, ":");                         // Jinja takes one, as Python has it
        cursor.expectTagEnd();
    }

    private Statement jump(Token name, Statement jump) {
        if (loopDepth == 0) {
            throw cursor.wrongAt(name, "'" + name.text() + "' stands outside a loop");
        }
        cursor.expectTagEnd();
        return jump;
    }

    private Statement ifTag(String opener) {
        Expression condition = expressions.tuple(true);
        beginBody();
        List<Statement> then = block(Set.of("elif", "else", "endif"), opener);
        Token end = cursor.next();
        if (end.text().equals("elif")) {
            if (++blockDepth > MAX_BLOCK_DEPTH) {
                throw cursor.wrong("more than " + MAX_BLOCK_DEPTH + " 'elif' in a row");
            }
            Statement otherwise = ifTag("elif");
            blockDepth--;
            return new Statement.If(condition, then, List.of(otherwise));
        }
        if (end.text().equals("endif")) {
            cursor.expectTagEnd();
            return new Statement.If(condition, then, List.of());
        }
        return new Statement.If(condition, then, bodyOf("else", "endif"));
    }

    private Statement forTag(Token name) {
        List<String> targets = targets();
        cursor.expect(Kind.NAME, "in");
        Expression items = expressions.tuple(false);
        facts.loop(targets, items);
        Expression filter = cursor.skip(Kind.NAME, "if") ? expressions.expression() : null;
        boolean isRecursive = cursor.skip(Kind.NAME, "recursive");
        beginBody();
        loopDepth++;
        List<Statement> body = block(Set.of("else", "endfor"), "for");
        loopDepth--;
        List<Statement> otherwise = List.of();
        if (cursor.next().text().equals("else")) {
            otherwise = bodyOf("else", "endfor");
        } else {
            cursor.expectTagEnd();
        }
        return isRecursive ? new Statement.Fail(unsupported("a 'recursive' loop", name.line()))
                : new Statement.For(targets, items, filter, body, otherwise, name.line());
    }

    private List<String> targets() {
        boolean bracketed = cursor.skip(Kind.OPERATOR, "(");
        var targets = new ArrayList<String>();
        do {
            targets.add(cursor.expectName().text());
        } while (cursor.skip(Kind.OPERATOR, ",") && cursor.peek().kind() == Kind.NAME
                && !cursor.isNext(Kind.NAME, "in"));
        if (bracketed) {
            cursor.expect(Kind.OPERATOR, ")");
        }
        return targets;
    }

    private Statement setTag(int line) {
        List<String> targets = targets();
        @Nullable String field = cursor.skip(Kind.OPERATOR, ".") ? cursor.expectName().text() : null;
        boolean isBlock = cursor.peek().kind() == Kind.TAG_END || cursor.isNext(Kind.OPERATOR, "|");
        if (isBlock && (targets.size() == 1 || field != null)) {
            Expression filtered = expressions.filterChain(new Expression.Name(Statement.BLOCK));
            return new Statement.Captured(bodyOf("set", "endset"), assignment(targets, field, filtered, line));
        }
        cursor.expect(Kind.OPERATOR, "=");
        Expression value = expressions.tuple(true);
        facts.assigned(field == null && targets.size() == 1 ? targets.getFirst() : null, value);
        cursor.expectTagEnd();
        return assignment(targets, field, value, line);
    }

    private static Statement assignment(List<String> targets, @Nullable String field, Expression value, int line) {
        return field == null ? new Statement.Set(targets, value, line)
                : new Statement.SetField(targets.getFirst(), field, value, line);
    }

    private Statement withTag() {
        var targets = new ArrayList<String>();
        var values = new ArrayList<Expression>();
        while (cursor.peek().kind() != Kind.TAG_END) {
            if (!targets.isEmpty()) {
                cursor.expect(Kind.OPERATOR, ",");
            }
            targets.add(cursor.expectName().text());
            cursor.expect(Kind.OPERATOR, "=");
            values.add(expressions.expression());
        }
        return new Statement.With(targets, values, bodyOf("with", "endwith"));
    }

    private Statement filterTag(int line) {
        Expression first = expressions.filter(new Expression.Name(Statement.BLOCK));
        Expression filtered = expressions.filterChain(first);
        return new Statement.Captured(bodyOf("filter", "endfilter"), new Statement.Print(filtered, line));
    }

    private Statement callTag(int line) {
        var parameters = new ArrayList<String>();
        var defaults = new ArrayList<@Nullable Expression>();
        if (cursor.skip(Kind.OPERATOR, "(")) {
            parameters(parameters, defaults);
        }
        Expression called = expressions.expression();
        Statement.MacroDefinition block = macro(Statement.CALLER, parameters, defaults, "call", "endcall");
        return switch (called) {
            case Expression.Invocation call -> new Statement.CallBlock(block, call);
            case Expression.Call call when call.otherwise() != null -> new Statement.CallBlock(block, call.otherwise());
            default -> throw new TemplateException(TemplateException.Kind.SYNTAX, "'call' needs a call", line);
        };
    }

    private Statement macroTag() {
        String name = cursor.expectName().text();
        cursor.expect(Kind.OPERATOR, "(");
        var parameters = new ArrayList<String>();
        var defaults = new ArrayList<@Nullable Expression>();
        parameters(parameters, defaults);
        return macro(name, parameters, defaults, "macro", "endmacro");
    }

    /** Up to the closing parenthesis. */
    private void parameters(List<String> parameters, List<@Nullable Expression> defaults) {
        while (!cursor.skip(Kind.OPERATOR, ")")) {
            if (!parameters.isEmpty()) {
                cursor.expect(Kind.OPERATOR, ",");
            }
            parameters.add(cursor.expectName().text());
            defaults.add(cursor.skip(Kind.OPERATOR, "=") ? expressions.expression() : null);
        }
    }

    private Statement.MacroDefinition macro(String name, List<String> parameters,
            List<@Nullable Expression> defaults, String opener, String end) {
        int outerLoops = loopDepth;
        loopDepth = 0;
        Set<String> namesAround = expressions.namesSince(new HashSet<>());
        List<Statement> body = bodyOf(opener, end);
        Set<String> extras = new HashSet<>(expressions.namesSince(namesAround));
        namesAround.addAll(extras);
        extras.retainAll(EXTRAS);
        parameters.forEach(extras::remove);
        loopDepth = outerLoops;
        return new Statement.MacroDefinition(name, parameters, defaults, body, extras);
    }
}
