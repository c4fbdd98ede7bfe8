package dev.warmpath.router.answer.dialect;

/** A stretch of one choice of an answer. Stretches of the same kind that follow each other belong together. */
public sealed interface AnswerPart {

    /** @param text never empty */
    record Text(String text) implements AnswerPart {}

    /** What the model thought before it answered. @param text never empty */
    record Reasoning(String text) implements AnswerPart {}

    /**
     * The beginning of a call; its arguments follow.
     *
     * @param index which of the choice's calls, from 0
     * @param id    the client's answer to the call names it
     * @param name  as the model wrote it; it may be none of the request's tools
     */
    record Call(int index, String id, String name) implements AnswerPart {}

    /**
     * More of a call's arguments.
     *
     * @param index of the call that began last
     * @param json  all of a call's, joined, are one JSON value if the model wrote one; never empty
     */
    record Arguments(int index, String json) implements AnswerPart {}
}
