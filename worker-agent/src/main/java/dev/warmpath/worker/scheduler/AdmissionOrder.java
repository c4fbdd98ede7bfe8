package dev.warmpath.worker.scheduler;

import dev.warmpath.worker.kvcache.KvCacheManager;
import dev.warmpath.worker.scheduler.SequenceState.Alive;
import org.jspecify.annotations.Nullable;

/**
 * Who of the waiting is tried next. The queue's order, with three exceptions:
 *
 * <ul>
 *   <li>one that lacks blocks may be overtaken by the next few behind it;
 *   <li>if the settings say so, the one with the longest cached prefix among the first few goes first;
 *   <li>a follower waits until its leader has computed the prompt that they share, and keeps nobody up.
 * </ul>
 *
 * <p>Nobody starves of it: who has waited as long as the overtake limit is not overtaken any more, nor is anybody by a
 * lower rank. One step's tries are {@link #begin}, {@link #next} again and again, {@link #refused} after each that
 * found no blocks.
 */
final class AdmissionOrder {

    /** So many may overtake one that lacks blocks. Each costs a look-up in the cache, so they are few. */
    static final int OVERTAKERS = 8;
    static final int NOBODY = -1;

    private final WaitingQueue waiting;
    private final KvCacheManager cache;
    private final int cacheAwareWindow;
    private final int window;
    private final long overtakeLimitNanos;
    private long step;
    private long nowNanos;

    AdmissionOrder(WaitingQueue waiting, KvCacheManager cache, SchedulerSettings settings) {
        this.waiting = waiting;
        this.cache = cache;
        this.cacheAwareWindow = settings.cacheAwareWindow();
        this.window = Math.max(1 + OVERTAKERS, cacheAwareWindow);
        this.overtakeLimitNanos = settings.overtakeLimitNanos();
    }

    /** A new step: everybody may be tried again. */
    void begin(long nowNanos) {
        this.nowNanos = nowNanos;
        step++;
    }

    /** The place in the queue of the one to try now, or {@link #NOBODY}. */
    int next() {
        int best = NOBODY;
        int bestCached = -1;
        int seen = 0;
        @Nullable Sequence foremost = null;
        for (int place = 0; place < waiting.size() && seen < window; place++) {
            Sequence sequence = waiting.get(place);
            if (awaitsLeader(sequence)) {
                continue;
            }
            if (foremost == null) {
                foremost = sequence;
            }
            if (sequence.rank != foremost.rank || best != NOBODY && seen >= cacheAwareWindow) {
                break;
            }
            if (mayFit(sequence, sequence == foremost)) {
                if (seen >= cacheAwareWindow) {
                    return place;
                }
                int cached = cache.resumableTokens(sequence.tokens(), cache.match(sequence.tokens()));
                if (cached > bestCached) {
                    best = place;
                    bestCached = cached;
                }
            }
            if (nowNanos - sequence.arrivalNanos >= overtakeLimitNanos) {
                break;
            }
            seen++;
        }
        return best;
    }

    /** The one tried last found no blocks. */
    void refused(Sequence sequence) {
        sequence.refusedInStep = step;
        sequence.freeBlocksWhenRefused = cache.freeBlocks();
    }

    /** False if it was tried in this step; or before, and the free blocks have not become more. */
    private boolean mayFit(Sequence sequence, boolean foremost) {
        return sequence.refusedInStep != step
                && (foremost || cache.freeBlocks() > sequence.freeBlocksWhenRefused);
    }

    /** A leader that was preempted, is over or was never submitted is not waited for. */
    private static boolean awaitsLeader(Sequence sequence) {
        Sequence leader = sequence.leader();
        if (leader == null || sequence.state() == Alive.PREEMPTED) {
            return false;
        }
        return leader.state() == Alive.WAITING || leader.state() == Alive.RUNNING && !leader.hasScheduledPrompt();
    }
}
