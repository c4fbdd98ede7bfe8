package dev.warmpath.router.decisions;

import dev.warmpath.router.routing.RouteDecision.Routed;
import java.time.Instant;
import java.util.Objects;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * A request's placement at one worker, from the choice to the end of the attempt there. Whoever sends the request tells
 * what happens, in order and on one thread at a time; others may read.
 */
public final class Decision {

    private static final long UNKNOWN = -1;

    private final Instant at;
    private final Subject subject;
    private final Routed routed;
    private final LongSupplier nanoTime;
    private final long startNanos;
    private final Consumer<Decision> whenEnded;
    private volatile long firstTokenNanos = UNKNOWN;
    private volatile int drawnTokens;
    private boolean held;
    private int cachedTokens = (int) UNKNOWN;
    private int completionTokens = (int) UNKNOWN;
    private volatile @Nullable Outcome outcome;

    /**
     * Which try of which request.
     *
     * @param requestId as in the answer's {@code x-request-id}; a client may choose it, and use it twice
     * @param attempt   1 for the first worker that is asked
     */
    public record Subject(String requestId, int attempt, String model, String revision) {}

    /**
     * How it ended.
     *
     * @param end              {@code answered}, {@code left} if it was not wanted any more, or the cause of a failure
     *                         as in the meter of failures
     * @param firstTokenNanos  since the decision; null if none came
     * @param totalNanos       since the decision
     * @param cachedTokens     found by the worker; null if it did not tell
     * @param completionTokens drawn by the worker; null if it did not tell
     */
    public record Outcome(String end, @Nullable Long firstTokenNanos, long totalNanos, @Nullable Integer cachedTokens,
            @Nullable Integer completionTokens) {}

    Decision(Instant at, Subject subject, Routed routed, LongSupplier nanoTime, Consumer<Decision> whenEnded) {
        this.at = at;
        this.subject = subject;
        this.routed = routed;
        this.nanoTime = nanoTime;
        this.startNanos = nanoTime.getAsLong();
        this.whenEnded = whenEnded;
    }

    public void firstToken() {
        firstTokenNanos = nanoTime.getAsLong() - startNanos;
    }

    /** So many more tokens have come. */
    public void drew(int tokens) {
        drawnTokens = drawnTokens + tokens;                        // one thread at a time tells
    }

    /** Somebody has held the worker before its first token: nobody could foresee when that would come. */
    public void held() {
        held = true;
    }

    /** What the worker tells at the end of its answer. */
    public void usage(int cachedTokens, int completionTokens) {
        this.cachedTokens = cachedTokens;
        this.completionTokens = completionTokens;
    }

    public void answered() {
        end("answered");
    }

    /** It is not wanted any more: the client has left, or this router stops. */
    public void left() {
        end("left");
    }

    /** @param cause one of dispatch's closed set */
    public void failed(String cause) {
        end(cause);
    }

    private void end(String end) {
        outcome = new Outcome(end, firstTokenNanos == UNKNOWN ? null : firstTokenNanos,
                nanoTime.getAsLong() - startNanos, known(cachedTokens), known(completionTokens));
        whenEnded.accept(this);
    }

    private static @Nullable Integer known(int tokens) {
        return tokens == UNKNOWN ? null : tokens;
    }

    public Instant at() {
        return at;
    }

    public Subject subject() {
        return subject;
    }

    public Routed routed() {
        return routed;
    }

    /** How it ended, see {@link Outcome#end}. */
    String end() {
        return Objects.requireNonNull(outcome).end();
    }

    /** Since the decision; null if none has come, as it stands when the attempt has ended. */
    @Nullable Long firstTokenNanos() {
        return Objects.requireNonNull(outcome).firstTokenNanos();
    }

    /** Since the decision; below 0 while none has come. */
    public long firstTokenSoFarNanos() {
        return firstTokenNanos;
    }

    /** Of all choices, that have come so far. */
    public int drawnTokens() {
        return drawnTokens;
    }

    boolean wasHeld() {
        return held;
    }

    /** Null while the attempt goes on. */
    public @Nullable Outcome outcome() {
        return outcome;
    }
}
