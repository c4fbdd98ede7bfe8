package dev.warmpath.worker.engine;

import dev.warmpath.protocol.generate.GenerateEvent.Usage;
import dev.warmpath.worker.compute.Sampling;
import dev.warmpath.worker.scheduler.Sequence;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/** One accepted request: what is computed, and who hears of it. The submitter's handle for ending it. */
public final class Generation {

    private final Sequence sequence;
    private final GenerationListener listener;
    private final Sampling sampling;
    private final @Nullable LogitShaper shaper;
    private final long submittedNanos;
    private final boolean madeUp;
    /** It was asked to end, or is over: asking for that is no news any more. */
    private final AtomicBoolean closing = new AtomicBoolean();
    private boolean silenced;

    // the engine's own notes, on its clock
    long firstTokenNanos = Sequence.NEVER;
    long lastTokenNanos = Sequence.NEVER;

    /** @param madeUp it is the warm-up's, and not counted among requests */
    Generation(Sequence sequence, GenerationListener listener, long submittedNanos, boolean madeUp) {
        this.sequence = sequence;
        this.listener = listener;
        this.submittedNanos = submittedNanos;
        this.madeUp = madeUp;
        var asked = sequence.sampling();
        this.sampling = new Sampling(asked.seed(), asked.temperature(), asked.topK(), asked.topP(),
                sequence.logprobs().drawn());
        this.shaper = LogitShaper.of(sequence);
    }

    Sequence sequence() {
        return sequence;
    }

    GenerationListener listener() {
        return listener;
    }

    /** How its tokens are drawn. */
    Sampling sampling() {
        return sampling;
    }

    /** How their logits are adjusted before; null if they are not. For the engine's thread. */
    @Nullable LogitShaper shaper() {
        return shaper;
    }

    /** When it arrived, on the engine's clock. */
    long submittedNanos() {
        return submittedNanos;
    }

    boolean isMadeUp() {
        return madeUp;
    }

    /** Nothing is left to end from here on. @return false if so before */
    boolean close() {
        return !closing.getAndSet(true);
    }

    /** The listener is told nothing more. For the engine's thread. */
    void silence() {
        silenced = true;
    }

    boolean isSilenced() {
        return silenced;
    }

    Usage usage() {
        return new Usage(sequence.tokens().promptLength(), sequence.cachedTokens(), sequence.completionTokens());
    }
}
