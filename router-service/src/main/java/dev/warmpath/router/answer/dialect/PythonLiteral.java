package dev.warmpath.router.answer.dialect;

import org.jspecify.annotations.Nullable;

/** A Python literal as JSON: strings, numbers, True, False, None, lists, tuples and dicts of such. */
final class PythonLiteral {

    private static final int MAX_DEPTH = 64;

    private final String text;
    private final StringBuilder json = new StringBuilder();
    private int at;

    private PythonLiteral(String text) {
        this.text = text;
    }

    /** @return null if it is none */
    static @Nullable String toJson(String text) {
        var literal = new PythonLiteral(text);
        boolean read = literal.value(0);
        literal.blanks();
        return read && literal.at == text.length() ? literal.json.toString() : null;
    }

    private boolean value(int depth) {
        blanks();
        if (at == text.length() || depth > MAX_DEPTH) {
            return false;
        }
        return switch (text.charAt(at)) {
            case '[' -> elements(']', depth, /* pairs */ false, "[", "]");
            case '(' -> elements(')', depth, /* pairs */ false, "[", "]");
            case '{' -> elements('}', depth, /* pairs */ true, "{", "}");
            case '"', '\'' -> string();
            default -> word();
        };
    }

    private boolean elements(char closing, int depth, boolean pairs, String before, String after) {
        at++;
        json.append(before);
        boolean first = true;
        while (true) {
            blanks();
            if (at < text.length() && text.charAt(at) == closing) {
                at++;
                json.append(after);
                return true;
            }
            if (!first) {
                json.append(", ");
            }
            first = false;
            if (pairs && !(isString() && string() && colon()) || !value(depth + 1)) {
                return false;
            }
            blanks();
            if (at < text.length() && text.charAt(at) == ',') {
                at++;
            } else if (at == text.length() || text.charAt(at) != closing) {
                return false;
            }
        }
    }

    private boolean isString() {
        return at < text.length() && (text.charAt(at) == '"' || text.charAt(at) == '\'');
    }

    private boolean colon() {
        blanks();
        boolean isColon = at < text.length() && text.charAt(at) == ':';
        at++;
        json.append(": ");
        return isColon;
    }

    private boolean string() {
        char quote = text.charAt(at++);
        json.append('"');
        while (at < text.length() && text.charAt(at) != quote) {
            char c = text.charAt(at++);
            if (c == '\\' && at < text.length()) {
                escape(text.charAt(at++));
            } else {
                Json.append(json, c);
            }
        }
        json.append('"');
        return at++ < text.length();
    }

    /** Python's, of which JSON has not all. */
    private void escape(char c) {
        switch (c) {
            case 'n', 't', 'r', 'b', 'f', '"', '\\', 'u' -> json.append('\\').append(c);
            case '\'' -> json.append('\'');
            case '\n' -> { }                                       // the string goes on in the next line
            default -> {
                json.append("\\\\");                               // no escape: the backslash stays
                Json.append(json, c);
            }
        }
    }

    private boolean word() {
        int from = at;
        while (at < text.length() && ",:]}) \n\t\r".indexOf(text.charAt(at)) < 0) {
            at++;
        }
        String word = text.substring(from, at);
        switch (word) {
            case "True", "true" -> json.append("true");
            case "False", "false" -> json.append("false");
            case "None", "null" -> json.append("null");
            default -> {
                @Nullable String number = number(word);
                if (number == null) {
                    return false;
                }
                json.append(number);
            }
        }
        return true;
    }

    private static @Nullable String number(String word) {
        String plain = word.replace("_", "");
        if (plain.matches("-?(0|[1-9][0-9]*)(\\.[0-9]+)?([eE][+-]?[0-9]+)?")) {
            return Double.isFinite(Double.parseDouble(plain)) ? plain : null;
        }
        // what Python writes and JSON does not: 1., .5, +1
        return plain.matches("[+-]?([0-9]+\\.?[0-9]*|\\.[0-9]+)") ? Double.toString(Double.parseDouble(plain)) : null;
    }

    private void blanks() {
        while (at < text.length() && Character.isWhitespace(text.charAt(at))) {
            at++;
        }
    }
}
