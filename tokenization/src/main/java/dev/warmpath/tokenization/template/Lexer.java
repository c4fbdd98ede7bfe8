package dev.warmpath.tokenization.template;

import dev.warmpath.tokenization.template.Token.Kind;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Cuts a template source into tokens. White space follows Jinja with {@code trim_blocks} and {@code lstrip_blocks} on,
 * as Hugging Face sets them: the newline after a tag or comment goes, and so does the indentation before one; a
 * {@code -} takes all white space on its side, a {@code +} keeps it.
 */
final class Lexer {
    private static final List<String> OPERATORS = List.of(
            "//", "**", "==", "!=", ">=", "<=", "+", "-", "*", "/", "%", "~", "[", "]", "(", ")", "{", "}",
            ">", "<", "=", ".", ":", "|", ",");

    private static final Pattern RAW_BEGIN =
            Pattern.compile("\\{%[-+]?\\s*raw\\s*(-%}\\s*|%})", Pattern.UNICODE_CHARACTER_CLASS);
    private static final Pattern RAW_END =
            Pattern.compile("\\{%([-+]?)\\s*endraw\\s*(\\+%}|-%}\\s*|%}\\n?)", Pattern.UNICODE_CHARACTER_CLASS);

    private final String source;
    private final List<Token> tokens = new ArrayList<>();
    private int at;
    private int line = 1;
    private int lineKnownAt;
    /** The text ahead begins a line, for the indentation rule. */
    private boolean lineStarting = true;

    private Lexer(String source) {
        this.source = source;
    }

    static List<Token> scan(String source) {
        String unixLines = source.replace("\r\n", "\n").replace('\r', '\n');
        // one trailing newline is the file's, not the template's
        var lexer = new Lexer(
                unixLines.endsWith("\n") ? unixLines.substring(0, unixLines.length() - 1) : unixLines);
        lexer.scanAll();
        return lexer.tokens;
    }

    private void scanAll() {
        while (at < source.length()) {
            int open = nextOpening(at);
            if (open < 0) {
                text(source.substring(at));
                at = source.length();
            } else {
                scanTag(open);
            }
        }
        emit(Kind.END, "");
    }

    private int nextOpening(int from) {
        for (int i = source.indexOf('{', from); i >= 0; i = source.indexOf('{', i + 1)) {
            if (i + 1 < source.length() && "{%#".indexOf(source.charAt(i + 1)) >= 0) {
                return i;
            }
        }
        return -1;
    }

    private void scanTag(int open) {
        char type = source.charAt(open + 1);
        char sign = open + 2 < source.length() ? source.charAt(open + 2) : ' ';
        text(textBefore(open, type, sign));
        at = open + (sign == '-' || sign == '+' ? 3 : 2);
        if (type == '#') {
            int close = source.indexOf("#}", at);
            if (close < 0) {
                throw wrong("a comment is not closed");
            }
            char closeSign = close > at ? source.charAt(close - 1) : ' ';
            at = close + 2;
            skipAfterClosing(closeSign, true);
            return;
        }
        Matcher raw = RAW_BEGIN.matcher(source).region(open, source.length());
        if (type == '%' && raw.lookingAt()) {
            scanRaw(raw.end());
            return;
        }
        boolean output = type == '{';
        emit(output ? Kind.OUTPUT_BEGIN : Kind.TAG_BEGIN, output ? "{{" : "{%");
        scanInside(output ? "}}" : "%}", output);
    }

    /** What stands between {@code raw} and {@code endraw} is text, whatever it looks like. */
    private void scanRaw(int from) {
        at = from;
        lineStarting = source.charAt(at - 1) == '\n';
        Matcher end = RAW_END.matcher(source);
        if (!end.find(at)) {
            throw wrong("'raw' is not closed");
        }
        text(textBefore(end.start(), '%', end.group(1).isEmpty() ? ' ' : end.group(1).charAt(0)));
        at = end.end();
        lineStarting = source.charAt(at - 1) == '\n';
    }

    private String textBefore(int open, char type, char sign) {
        String before = source.substring(at, open);
        if (sign == '-') {
            return Text.trusted(before).strip("", false, true).chars();
        }
        int lineStart = before.lastIndexOf('\n') + 1;
        boolean indentation = (lineStart > 0 || lineStarting)
                && before.substring(lineStart).chars().allMatch(Text::isSpace);
        return type != '{' && sign != '+' && indentation ? before.substring(0, lineStart) : before;
    }

    private void scanInside(String closing, boolean output) {
        int brackets = 0;
        while (true) {
            skipSpace();
            if (at >= source.length()) {
                throw wrong("a '" + (output ? "{{" : "{%") + "' is not closed");
            }
            char first = source.charAt(at);
            boolean signed = (first == '-' || first == '+' && !output) && source.startsWith(closing, at + 1);
            if (brackets == 0 && (signed || source.startsWith(closing, at))) {
                emit(output ? Kind.OUTPUT_END : Kind.TAG_END, closing);
                at += closing.length() + (signed ? 1 : 0);
                skipAfterClosing(signed ? first : ' ', !output);
                return;
            }
            brackets += scanOne(first);
        }
    }

