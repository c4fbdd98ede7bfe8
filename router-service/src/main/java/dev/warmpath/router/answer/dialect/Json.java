package dev.warmpath.router.answer.dialect;

import tools.jackson.core.io.JsonStringEncoder;

/** Strings as JSON writes them. */
final class Json {

    private static final JsonStringEncoder ENCODER = JsonStringEncoder.getInstance();

    private Json() {}

    static String quoted(String text) {
        var json = new StringBuilder(text.length() + 2).append('"');
        ENCODER.quoteAsString(text, json);
        return json.append('"').toString();
    }

    /** Within a string. */
    static void append(StringBuilder json, char c) {
        ENCODER.quoteAsString(String.valueOf(c), json);
    }
}
