package dev.warmpath.router.tokenization.template;

import dev.warmpath.router.tokenization.template.Token.Kind;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Reads the tags of a template into statements; {@link ExpressionParser} reads what stands inside them. */
final class Parser {
    private static final int MAX_BLOCK_DEPTH = 64;

    private final TokenCursor cursor;
    private final ExpressionParser expressions;
    private int blockDepth;
    private int loopDepth;

    private Parser(List<Token> tokens) {
        cursor = new TokenCursor(tokens);
        expressions = new ExpressionParser(cursor, TokenCursor.macroNames(tokens));
    }

    /** @throws TemplateException of kind SYNTAX or UNSUPPORTED, at the first place that cannot be read */
    static List<Statement> parse(String source) {
        var parser = new Parser(Lexer.scan(source));
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
                case TEXT -> statements.add(new Statement.PrintText(Text.trusted(token.text())));
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
            case "for" -> forTag(name.line());
            case "set" -> setTag(name.line());
            case "macro" -> macroTag();
            case "generation" -> new Statement.Generation(bodyOf("generation", "endgeneration"));
            case "break" -> jump(name, new Statement.Break());
            case "continue" -> jump(name, new Statement.Continue());
            case "elif", "else", "endif", "endfor", "endset", "endmacro", "endgeneration" ->
                throw cursor.wrongAt(name, "'" + name.text() + "' closes nothing here");
            default -> throw cursor.unsupported(name, "the tag '" + name.text() + "'");
        };
    }

    private List<Statement> bodyOf(String opener, String end) {
        cursor.expectTagEnd();
        List<Statement> body = block(Set.of(end), opener);
        cursor.next();
        cursor.expectTagEnd();
        return body;
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
        cursor.expectTagEnd();
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

    private Statement forTag(int line) {
        List<String> targets = targets();
        cursor.expect(Kind.NAME, "in");
        Expression items = expressions.tuple(false);
        Expression filter = cursor.skip(Kind.NAME, "if") ? expressions.expression() : null;
        if (cursor.peek().is(Kind.NAME, "recursive")) {
            throw cursor.unsupported(cursor.peek(), "a 'recursive' loop");
        }
        cursor.expectTagEnd();
        loopDepth++;
        List<Statement> body = block(Set.of("else", "endfor"), "for");
        loopDepth--;
        if (cursor.next().text().equals("else")) {
            return new Statement.For(targets, items, filter, body, bodyOf("else", "endfor"), line);
        }
        cursor.expectTagEnd();
        return new Statement.For(targets, items, filter, body, List.of(), line);
    }

    private List<String> targets() {
        boolean bracketed = cursor.skip(Kind.OPERATOR, "(");
        var targets = new ArrayList<String>();
        do {
            targets.add(cursor.expectName().text());
        } while (cursor.skip(Kind.OPERATOR, ","));
        if (bracketed) {
            cursor.expect(Kind.OPERATOR, ")");
        }
        return targets;
    }

    private Statement setTag(int line) {
        List<String> targets = targets();
        @Nullable String field = cursor.skip(Kind.OPERATOR, ".") ? cursor.expectName().text() : null;
        if (cursor.peek().is(Kind.OPERATOR, "|")) {
            throw cursor.unsupported(cursor.peek(), "a filter on a 'set' block");
        }
        if (cursor.peek().kind() == Kind.TAG_END && targets.size() == 1 && field == null) {
            return new Statement.SetBlock(targets.getFirst(), bodyOf("set", "endset"));
        }
        cursor.expect(Kind.OPERATOR, "=");
        Expression value = expressions.tuple(true);
        cursor.expectTagEnd();
        return field == null ? new Statement.Set(targets, value, line)
                : new Statement.SetField(targets.getFirst(), field, value, line);
    }

    private Statement macroTag() {
        String name = cursor.expectName().text();
        cursor.expect(Kind.OPERATOR, "(");
        var parameters = new ArrayList<String>();
        var defaults = new ArrayList<@Nullable Expression>();
        while (!cursor.skip(Kind.OPERATOR, ")")) {
            if (!parameters.isEmpty()) {
                cursor.expect(Kind.OPERATOR, ",");
            }
            parameters.add(cursor.expectName().text());
            defaults.add(cursor.skip(Kind.OPERATOR, "=") ? expressions.expression() : null);
        }
        int outerLoops = loopDepth;
        loopDepth = 0;
        List<Statement> body = bodyOf("macro", "endmacro");
        loopDepth = outerLoops;
        return new Statement.MacroDefinition(name, parameters, defaults, body);
    }
}
