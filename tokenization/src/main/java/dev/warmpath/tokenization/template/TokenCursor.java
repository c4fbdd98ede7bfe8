package dev.warmpath.tokenization.template;

import dev.warmpath.tokenization.template.Token.Kind;
import java.util.List;

/** The tokens of a template, read forwards; knows how to complain about the one in front. */
final class TokenCursor {
    private final List<Token> tokens;
    private int at;

    TokenCursor(List<Token> tokens) {
        this.tokens = tokens;
    }

    Token peek() {
        return tokens.get(at);
    }

    Token next() {
        Token token = tokens.get(at);
        if (token.kind() != Kind.END) {
            at++;
        }
        return token;
    }

    boolean isNext(Kind kind, String text) {
        return peek().is(kind, text);
    }

    boolean isOperator(String... texts) {
        return peek().kind() == Kind.OPERATOR && List.of(texts).contains(peek().text());
    }

    /** A name with {@code =} behind it. */
    boolean isNamedArgument() {
        return peek().kind() == Kind.NAME && tokens.get(at + 1).is(Kind.OPERATOR, "=");
    }

    boolean skip(Kind kind, String text) {
        boolean found = isNext(kind, text);
        at += found ? 1 : 0;
        return found;
    }

    void expect(Kind kind, String text) {
        Token token = next();
        if (!token.is(kind, text)) {
            throw wrongAt(token, "expected '" + text + "', found " + token.shown());
        }
    }

    Token expectName() {
        Token token = next();
        if (token.kind() != Kind.NAME) {
            throw wrongAt(token, "expected a name, found " + token.shown());
        }
        return token;
    }

    void expectTagEnd() {
        expect(Kind.TAG_END, "%}");
    }

    TemplateException unexpected(Token token) {
        return wrongAt(token, "did not expect " + token.shown());
    }

    TemplateException wrong(String message) {
        return wrongAt(peek(), message);
    }

    TemplateException wrongAt(Token token, String message) {
        return new TemplateException(TemplateException.Kind.SYNTAX, message, token.line());
    }

    TemplateException unsupported(Token token, String what) {
        return new TemplateException(
                TemplateException.Kind.UNSUPPORTED, what + " is not supported", token.line());
    }
}
