package dev.warmpath.worker.scheduler;

import dev.warmpath.worker.kvcache.KvCacheManager;
import dev.warmpath.worker.kvcache.TokenSequence;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Who of the waiting is tried next. The queue's order, with four exceptions:
 *
 * <ul>
 *   <li>one that lacks blocks may be overtaken by the next few behind it;
 *   <li>if the settings say so, the one with the longest cached prefix among the first few goes first;
 *   <li>a follower waits until its leader has computed the prompt that they share, and keeps nobody up;
 *   <li>who has rules for logits, and behind others like it finds no room for their entries, keeps up its like only.
 * </ul>
 *
 * <p>Nobody starves of it: who has waited as long as the overtake limit is not overtaken any more, nor is anybody by a
 * lower rank. One step's tries are {@link #begin}, {@link #next} again and again, and after each {@link #admitted} or, if
 * it found no blocks, {@link #refused}, or no room for entries, {@link #lacksEntries}.
 */
final class AdmissionOrder {

    /** So many are tried behind one that lacks blocks. Each costs a look-up in the cache, so they are few. */
    static final int OVERTAKERS = 8;
    static final int NOBODY = -1;

    private final WaitingQueue waiting;
    private final KvCacheManager cache;
    private final int cacheAwareWindow;
    private final int window;
    private final long overtakeLimitNanos;
    private final int blockSize;
    private long step;
    private int refusals;
    private boolean lacksEntries;
    private long lookUps;
    private long nowNanos;

    AdmissionOrder(WaitingQueue waiting, KvCacheManager cache, SchedulerSettings settings) {
        this.waiting = waiting;
        this.cache = cache;
        this.blockSize = cache.blockSize();
        this.cacheAwareWindow = settings.cacheAwareWindow();
        this.window = Math.max(1 + OVERTAKERS, cacheAwareWindow);
        this.overtakeLimitNanos = settings.overtakeLimitNanos();
    }

    /** A new step: everybody may be tried again. */
    void begin(long nowNanos) {
        this.nowNanos = nowNanos;
        step++;
        refusals = 0;
        lacksEntries = false;
    }

    /** The place in the queue of the one to try now, or {@link #NOBODY}. */
    int next() {
        if (refusals > OVERTAKERS) {
            return NOBODY;
        }
        int best = NOBODY;
        int bestCached = -1;
        int seen = 0;
        @Nullable Sequence foremost = null;
        for (int place = 0; place < waiting.size() && seen < window; place++) {
            Sequence sequence = waiting.get(place);
            if (sequence.awaitsLeader() || lacksEntries && sequence.adjustsLogits()) {
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
                lookUp(sequence);
                if (sequence.resumableTokens > bestCached) {
                    best = place;
                    bestCached = sequence.resumableTokens;
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
        if (sequence.lackedBlocksNanos == Sequence.NEVER) {
            sequence.lackedBlocksNanos = nowNanos;
        }
        refusals++;
    }

    /** The one tried last found no room for its logits' entries. Others with rules wait, too, even small ones. */
    void lacksEntries() {
        lacksEntries = true;
    }

    /** The one tried last runs: whoever goes on like it behind what was found finds more now. */
    void admitted(Sequence admitted) {
        int seen = 0;
        for (int place = 0; place < waiting.size() && seen < cacheAwareWindow; place++) {
            Sequence sequence = waiting.get(place);
            if (sequence.lookedUpInStep == step) {
                seen++;
                if (goesOnLike(admitted.tokens(), sequence)) {
                    sequence.lookedUpInStep = 0;
                }
            }
        }
    }

    /** True if the first block that was not found for the sequence may be one that was just scheduled. */
    private boolean goesOnLike(TokenSequence admitted, Sequence sequence) {
        TokenSequence tokens = sequence.tokens();
        int from = sequence.resumableTokens;
        int to = (from / blockSize + 1) * blockSize;
        return to < tokens.tokenCount() && to <= admitted.computedTokens()
                && Arrays.equals(admitted.tokens(), from, to, tokens.tokens(), from, to);
    }

    /** Once a step is enough, for most of them: a long prompt costs some microseconds. */
    private void lookUp(Sequence sequence) {
        if (sequence.lookedUpInStep != step) {
            sequence.lookedUpInStep = step;
            sequence.resumableTokens = cache.resumableTokens(sequence.tokens(), cache.match(sequence.tokens()));
            lookUps++;
        }
    }

    /** How often the cache was asked, since the start. */
    long lookUps() {
        return lookUps;
    }

    /** False if it was tried in this step; or before, and the free blocks have not become more. */
    private boolean mayFit(Sequence sequence, boolean foremost) {
        return sequence.refusedInStep != step
                && (foremost || cache.freeBlocks() > sequence.freeBlocksWhenRefused);
    }
}
