package dev.warmpath.workload;

/**
 * One request of a client.
 *
 * @param answerTokens how many the worker draws, at least 1
 * @param continued    numbers of the pieces behind the prompt's whole ones, as a later request has them that goes on
 *                     with the answer: that in which the prompt ends, if it is cut, and the answer's whole ones. Empty
 *                     where nobody knows them; never written
 */
public record Turn(Prompt prompt, int answerTokens, long[] continued) {

    private static final long[] UNKNOWN = {};

    /** Of whose answer nothing is known. */
    public Turn(Prompt prompt, int answerTokens) {
        this(prompt, answerTokens, UNKNOWN);
    }

    /** What the worker draws. @param position in the sequence, the prompt's length or more */
    public int answerToken(int position) {
        int piece = position / prompt.pieceTokens() - prompt.length() / prompt.pieceTokens();
        return piece < continued.length ? Prompt.token(continued[piece], position % prompt.pieceTokens())
                : Prompt.ANSWER_TOKEN;
    }
}
