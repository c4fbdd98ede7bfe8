package dev.warmpath.worker.engine;

import dev.warmpath.protocol.generate.FailureReason;
import dev.warmpath.protocol.generate.FinishReason;
import dev.warmpath.protocol.generate.GenerateEvent.Usage;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/** Writes down what one generation hears, and insists on the order that is promised. */
final class Recording implements GenerationListener {

    private int[] tokens = new int[16];
    private int tokenCount;
    volatile @Nullable FinishReason finished;
    volatile @Nullable FailureReason failed;
    @Nullable String message;
    @Nullable Usage usage;
    @Nullable GenerationTimes times;
    float lastLogprob;

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
