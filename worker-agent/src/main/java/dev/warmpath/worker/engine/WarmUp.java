package dev.warmpath.worker.engine;

import dev.warmpath.protocol.generate.FailureReason;
import dev.warmpath.protocol.generate.FinishReason;
import dev.warmpath.protocol.generate.GenerateEvent.Usage;
import dev.warmpath.protocol.generate.GenerateRequest;
import dev.warmpath.protocol.generate.LogitRules;
import dev.warmpath.protocol.generate.SamplingParameters;
import dev.warmpath.protocol.generate.StopConditions;
import dev.warmpath.worker.model.ModelConfig;
import dev.warmpath.worker.model.ModelRunner;
import java.time.Duration;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.random.RandomGenerator;
import java.util.stream.Stream;

/**
 * Lets made-up requests take the way that real ones will: long and short prompts, greedy and drawn tokens, alone and
 * side by side. The compiler sees every loop of a step, a device prepares for every size of it that traffic can ask
 * for, and a model that cannot compute is found before anybody asks.
 * Leaves the cache empty.
 */
public final class WarmUp {

    /** Rounds grow from short prompts, while the code is slow, to long ones. */
    private static final int FIRST_PROMPT_TOKENS = 32;
    private static final int LONGEST_PROMPT_TOKENS = 512;
    private static final int NEW_TOKENS = 24;
    private static final int SIDE_BY_SIDE = 3;
    /** Of sequences that only decode: long enough that a device with little else to do cuts attention over it. */
    private static final int LONG_CONTEXT = 8_192;
    /** The first is drawn from the prompt, by one sequence; the others join it then. */
    private static final int DECODED_TOKENS = 4;
    private static final int ENDLESS = 1_000;
    private static final long REQUEST_TIMEOUT_SECONDS = 60;
    /** Of one request in three, so that the device has all kernels for them. */
    private static final LogitRules RULES = LogitRules.NONE.withMinP(0.01f).withPenalties(0.1f, 0.1f, 1.1f);

    /** Likewise asked for beside each of its tokens, and the prompt's. */
    private static final int ALTERNATIVES = 5;

    private final Engine engine;
    private final ModelRunner runner;
    private final ModelConfig model;
    /** Fixed seed: a warm-up that differs from start to start would be one more thing to doubt. */
    private final RandomGenerator random = new SplittableRandom(42);

    public WarmUp(Engine engine, ModelRunner runner) {
        this.engine = engine;
        this.runner = runner;
        this.model = runner.config();
    }

    /** @param requests how many were run @param nanos how long they took together */
    public record Report(int requests, long nanos) {}

    /**
     * Runs rounds of requests until the time is over, at least one; then, unless there was none, steps of each size for
     * which the device prepares when it first comes, however long that takes.
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
        if (duration.isPositive()) {
            for (int tokens : runner.prefillSizes()) {
                await(submit("warm-up-" + requests++, tokens, /* kind */ 0));
            }
            requests += decode(runner.decodeSizes());
        }
        if (!await(engine.resetPrefixCache())) {
            throw new IllegalStateException("somebody uses the cache before this worker said that it is there");
        }
        return new Report(requests, System.nanoTime() - start);
    }

    /**
     * So many sequences side by side, where attention is cut into no pieces, as many as there can be, or a few: over
     * all of them short, all long, or one long. Block tables of widths between those of the two contexts, or beyond,
     * are prepared for when they come.
     */
    private int decode(int[] sizes) throws InterruptedException {
        int[] shortContext = prompt(1);
        int[] longContext = prompt(Math.min(LONG_CONTEXT, model.contextLength() / 2));
        int requests = 0;
        for (int sequences : sizes) {
            await(decode("warm-up-short-" + sequences, shortContext, sequences));
            await(decode("warm-up-long-" + sequences, longContext, sequences));
            requests += 2;
        }
        if (sizes.length > 0) {
            var begun = new CompletableFuture<Void>();
            Generation beside = engine.submitMadeUp(greedy("warm-up-beside", longContext, ENDLESS),
                    List.of(new Completion(begun, /* early */ true))).getFirst();
            await(begun);
            for (int sequences : sizes) {
                await(decode("warm-up-mixed-" + sequences, shortContext, Math.max(1, sequences - 1)));
            }
            engine.cancel(beside);
            requests += 1 + sizes.length;
        }
        return requests;
    }

    private CompletableFuture<Void> decode(String id, int[] prompt, int sequences) {
        return submit(greedy(id, prompt, DECODED_TOKENS), sequences);
    }

    private static GenerateRequest greedy(String id, int[] prompt, int newTokens) {
        return GenerateRequest.of(
                id, prompt.clone(), SamplingParameters.GREEDY, StopConditions.pastTheEnd(newTokens));
    }

    private CompletableFuture<Void> submit(String id, int promptTokens, int kind) {
        var sampling = kind == 0 ? SamplingParameters.GREEDY : new SamplingParameters(1f, 40 * (kind - 1), 0.9f, kind)
                .with(kind == 1 ? LogitRules.NONE : RULES);
        var request = GenerateRequest.of(id, prompt(promptTokens), sampling, StopConditions.pastTheEnd(NEW_TOKENS));
        return submit(kind == 2 ? request.withLogprobs(true, true, ALTERNATIVES) : request, /* choices */ 1);
    }

    private CompletableFuture<Void> submit(GenerateRequest request, int choices) {
        List<CompletableFuture<Void>> done =
                Stream.generate(CompletableFuture<Void>::new).limit(choices).toList();
        engine.submitMadeUp(request, done.stream().<GenerationListener>map(
                one -> new Completion(one, /* early */ false)).toList());
        return CompletableFuture.allOf(done.toArray(CompletableFuture[]::new));
    }

    private int[] prompt(int tokens) {
        int length = Math.max(1, Math.min(tokens, model.contextLength() - NEW_TOKENS));
        return random.ints(length, 0, model.vocabularySize()).toArray();
    }

    private static <T> T await(CompletableFuture<T> future) throws InterruptedException {
        try {
            return future.get(REQUEST_TIMEOUT_SECONDS, TimeUnit.SECONDS);
        } catch (ExecutionException | TimeoutException | CancellationException e) {
            throw new IllegalStateException("the warm-up failed: " + e.getMessage(), e);
        }
    }

    /** @param done completed at the end, or at the first token if it is {@code early} */
    private record Completion(CompletableFuture<Void> done, boolean early) implements GenerationListener {

        @Override
        public void onToken(int token, float logprob) {
            if (early) {
                done.complete(null);
            }
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
