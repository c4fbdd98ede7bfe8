package dev.warmpath.router.tokenization;

import tools.jackson.databind.JsonNode;

/**
 * A token that is found as a string before the text is tokenized: role markers, and words that a model was given later.
 * @param special    a marker: it counts only where the template wrote it, and {@code decode} leaves it out
 * @param lstrip     takes the white space before it along
 * @param rstrip     takes the white space after it along
 * @param singleWord counts only between characters that are not part of words
 * @param normalized is looked for after the text was normalized
 */
record AddedToken(int id, String content, boolean special, boolean lstrip, boolean rstrip, boolean singleWord,
        boolean normalized) {
    static AddedToken of(JsonNode json) {
        return new AddedToken(json.path("id").asInt(), json.path("content").asString(),
                json.path("special").asBoolean(false), json.path("lstrip").asBoolean(false),
                json.path("rstrip").asBoolean(false), json.path("single_word").asBoolean(false),
                json.path("normalized").asBoolean(false));
    }
}
