package dev.warmpath.worker.foreign.generate;

import dev.warmpath.protocol.generate.FailureReason;
import dev.warmpath.protocol.generate.FinishReason;
import dev.warmpath.protocol.generate.GenerateEvent.Usage;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.atomic.LongAdder;

/** What became of requests since the start. Safe on any thread. */
public final class Counts {

    private final AtomicLongArray finished = new AtomicLongArray(FinishReason.values().length);
    private final AtomicLongArray failed = new AtomicLongArray(FailureReason.values().length);
    private final AtomicLongArray refused = new AtomicLongArray(FailureReason.values().length);
    private final LongAdder cancelled = new LongAdder();
    private final AtomicLong readOtherwise = new AtomicLong();
    private final LongAdder promptTokens = new LongAdder();
    private final LongAdder cachedPromptTokens = new LongAdder();
    private final LongAdder generatedTokens = new LongAdder();

    void countFinished(FinishReason reason, Usage usage) {
        finished.incrementAndGet(reason.ordinal());
        promptTokens.add(usage.promptTokens());
        cachedPromptTokens.add(usage.cachedTokens());
        generatedTokens.add(usage.completionTokens());
    }

    void countFailed(FailureReason reason) {
        failed.incrementAndGet(reason.ordinal());
    }

    void countRefused(FailureReason reason) {
        refused.incrementAndGet(reason.ordinal());
    }

    void countCancelled() {
        cancelled.increment();
    }

    /** @return how many there are now */
    long countReadOtherwise() {
        return readOtherwise.incrementAndGet();
    }

    /** Prompts in which a server that takes text has found another number of tokens. */
    public long readOtherwise() {
        return readOtherwise.get();
    }

    public long finished(FinishReason reason) {
        return finished.get(reason.ordinal());
    }

    /** Taken, and failed later. */
    public long failed(FailureReason reason) {
        return failed.get(reason.ordinal());
    }

    /** Not taken. */
    public long refused(FailureReason reason) {
        return refused.get(reason.ordinal());
    }

    /** Nobody waited for them any more. */
    public long cancelled() {
        return cancelled.sum();
    }

    /** Of requests that finished, as are the next two. */
    public long promptTokens() {
        return promptTokens.sum();
    }

    /** Of those, found in the engine's cache. */
    public long cachedPromptTokens() {
        return cachedPromptTokens.sum();
    }

    public long generatedTokens() {
        return generatedTokens.sum();
    }
}
