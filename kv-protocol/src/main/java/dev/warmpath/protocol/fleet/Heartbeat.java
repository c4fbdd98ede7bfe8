package dev.warmpath.protocol.fleet;

import com.fasterxml.jackson.annotation.JsonSetter;
import com.fasterxml.jackson.annotation.Nulls;

/**
 * A worker's state, once a second. Keeps its lease alive and lets the router find a lost tail of the event stream.
 *
 * @param workerId             who
 * @param epoch                which life of it
 * @param running              requests being computed
 * @param waiting              requests queued behind them
 * @param freeBlocks           blocks no running request holds; cached ones among them
 * @param pendingPromptTokens  prompt tokens of running and waiting requests that still have to be computed
 * @param lastSequence         number of the last event batch
 * @param setSize              announced keys after that batch
 * @param setDigest            digest of them
 * @param draining             true: it finishes what it has and takes nothing new; never taken back in this life.
 *                             Whoever does not know this field goes on sending, and is refused with
 *                             {@link dev.warmpath.protocol.generate.FailureReason#SHUTTING_DOWN}; one that leaves it
 *                             out is not draining
 * @param stepAgeMillis        how long the device step that is running has been running; 0 while none is
 * @param hanging              true while that is longer than it may be: the worker takes nothing new, and ends if it goes
 *                             on. Who leaves the last two out is not hanging
 */
public record Heartbeat(
        String workerId,
        long epoch,
        int running,
        int waiting,
        int freeBlocks,
        long pendingPromptTokens,
        long lastSequence,
        int setSize,
        long setDigest,
        @JsonSetter(nulls = Nulls.AS_EMPTY) boolean draining,
        @JsonSetter(nulls = Nulls.AS_EMPTY) long stepAgeMillis,
        @JsonSetter(nulls = Nulls.AS_EMPTY) boolean hanging) {

    /** Of a worker that takes requests, between two steps. */
    public Heartbeat(String workerId, long epoch, int running, int waiting, int freeBlocks, long pendingPromptTokens,
            long lastSequence, int setSize, long setDigest) {
        this(workerId, epoch, running, waiting, freeBlocks, pendingPromptTokens, lastSequence, setSize, setDigest,
                false, 0, false);
    }
}
