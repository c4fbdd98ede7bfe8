package dev.warmpath.planner.trace;

import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/** One way in which files write a request as a line of JSON. */
interface LineFormat {

    /** As results name it. */
    String name();

    /** Whether a line is of this kind, be it right or wrong. */
    boolean isOwn(JsonNode line);

    /** Whether lines may come later than requests that came after theirs, since they are written at a request's end. */
    default boolean isOutOfOrder() {
        return false;
    }

    /** Whether a prompt that goes on with an answer has that one's own tokens, as many as are told. */
    default boolean hasAnswers() {
        return false;
    }

    /**
     * @return null of a line that stands for no request that was computed
     * @throws Fields.WrongException if something of it is missing or wrong, in a sentence
     */
    @Nullable RequestLine parse(JsonNode line);
}
