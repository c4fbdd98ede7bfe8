package dev.warmpath.worker.engine;

import dev.warmpath.protocol.generate.FailureReason;
import dev.warmpath.protocol.generate.GenerateRequest;
import java.util.List;

/**
 * What answers requests with tokens: this process's own {@link Engine}, or a foreign one that it stands beside. Safe on
 * any thread; no call waits for a token.
 *
 * @param <G> a generation that was taken on, the submitter's handle for ending it
 */
public interface Generator<G> {

    /**
     * Takes several answers to one prompt on, all or none. They draw with the seeds seed, seed + 1 and so on.
     *
     * @param listeners at least one; each hears one answer, so there are as many as are to be drawn. The first hears
     *                  what is told of the prompt
     * @return the generations in the same order, to be ended one by one
     * @throws RefusedException if the request is wrong, asks for what is not served, or cannot be served now
     */
    List<G> submit(GenerateRequest request, List<GenerationListener> listeners);

    /** Gives back what the generation holds, soon. Its listener hears nothing more. Harmless twice. */
    void cancel(G generation);

    /**
     * Ends the generation early and well: its listener hears that it finished, unless it was over or cancelled before.
     * Harmless twice.
     */
    void stop(G generation);

    /** As many can be alive at a time, running, prefilling or queued; who comes then is refused. */
    int mostGenerations();

    /** Counts a request that came no further than to whoever would have submitted it. @return to be thrown */
    RefusedException refuse(FailureReason reason, String message);
}
