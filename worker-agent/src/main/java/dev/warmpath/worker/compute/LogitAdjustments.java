package dev.warmpath.worker.compute;

/**
 * How the logits of sampled rows are adjusted before tokens are drawn from them: {@link Sampling}'s step 0. One tensor a
 * parameter, allocated once for the largest step and rewritten by each that adjusts a row. A row's entries lie one
 * behind another, in a column, for a device rounds rows up:
 * <pre>
 *   starts    0        3   3            7
 *   entries   [e₀ e₁ e₂]   [e₃ e₄ e₅ e₆]      row 0 has three, row 1 none, row 2 four
 * </pre>
 * A note of 0 and above belongs to a token that no other such entry of the row has: {@link #PROMPT} and
 * {@link #ALLOWED}, and how often the answer has it, times {@link #ONCE}. A note below 0 masks its token whatever the
 * others say: {@link #BAN} in any case, {@link #banAfter} where the step before drew a certain one.
 * <p>A row whose last token was drawn by the step before, and is not known to the host, names its source; its last entry
 * is then a free one, of id {@link #NO_ID} and note 0, where a device keeps that token if none of the others is it.
 *
 * @param modes       I32 [rows, 1]; {@link #PLAIN}, {@link #ADJUSTED} or {@link #ALLOWED_ONLY}
 * @param starts      I32 [rows + 1, 1]; of a plain row, no entries
 * @param sources     I32 [rows, 1]; row of the step before that drew a token which the notes do not count, or negative
 * @param repetitions F32 [rows, 1]; above 0
 * @param frequencies F32 [rows, 1]
 * @param presences   F32 [rows, 1]
 * @param cuts        F32 [rows, 1]; at most 0: tokens below the largest logit plus this are masked
 * @param ids         I32 [entries, 1]; below the vocabulary's size, which the caller has checked
 * @param biases      F32 [entries, 1]
 * @param notes       I32 [entries, 1]
 * @param raws        F32 [entries, 1]; for the backend's own use
 */
public record LogitAdjustments(
        Tensor modes, Tensor starts, Tensor sources, Tensor repetitions, Tensor frequencies, Tensor presences,
        Tensor cuts, Tensor ids, Tensor biases, Tensor notes, Tensor raws) {

    /** The row is drawn from as it is. */
    public static final int PLAIN = 0;
    public static final int ADJUSTED = 1;
    /** Adjusted, and all tokens but those with the note {@link #ALLOWED} are masked. */
    public static final int ALLOWED_ONLY = 2;

    /** Flag of a note: the prompt has the token. */
    public static final int PROMPT = 1;
    /** Flag of a note: the token stays where only some may. */
    public static final int ALLOWED = 2;
    /** What a note grows by with each time that the answer has the token. */
    public static final int ONCE = 4;
    public static final int BAN = -1;
    public static final int NO_ID = -1;

    private static final int LEAST_ENTRIES_A_ROW = 4_096;
    private static final int MOST_ENTRIES = 1 << 20;

    /** The note that masks its token where the step before drew {@code token}. */
    public static int banAfter(int token) {
        return BAN - 1 - token;
    }

    /**
     * How many entries a step has room for: of any one row, since that has each token once and few bans beside, and of
     * all of them if each has some thousand different tokens.
     */
    public static int capacity(int vocabularySize, int maxSequences) {
        int usual = (int) Math.min(MOST_ENTRIES, (long) maxSequences * LEAST_ENTRIES_A_ROW);
        return Math.max(Math.addExact(vocabularySize, LEAST_ENTRIES_A_ROW), usual);
    }
}
