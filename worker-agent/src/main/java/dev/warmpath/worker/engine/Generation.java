package dev.warmpath.worker.engine;

import dev.warmpath.protocol.generate.GenerateEvent.Usage;
import dev.warmpath.worker.compute.Sampling;
import dev.warmpath.worker.scheduler.Sequence;
import java.util.concurrent.atomic.AtomicBoolean;

/** One accepted request: what is computed, and who hears of it. The submitter's handle for ending it. */
public final class Generation {

    private final Sequence sequence;
    private final GenerationListener listener;
    private final Sampling sampling;
    /** It was asked to end, or is over: asking for that is no news any more. */
    private final AtomicBoolean closing = new AtomicBoolean();
    private boolean silenced;

    Generation(Sequence sequence, GenerationListener listener) {
        this.sequence = sequence;
        this.listener = listener;
        var asked = sequence.sampling();
        this.sampling = new Sampling(asked.seed(), asked.temperature(), asked.topK(), asked.topP(), sequence.logprobs());
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
        return new Usage(sequence.tokens().promptLength(), sequence.tokens().cachedTokens(),
                sequence.completionTokens());
    }
}
