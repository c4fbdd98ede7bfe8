package dev.warmpath.worker.engine;

import dev.warmpath.protocol.generate.FailureReason;
import dev.warmpath.protocol.generate.FinishReason;
import dev.warmpath.protocol.generate.GenerateEvent.Usage;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Writes down what one generation hears, and insists on the order that is promised. */
class Recording implements GenerationListener {

    private int[] tokens = new int[16];
    private int tokenCount;
    volatile @Nullable FinishReason finished;
    volatile @Nullable FailureReason failed;
    @Nullable String message;
    @Nullable Usage usage;
    @Nullable GenerationTimes times;
    float lastLogprob;
    /** Of the prompt's tokens from the second on, and of those that were drawn; where they came with any. */
    final List<Told> promptScores = new ArrayList<>();
    final List<Told> scores = new ArrayList<>();

    /** What was heard of one token. */
    record Told(float logprob, int rank, int[] topIds, float[] topLogprobs) {

        static Told of(TokenScores scores) {
            int[] ids = new int[scores.likeliestCount()];
            Arrays.setAll(ids, scores::likeliest);
            float[] logprobs = new float[ids.length];
            for (int place = 0; place < ids.length; place++) {
                logprobs[place] = scores.logprob(place);
            }
            return new Told(scores.logprob(), scores.rank(), ids, logprobs);
        }
    }

    int[] tokens() {
        return Arrays.copyOf(tokens, tokenCount);
    }

    int tokenCount() {
        return tokenCount;
    }

    boolean isOver() {
        return finished != null || failed != null;
    }

    @Override
    public void onToken(int token, float logprob) {
        requireOpen();
        if (tokenCount == tokens.length) {
            tokens = Arrays.copyOf(tokens, tokenCount * 2);
        }
        tokens[tokenCount++] = token;
        lastLogprob = logprob;
    }

    @Override
    public void onToken(int token, TokenScores told) {
        scores.add(Told.of(told));
        onToken(token, told.logprob());
    }

    @Override
    public void onPrompt(TokenScores told) {
        requireOpen();
        if (tokenCount > 0) {
            throw new AssertionError("news of the prompt behind a token");
        }
        promptScores.add(Told.of(told));
    }

    @Override
    public void onFinished(FinishReason reason, Usage usage) {
        requireOpen();
        this.finished = reason;
        this.usage = usage;
    }

    @Override
    public void onFailed(FailureReason reason, String message) {
        requireOpen();
        this.failed = reason;
        this.message = message;
    }

    @Override
    public boolean wantsTimes() {
        return true;
    }

    @Override
    public void onOver(GenerationTimes times) {
        requireOpen();
        this.times = times;
    }

    private void requireOpen() {
        if (isOver()) {
            throw new AssertionError("news after the end");
        }
    }
}
