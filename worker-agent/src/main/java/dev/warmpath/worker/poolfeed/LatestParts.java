package dev.warmpath.worker.poolfeed;

import dev.warmpath.protocol.pool.PoolRequest;
import dev.warmpath.protocol.pool.RequestState;
import dev.warmpath.worker.engine.EngineBooks;
import dev.warmpath.worker.scheduler.ScheduledBatch;
import dev.warmpath.worker.scheduler.Sequence;
import dev.warmpath.worker.scheduler.SequenceState.Alive;
import java.util.IdentityHashMap;
import java.util.Map;

/** Who had a part in the engine's latest batch, and so how everybody stands. On the engine's thread. */
final class LatestParts {

    private final Map<Sequence, Integer> tokenCounts = new IdentityHashMap<>();

    LatestParts(EngineBooks books) {
        ScheduledBatch batch = books.latestBatch();
        for (int entry = 0; entry < batch.size(); entry++) {
            tokenCounts.put(batch.sequence(entry), batch.tokenCount(entry));
        }
    }

    PoolRequest describe(Sequence sequence) {
        return new PoolRequest(sequence.requestId(), sequence.choice(), state(sequence),
                sequence.tokens().promptLength(), sequence.cachedTokens(), sequence.tokens().computedTokens(),
                sequence.completionTokens(), tokenCounts.getOrDefault(sequence, 0));
    }

    private static RequestState state(Sequence sequence) {
        if (sequence.state() == Alive.RUNNING) {
            return RequestState.RUNNING;
        }
        return sequence.tokens().swappedTokens() > 0 ? RequestState.SWAPPED : RequestState.WAITING;
    }
}
