package dev.warmpath.worker.generate;

import dev.warmpath.protocol.generate.GenerateEvent;
import dev.warmpath.protocol.generate.GenerateEvent.Scores;
import dev.warmpath.worker.engine.TokenScores;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Tokens on their way out, with their scores: added at the end, taken from the front in runs for one line each. Grows
 * as long as nobody takes any. To be guarded by its owner.
 */
final class TokenBuffer {

    /** A line has some ten characters for each of so many; routers read lines of up to 256 KiB. */
    private static final int TOKENS_A_LINE = 4_096;
    /** With scores it may have five hundred for each. */
    private static final int SCORED_TOKENS_A_LINE = 64;
    private static final int FEW = 8;

    private final boolean scored;
    private int[] numbers = new int[FEW];
    private float[] logprobs = new float[0];
    /** {@code width} for each token; 0 until that is known. */
    private int[] topIds = new int[0];
    private float[] topLogprobs = new float[0];
    private int width;
    private int from;
    private int to;

    /** The tokens of one line: ids, or ranks of a prompt's. */
    record Run(int[] numbers, @Nullable Scores scores) {}

    TokenBuffer(boolean scored) {
        this.scored = scored;
    }

    boolean isEmpty() {
        return from == to;
    }

    /** @param number id or rank */
    void add(int number, float logprob) {
        reserve();
        numbers[to] = number;
        if (scored) {
            logprobs[to] = told(logprob);
        }
        to++;
    }

    /** The same with the likeliest tokens beside it, always as many. */
    void add(int number, TokenScores scores) {
        if (scored && from == to) {
            width = scores.likeliestCount();
        }
        add(number, scores.logprob());
        for (int place = 0; scored && place < width; place++) {
            topIds[(to - 1) * width + place] = scores.likeliest(place);
            topLogprobs[(to - 1) * width + place] = told(scores.logprob(place));
        }
    }

    private static float told(float logprob) {
        return Math.max(GenerateEvent.LEAST_LOGPROB, logprob);
    }

    private void reserve() {
        if (to == numbers.length) {
            numbers = Arrays.copyOf(numbers, 2 * to);
        }
        if (scored && logprobs.length < numbers.length) {
            logprobs = Arrays.copyOf(logprobs, numbers.length);
        }
        if (topIds.length < numbers.length * width) {
            topIds = Arrays.copyOf(topIds, numbers.length * width);
            topLogprobs = Arrays.copyOf(topLogprobs, numbers.length * width);
        }
    }

    /** As many as a line takes, of those that are there: at least one has to be. */
    Run take() {
        int until = Math.min(to, from + (scored ? SCORED_TOKENS_A_LINE : TOKENS_A_LINE));
        @Nullable Scores scores = scored ? new Scores(Arrays.copyOfRange(logprobs, from, until),
                Arrays.copyOfRange(topIds, from * width, until * width),
                Arrays.copyOfRange(topLogprobs, from * width, until * width)) : null;
        var run = new Run(Arrays.copyOfRange(numbers, from, until), scores);
        from = until;
        if (from == to) {
            from = 0;
            to = 0;
        }
        return run;
    }
}
