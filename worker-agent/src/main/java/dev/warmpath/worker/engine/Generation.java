package dev.warmpath.worker.engine;

import dev.warmpath.protocol.generate.GenerateEvent.Usage;
import dev.warmpath.worker.scheduler.Sequence;

/** One accepted request: what is computed, and who hears of it. The submitter's handle for cancelling. */
public final class Generation {

    private final Sequence sequence;
    private final GenerationListener listener;

    Generation(Sequence sequence, GenerationListener listener) {
        this.sequence = sequence;
        this.listener = listener;
    }

    Sequence sequence() {
        return sequence;
    }

    GenerationListener listener() {
        return listener;
    }

    Usage usage() {
        return new Usage(sequence.tokens().promptLength(), sequence.tokens().cachedTokens(),
                sequence.completionTokens());
    }
}
