package dev.warmpath.router.tokenization.template;

import dev.warmpath.router.tokenization.template.Token.Kind;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/** The tokens of a template, read forwards; knows how to complain about the one in front. */
final class TokenCursor {
    private final List<Token> tokens;
    private int at;

    TokenCursor(List<Token> tokens) {
        this.tokens = tokens;
    }

    /** Names that some {@code macro} tag defines: a macro may call one that comes later. */
    static Set<String> macroNames(List<Token> tokens) {
        var names = new HashSet<String>();
        for (int i = 2; i < tokens.size(); i++) {
            if (tokens.get(i - 2).kind() == Kind.TAG_BEGIN && tokens.get(i - 1).is(Kind.NAME, "macro")) {
                names.add(tokens.get(i).text());
            }
        }
        return names;
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
