package dev.warmpath.router.fleet;

import com.fasterxml.jackson.annotation.JsonProperty;
import dev.warmpath.protocol.fleet.StepCost;
import dev.warmpath.router.health.HealthState;
import org.jspecify.annotations.Nullable;

/**
 * A worker as operators see it.
 *
 * @param state          ready: takes requests; joining: its first snapshot or its model's tokenizer is missing;
 *                       draining: finishes what it has and gets nothing new; hanging: its device has been at one step
 *                       for longer than it may, it gets nothing new. One that is gone is not in the list
 * @param problem        why its events do not come or its model is not served, or null
 * @param health         whether requests go there while it is ready
 * @param healthProblem  what ejected it, or null
 * @param failureShare   share of this router's last requests there that failed, 0 to 1, fading with time
 * @param credit         share of the cached tokens promised lately that were found; 0 = its blocks count for nothing
 * @param running        requests being computed, by the last heartbeat; null before the first
 * @param waiting        requests queued
 * @param freeBlocks     blocks that no request holds
 * @param stepAgeMillis  how long its device had been at one step by then; 0 = at none
 * @param held           true while somebody holds it, to step it by hand, by the last heartbeat
 * @param stepCost       what its steps take, as it has measured itself; null before it has
 * @param blockCount     blocks of its pool
 * @param indexEntries   keys that the prefix index holds for it
 * @param lastSequence   number of the last event batch in the index; -1 = no snapshot yet
 * @param leaseAgeMillis since its last sign of life
 */
public record WorkerView(
        String id,
        long epoch,
        String url,
        String model,
        String revision,
        State state,
        @Nullable String problem,
        HealthState health,
        @Nullable String healthProblem,
        double failureShare,
        double credit,
        @Nullable Integer running,
        @Nullable Integer waiting,
        @Nullable Integer freeBlocks,
        @Nullable Long stepAgeMillis,
        boolean held,
        @Nullable StepCost stepCost,
        int blockCount,
        int indexEntries,
        long lastSequence,
        long leaseAgeMillis) {

    /** Whether a worker takes requests. */
    public enum State {
        @JsonProperty("joining")
        JOINING,
        @JsonProperty("ready")
        READY,
        @JsonProperty("draining")
        DRAINING,
        @JsonProperty("hanging")
        HANGING
    }
}
