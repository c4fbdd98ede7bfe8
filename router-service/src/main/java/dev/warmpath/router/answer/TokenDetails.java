package dev.warmpath.router.answer;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Queue;

/**
 * What is told of a choice's tokens beside its text, until it goes out with some of that: ids at once, scores when the
 * text of their token begins. Those of tokens whose text a stop string has cut off are never told, and neither are those
 * of tokens without any that come behind. One choice, one thread.
 */
public final class TokenDetails {

    /**
     * What goes out together.
     *
     * @param ids    of the tokens drawn since the last; empty if they are not asked for
     * @param scores of tokens whose text has begun since; likewise
     */
    public record Told(int[] ids, List<TokenScore> scores) {

        public static final Told NOTHING = new Told(new int[0], List.of());

        public Told(List<TokenScore> scores) {
            this(NOTHING.ids, scores);
        }

        /** Both, these before the others. */
        public Told and(Told later) {
            if (later == NOTHING || this == NOTHING) {
                return this == NOTHING ? later : this;
            }
            int[] all = Arrays.copyOf(ids, ids.length + later.ids.length);
            System.arraycopy(later.ids, 0, all, ids.length, later.ids.length);
            var both = new ArrayList<>(scores);
            both.addAll(later.scores);
            return new Told(all, both);
        }
    }

    private int[] ids = new int[8];
    private int idCount;
    private final Queue<TokenScore> scores = new ArrayDeque<>();

    public void add(int id) {
        if (idCount == ids.length) {
            ids = Arrays.copyOf(ids, 2 * idCount);
        }
        ids[idCount++] = id;
    }

    public void add(TokenScore score) {
        scores.add(score);
    }

    /** What goes out now. @param shownEnd where the text that goes out ends, by the scores' offsets */
    public Told take(int shownEnd) {
        var begun = new ArrayList<TokenScore>();
        for (TokenScore next = scores.peek(); next != null && next.offset() < shownEnd; next = scores.peek()) {
            begun.add(next);
            scores.remove();
        }
        var told = new Told(Arrays.copyOf(ids, idCount), begun);
        idCount = 0;
        return told;
    }

    /** All that is left, at the end of a text that was not cut off. */
    public Told takeAll() {
        return take(Integer.MAX_VALUE);
    }
}
