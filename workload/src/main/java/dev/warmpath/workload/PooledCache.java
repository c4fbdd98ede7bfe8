package dev.warmpath.workload;

import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * One cache for all, in which the piece that was used longest ago gives way, of a prompt its last ones first: what no
 * placement of requests can surpass with as much memory and that rule.
 */
public final class PooledCache {

    private static final long MIX = 0x9e3779b97f4a7c15L;

    /** Of pieces by all that is before them, too. */
    private final Map<Long, Boolean> held = new LinkedHashMap<>(1024, 0.75f, true);
    private final long capacity;

    /** @param capacity in pieces, at least 1 */
    public PooledCache(long capacity) {
        this.capacity = capacity;
    }

    /**
     * Answers a turn, and holds its prompt and, if the prompt ends with a whole piece, its answer afterwards.
     *
     * @return leading tokens of the prompt that it held; the last token is never among them
     */
    public int use(Turn turn) {
        Prompt prompt = turn.prompt();
        long[] keys = keys(turn);
        int limit = (prompt.length() - 1) / prompt.pieceTokens();
        int found = 0;
        while (found < limit && held.containsKey(keys[found])) {
            found++;
        }
        for (int i = keys.length - 1; i >= 0; i--) {
            held.put(keys[i], true);
        }
        for (Iterator<Long> eldest = held.keySet().iterator(); held.size() > capacity;) {
            eldest.next();
            eldest.remove();
        }
        return found * prompt.pieceTokens();
    }

    /**
     * One key for each whole piece of the prompt, and of the answer where its pieces are known, or the prompt ends with
     * a whole one, each of all that is before it, too. The last token that is drawn is not computed.
     */
    public static long[] keys(Turn turn) {
        Prompt prompt = turn.prompt();
        int size = prompt.pieceTokens();
        int full = prompt.length() / size;
        int answered = turn.continued().length > 0
                ? Math.min((prompt.length() + turn.answerTokens() - 1) / size - full, turn.continued().length)
                : prompt.length() % size == 0 ? (turn.answerTokens() - 1) / size : 0;
        long[] keys = new long[full + answered];
        long key = 0;
        for (int i = 0; i < keys.length; i++) {
            long piece = i < full ? prompt.pieces()[i]
                    : turn.continued().length > 0 ? turn.continued()[i - full] : Prompt.ANSWER;
            key = Long.rotateLeft((key ^ piece) * MIX, 29) * MIX + piece;
            keys[i] = key;
        }
        return keys;
    }

    /** Of the prompt's whole pieces alone. */
    public static long[] promptKeys(Prompt prompt) {
        return keys(new Turn(prompt, 1));
    }

    /** Pieces that it holds. */
    public long size() {
        return held.size();
    }
}
