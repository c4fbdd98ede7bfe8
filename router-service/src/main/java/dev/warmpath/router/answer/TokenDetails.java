package dev.warmpath.router.answer;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * What is told of a choice's drawn tokens beside its text, until it goes out with some of that: of each of them, those that
 * end the choice and those of text that a stop string cuts off among them. One choice, one thread.
 */
public final class TokenDetails {

    /**
     * What goes out together.
     *
     * @param ids    of the tokens drawn since the last; empty if they are not asked for
     * @param scores of these; likewise
     */
    public record Told(int[] ids, List<TokenScore> scores) {

        public static final Told NOTHING = new Told(new int[0], List.of());

        /** The same behind what is told of a prompt that they continue. */
        public Told after(List<TokenScore> prompt) {
            if (prompt.isEmpty()) {
                return this;
            }
            var both = new ArrayList<>(prompt);
            both.addAll(scores);
            return new Told(ids, both);
        }
    }

    private int[] ids = new int[8];
    private int idCount;
    private List<TokenScore> scores = new ArrayList<>();

    public void add(int id) {
        if (idCount == ids.length) {
            ids = Arrays.copyOf(ids, 2 * idCount);
        }
        ids[idCount++] = id;
    }

    public void add(TokenScore score) {
        scores.add(score);
    }

    /** All that was added since the last time. */
    public Told take() {
        var told = new Told(Arrays.copyOf(ids, idCount), scores);
        idCount = 0;
        scores = new ArrayList<>();
        return told;
    }
}
