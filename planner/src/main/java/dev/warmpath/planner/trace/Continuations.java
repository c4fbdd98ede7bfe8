package dev.warmpath.planner.trace;

import dev.warmpath.workload.PooledCache;
import dev.warmpath.workload.Prompt;
import dev.warmpath.workload.Turn;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Comparator;
import java.util.Deque;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Who goes on with whose answer, of a trace that has its requests' own tokens: a later prompt that begins with all
 * whole blocks of an earlier one, and goes further, has that one's answer behind them. So it is known what a worker
 * draws, and its blocks of an answer are found by the next turn, as they are in a fleet. Only prompts with a block that
 * nobody had before them are gone on with: what all begin with is not a conversation.
 *
 * <p>A million open ends are kept, and 20 million pieces; what is beyond them is not known, and found by nobody.
 */
public final class Continuations {

    private static final int MOST_ENDS = 1_000_000;
    private static final int MOST_PIECES = 20_000_000;
    /** Ends at one block, of which the oldest give way. */
    private static final int MOST_ALIKE = 64;

    private final SeenKeys seen = new SeenKeys();
    private final Map<Long, Deque<End>> ends = new LinkedHashMap<>() {
        private static final long serialVersionUID = 1;

        @Override
        protected boolean removeEldestEntry(Map.Entry<Long, Deque<End>> eldest) {
            return size() > MOST_ENDS;
        }
    };
    private final Map<Long, long[]> byLine = new HashMap<>();
    private long pieces;

    /** Where a prompt's whole blocks end. */
    private record End(long line, int blocks, int promptTokens, int answerTokens) {

        /** The last token that is drawn may be one that is not sent again. */
        int withAnswer() {
            return promptTokens + answerTokens - 1;
        }
    }

    /** In order of time, all of them before any is asked about. */
    public void add(Arrival arrival) {
        Prompt prompt = arrival.turn().prompt();
        long[] keys = PooledCache.promptKeys(prompt);
        for (int i = keys.length - 1; i >= 0; i--) {
            boolean isNewBehind = i + 1 < keys.length && !seen.contains(keys[i + 1]);
            Deque<End> here = isNewBehind ? ends.get(keys[i]) : null;
            End end = here == null ? null : bestFit(here, i + 1, prompt.length());
            if (end != null) {
                goOn(end, prompt, keys.length);
                here.remove(end);
                break;
            }
        }
        if (keys.length > 0) {
            Deque<End> here = ends.computeIfAbsent(keys[keys.length - 1], _ -> new ArrayDeque<>());
            here.addLast(new End(arrival.line(), keys.length, prompt.length(), arrival.turn().answerTokens()));
            if (here.size() > MOST_ALIKE) {
                here.removeFirst();
            }
        }
        for (long key : keys) {
            seen.add(key);
        }
    }

    /** Of those that end here, the longest with its answer that the prompt has room for. */
    private static @Nullable End bestFit(Deque<End> ends, int blocks, int promptTokens) {
        return ends.stream().filter(end -> end.blocks == blocks && end.withAnswer() <= promptTokens)
                .max(Comparator.comparingInt(End::withAnswer)).orElse(null);
    }

    private void goOn(End end, Prompt by, int wholeBlocks) {
        int last = end.withAnswer() / by.pieceTokens();
        long[] continued = Arrays.copyOfRange(by.pieces(), end.blocks, Math.max(end.blocks, Math.min(wholeBlocks, last
                + 1)));
        if (continued.length > 0 && pieces + continued.length <= MOST_PIECES) {
            pieces += continued.length;
            byLine.put(end.line, continued);
        }
    }

    /** The request with what is known of its answer. */
    public Turn of(Arrival arrival) {
        Turn turn = arrival.turn();
        long @Nullable [] continued = byLine.get(arrival.line());
        if (continued == null) {
            return turn;
        }
        Prompt prompt = turn.prompt();
        long[] own = prompt.pieces().clone();
        if (prompt.length() % prompt.pieceTokens() != 0) {
            own[own.length - 1] = continued[0];                    // of which the prompt has the begin
        }
        return new Turn(new Prompt(own, prompt.pieceTokens(), prompt.length()), turn.answerTokens(), continued);
    }
}