    /** @return how the nesting of brackets changes */
    private int scanOne(char first) {
        if (first == '\'' || first == '"') {
            scanString(first);
        } else if (isDigit(first)) {
            scanNumber();
        } else if (Character.isJavaIdentifierStart(first) && first != '$') {
            int end = at + 1;
            while (end < source.length() && isNamePart(source.charAt(end))) {
                end++;
            }
            emit(Kind.NAME, source.substring(at, end));
            at = end;
        } else {
            String operator = OPERATORS.stream().filter(o -> source.startsWith(o, at)).findFirst()
                    .orElseThrow(() -> wrong("unexpected character '" + first + "'"));
            emit(Kind.OPERATOR, operator);
            at += operator.length();
            return "[({".contains(operator) ? 1 : "])}".contains(operator) ? -1 : 0;
        }
        return 0;
    }

    private static boolean isNamePart(char c) {
        return Character.isJavaIdentifierPart(c) && c != '$';
    }

    private void scanNumber() {
        int end = digits(at);
        boolean afterDot = !tokens.isEmpty() && tokens.getLast().is(Kind.OPERATOR, ".");
        int whole = end;
        if (!afterDot && end + 1 < source.length() && source.charAt(end) == '.' && digits(end + 1) > end + 1) {
            end = digits(end + 1);
        }
        if (!afterDot && end < source.length() && (source.charAt(end) | 0x20) == 'e') {
            int exponent = end + 1;
            if (exponent < source.length() && "+-".indexOf(source.charAt(exponent)) >= 0) {
                exponent++;
            }
            end = digits(exponent) > exponent ? digits(exponent) : end;
        }
        emit(end == whole ? Kind.INTEGER : Kind.FLOAT, source.substring(at, end).replace("_", ""));
        at = end;
        if (at < source.length() && isNamePart(source.charAt(at))) {
            throw wrong("a number runs into '" + source.charAt(at) + "'");
        }
    }

    private int digits(int from) {
        int end = from;
        while (end < source.length() && (isDigit(source.charAt(end)) || end > from && source.charAt(end) == '_')) {
            end++;
        }
        return end;
    }

    private static boolean isDigit(char c) {
        return c >= '0' && c <= '9';
    }

    private void scanString(char quote) {
        var value = new StringBuilder();
        int i = at + 1;
        while (true) {
            if (i >= source.length()) {
                throw wrong("a string is not closed");
            }
            char c = source.charAt(i++);
            if (c == quote) {
                break;
            }
            if (c != '\\' || i >= source.length()) {
                value.append(c);
            } else {
                i = escape(i, value);
            }
        }
        emit(Kind.STRING, value.toString());
        at = i;
    }

    /** Python's escapes; one that Python does not know stays as written. @return the position after it */
    private int escape(int from, StringBuilder value) {
        char c = source.charAt(from);
        int simple = "\\'\"abfnrtv\n".indexOf(c);
        if (simple >= 0) {
            String meaning = "\\'\"\u0007\b\f\n\r\t\u000b";
            return simple < meaning.length() ? append(value, meaning.charAt(simple), from + 1) : from + 1;
        }
        int digits = switch (c) {
            case 'x' -> 2;
            case 'u' -> 4;
            case 'U' -> 8;
            default -> 0;
        };
        if (digits > 0) {
            try {
                int codePoint = Integer.parseInt(source, from + 1, from + 1 + digits, 16);
                return append(value, codePoint, from + 1 + digits);
            } catch (IllegalArgumentException | IndexOutOfBoundsException e) {
                throw wrong("'\\" + c + "' needs " + digits + " hexadecimal digits of a character");
            }
        }
        if (c >= '0' && c <= '7') {
            int end = from;
            while (end < from + 3 && source.charAt(end) >= '0' && source.charAt(end) <= '7') {
                end++;
            }
            return append(value, Integer.parseInt(source, from, end, 8), end);
        }
        value.append('\\').append(c);
        return from + 1;
    }

    private static int append(StringBuilder value, int codePoint, int next) {
        value.appendCodePoint(codePoint);
        return next;
    }

    private void skipSpace() {
        while (at < source.length() && Text.isSpace(source.charAt(at))) {
            at++;
        }
    }

    private void skipAfterClosing(char sign, boolean trimsNewline) {
        int from = at;
        if (sign == '-') {
            skipSpace();
        } else if (trimsNewline && sign != '+' && source.startsWith("\n", at)) {
            at++;
        }
        lineStarting = at > from && source.charAt(at - 1) == '\n';
    }

    private void text(String value) {
        if (!value.isEmpty()) {
            emit(Kind.TEXT, value);
        }
    }

    private void emit(Kind kind, String text) {
        tokens.add(new Token(kind, text, line()));
    }

    private int line() {
        for (; lineKnownAt < at; lineKnownAt++) {
            line += source.charAt(lineKnownAt) == '\n' ? 1 : 0;
        }
        return line;
    }

    private TemplateException wrong(String message) {
        return new TemplateException(TemplateException.Kind.SYNTAX, message, line());
    }
}
