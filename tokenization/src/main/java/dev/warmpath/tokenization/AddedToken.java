package dev.warmpath.tokenization;

import tools.jackson.databind.JsonNode;

/**
 * A token that is found as a string before the text is tokenized: role markers, and words that a model was given later.
 *
 * @param special    {@code decode} leaves it out
 * @param marker     counts only where the template wrote it: special ones, and what looks like one in the template
 * @param lstrip     takes the white space before it along
 * @param rstrip     takes the white space after it along
 * @param singleWord counts only between characters that are not part of words
 * @param normalized is looked for after the text was normalized
 */
record AddedToken(int id, String content, boolean special, boolean marker, boolean lstrip, boolean rstrip,
        boolean singleWord, boolean normalized) {
    /** As the model's files have it: a marker if it is special. */
    static AddedToken of(JsonNode json) {
        boolean special = json.path("special").asBoolean(false);
        return new AddedToken(json.path("id").asInt(), json.path("content").asString(), special, /* marker */ special,
                json.path("lstrip").asBoolean(false), json.path("rstrip").asBoolean(false),
                json.path("single_word").asBoolean(false), json.path("normalized").asBoolean(false));
    }

    AddedToken asMarker() {
        return new AddedToken(id, content, special, /* marker */ true, lstrip, rstrip, singleWord, normalized);
    }

    /** Others, as line breaks and tabs by the dozen, are in templates and in what people write alike. */
    boolean looksLikeMarker() {
        return content.length() > 2 && (content.startsWith("<") && content.endsWith(">")
                || content.startsWith("[") && content.endsWith("]"));
    }
}
