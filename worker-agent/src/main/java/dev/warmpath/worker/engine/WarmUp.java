package dev.warmpath.worker.engine;

import dev.warmpath.protocol.generate.FailureReason;
import dev.warmpath.protocol.generate.FinishReason;
import dev.warmpath.protocol.generate.GenerateEvent.Usage;
import dev.warmpath.protocol.generate.GenerateRequest;
import dev.warmpath.protocol.generate.SamplingParameters;
import dev.warmpath.protocol.generate.StopConditions;
import dev.warmpath.worker.model.ModelConfig;
import java.time.Duration;
import java.util.SplittableRandom;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.random.RandomGenerator;

/**
 * Lets made-up requests take the way that real ones will: long and short prompts, greedy and drawn tokens, alone and
 * side by side. The compiler sees every loop of a step, and a model that cannot compute is found before anybody asks.
 * Leaves the cache empty.
 */
public final class WarmUp {

    /** Rounds grow from short prompts, while the code is slow, to long ones. */
    private static final int FIRST_PROMPT_TOKENS = 32;
    private static final int LONGEST_PROMPT_TOKENS = 512;
    private static final int NEW_TOKENS = 24;
    private static final int SIDE_BY_SIDE = 3;
    private static final long REQUEST_TIMEOUT_SECONDS = 60;

    private final Engine engine;
    private final ModelConfig model;
    /** Fixed seed: a warm-up that differs from start to start would be one more thing to doubt. */
    private final RandomGenerator random = new SplittableRandom(42);

    public WarmUp(Engine engine, ModelConfig model) {
        this.engine = engine;
        this.model = model;
    }

    /** @param requests how many were run @param nanos how long they took together */
    public record Report(int requests, long nanos) {}

    /**
     * Runs rounds of requests until the time is over; at least one.
     *
     * @throws IllegalStateException if a request fails: this worker cannot serve
     */
    public Report run(Duration duration) throws InterruptedException {
        long start = System.nanoTime();
        int requests = 0;
        int promptTokens = FIRST_PROMPT_TOKENS;
        do {
            var round = new CompletableFuture<?>[SIDE_BY_SIDE];
            for (int i = 0; i < SIDE_BY_SIDE; i++) {
                round[i] = submit("warm-up-" + requests++, promptTokens >> i, i);
            }
            await(CompletableFuture.allOf(round));
            promptTokens = Math.min(2 * promptTokens, LONGEST_PROMPT_TOKENS);
        } while (System.nanoTime() - start < duration.toNanos());
        if (!await(engine.resetPrefixCache())) {
            throw new IllegalStateException("somebody uses the cache before this worker said that it is there");
        }
        return new Report(requests, System.nanoTime() - start);
    }

    private CompletableFuture<Void> submit(String id, int promptTokens, int kind) {
        int length = Math.max(1, Math.min(promptTokens, model.contextLength() - NEW_TOKENS));
        int[] prompt = random.ints(length, 0, model.vocabularySize()).toArray();
        var sampling = kind == 0 ? SamplingParameters.GREEDY : new SamplingParameters(1f, 40 * (kind - 1), 0.9f, kind);
        var done = new CompletableFuture<Void>();
        engine.submit(GenerateRequest.of(id, prompt, sampling, StopConditions.pastTheEnd(NEW_TOKENS)),
                new Completion(done));
        return done;
    }

    private static <T> T await(CompletableFuture<T> future) throws InterruptedException {
        try {
            return future.get(REQUEST_TIMEOUT_SECONDS, TimeUnit.SECONDS);
        } catch (ExecutionException | TimeoutException | CancellationException e) {
            throw new IllegalStateException("the warm-up failed: " + e.getMessage(), e);
        }
    }

    private record Completion(CompletableFuture<Void> done) implements GenerationListener {

        @Override
        public void onToken(int token, float logprob) {
            // only the end counts
        }

        @Override
        public void onFinished(FinishReason reason, Usage usage) {
            done.complete(null);
        }

        @Override
        public void onFailed(FailureReason reason, String message) {
            done.completeExceptionally(new IllegalStateException(reason + ": " + message));
        }
    }
}
