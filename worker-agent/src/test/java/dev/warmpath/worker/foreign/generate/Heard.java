package dev.warmpath.worker.foreign.generate;

import dev.warmpath.protocol.generate.FailureReason;
import dev.warmpath.protocol.generate.FinishReason;
import dev.warmpath.protocol.generate.GenerateEvent.Usage;
import dev.warmpath.worker.engine.GenerationListener;
import dev.warmpath.worker.engine.GenerationTimes;
import dev.warmpath.worker.engine.TokenScores;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/** Writes down what one answer tells, as text, and insists on the order that is promised. */
final class Heard implements GenerationListener {

    private static final Duration LONGEST = Duration.ofMinutes(10);

    final List<Integer> tokens = new ArrayList<>();
    /** Each as {@code logprob/rank: id logprob, …}. */
    final List<String> scores = new ArrayList<>();
    final List<String> prompt = new ArrayList<>();
    @Nullable FinishReason finished;
    @Nullable Usage usage;
    @Nullable FailureReason failed;
    @Nullable String message;
    @Nullable GenerationTimes times;

    @Override
    public synchronized void onToken(int token, float logprob) {
        requireOpen();
        tokens.add(token);
        notifyAll();
    }

    @Override
    public synchronized void onToken(int token, TokenScores told) {
        scores.add(text(told));
        onToken(token, told.logprob());
    }

    @Override
    public synchronized void onPrompt(TokenScores told) {
        requireOpen();
        if (!tokens.isEmpty()) {
            throw new AssertionError("news of the prompt behind a token");
        }
        prompt.add(text(told));
    }

    private static String text(TokenScores told) {
        var text = new StringBuilder("%.3f/%d:".formatted(told.logprob(), told.rank()));
        for (int place = 0; place < told.likeliestCount(); place++) {
            text.append(" %d %.3f".formatted(told.likeliest(place), told.logprob(place)));
        }
        return text.toString();
    }

    @Override
    public synchronized void onFinished(FinishReason reason, Usage counted) {
        requireOpen();
        finished = reason;
        usage = counted;
        notifyAll();
    }

    @Override
    public synchronized void onFailed(FailureReason reason, String why) {
        requireOpen();
        failed = reason;
        message = why;
        notifyAll();
    }

    @Override
    public boolean wantsTimes() {
        return true;
    }

    @Override
    public synchronized void onOver(GenerationTimes all) {
        requireOpen();
        times = all;
        notifyAll();
    }

    private void requireOpen() {
        if (finished != null || failed != null) {
            throw new AssertionError("news after the end");
        }
    }

    Heard awaitEnd() {
        return await(() -> finished != null || failed != null);
    }

    Heard awaitTokens(int count) {
        return await(() -> tokens.size() >= count);
    }

    Heard awaitTimes() {
        return await(() -> times != null);
    }

    private synchronized Heard await(BooleanSupplier condition) {
        long deadline = System.nanoTime() + LONGEST.toNanos();
        while (!condition.getAsBoolean()) {
            if (System.nanoTime() - deadline > 0) {
                throw new AssertionError("nothing came; so far " + tokens);
            }
            try {
                wait(1_000);
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
        }
        return this;
    }

    synchronized int[] ids() {
        return tokens.stream().mapToInt(Integer::intValue).toArray();
    }

    @Override
    public synchronized String toString() {
        return Arrays.toString(ids()) + " " + finished + " " + usage + " " + failed + " " + message;
    }
}
