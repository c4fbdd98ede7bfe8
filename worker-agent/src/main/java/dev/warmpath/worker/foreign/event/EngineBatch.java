package dev.warmpath.worker.foreign.event;

import java.util.List;

/**
 * The events of one step of an engine.
 *
 * @param timeSeconds   the engine's clock when it sent them; NaN if it did not say
 * @param rank          which of its data-parallel replicas it is, or {@link #NO_RANK}; vLLM 0.32 says 0 where there
 *                      is but one
 * @param events        in order of happening
 * @param unknownEvents events of a kind that is not known, left out
 */
record EngineBatch(double timeSeconds, int rank, List<EngineEvent> events, int unknownEvents) {

    static final int NO_RANK = -1;

    EngineBatch {
        events = List.copyOf(events);
    }
}
