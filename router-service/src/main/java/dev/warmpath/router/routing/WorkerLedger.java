package dev.warmpath.router.routing;

import dev.warmpath.protocol.block.BlockHashChain;
import dev.warmpath.protocol.fleet.Heartbeat;
import dev.warmpath.protocol.fleet.RouterId;
import dev.warmpath.protocol.fleet.RouterLoad;
import dev.warmpath.router.fleet.IndexGrade;
import java.util.HashSet;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * What this router has in flight at one worker, in numbers, and what others have there. The books' monitor guards it;
 * the numbers are read without, each load as a whole.
 *
 * <p>While the index is not in step with the worker, its word does not count here: what this router has sent there goes
 * into a history. That ends when the index is in step again, or when nothing but load counts ({@link IndexGrade#LOAD})
 * and nobody would read it.
 */
final class WorkerLedger {

    private static final int TELLING_TOKENS = 512;
    /** Of the latest in what is known of the worker's speed. */
    private static final double RATE_WEIGHT = 1.0 / 8;

    private final RouterId self;
    private final int slot;
    private final int blockCount;
    private final Set<Booking> bookings = new HashSet<>();
    private final PromptHistory history;
    private volatile boolean hasHistory;
    private volatile Load booked = Load.NONE;
    private volatile Load others = Load.NONE;
    private volatile @Nullable Heartbeat lastHeard;
    private volatile long lastChosen;
    private volatile double prefillTokensPerNano;

    /**
     * @param self       by which the worker tells this router's requests from those of others
     * @param slot       its place in arrays of all workers' numbers
     * @param blockCount of the worker's pool
     */
    WorkerLedger(RouterId self, int slot, int blockCount) {
        this.self = self;
        this.slot = slot;
        this.blockCount = blockCount;
        this.history = new PromptHistory(blockCount);
    }

    /**
     * @param pendingTokens   uncached prompt tokens of requests without a first token yet
     * @param pendingRequests how many these are
     * @param requests        sequences, running and waiting
     * @param blocks          held by them
     * @param contextTokens   of their prompts, and of answers as far as the worker tells
     */
    record Load(long pendingTokens, int pendingRequests, int requests, int blocks, long contextTokens) {
        static final Load NONE = new Load(0, 0, 0, 0, 0);

        Load plus(long tokens, int pendingCount, int requestCount, int blockCount, long context) {
            return new Load(pendingTokens + tokens, pendingRequests + pendingCount, requests + requestCount,
                    blocks + blockCount, contextTokens + context);
        }

        Load minusDownToZero(Load other) {
            return new Load(Math.max(0, pendingTokens - other.pendingTokens),
                    Math.max(0, pendingRequests - other.pendingRequests), Math.max(0, requests - other.requests),
                    Math.max(0, blocks - other.blocks), Math.max(0, contextTokens - other.contextTokens));
        }
    }

    int slot() {
        return slot;
    }

    /** Bookings that are running or promised; to be written by {@link Books}. */
    Set<Booking> bookings() {
        return bookings;
    }

    /** @param ownBlocks that only this request holds */
    void book(Booking booking, int ownBlocks, long decision) {
        lastChosen = decision;                                     // first: who sees the new load sees this, too
        booked = booked.plus(booking.pendingTokens, 1, booking.sequences, ownBlocks, booking.contextTokens());
    }

    /** @param isTimed false: how long it took tells nothing of the worker */
    void firstToken(Booking booking, boolean isTimed, long nowNanos) {
        if (isTimed) {
            learnPrefillRate(booking, nowNanos);
        }
        booked = booked.plus(-booking.pendingTokens, -1, 0, 0, 0);
        booking.pendingTokens = 0;
    }

    /** Short prompts tell nothing: most of their time is not their tokens'. */
    private void learnPrefillRate(Booking booking, long nowNanos) {
        if (booking.tokensToFirst >= TELLING_TOKENS && nowNanos > booking.bookedNanos) {
            double rate = (double) booking.tokensToFirst / (nowNanos - booking.bookedNanos);
            double before = prefillTokensPerNano;
            prefillTokensPerNano = before + (rate - before) * (before == 0 ? 1 : RATE_WEIGHT);
        }
    }

    /** How long the worker will be computing prompts that were booked here; 0 while its speed is not known. */
    long prefillNanos() {
        double rate = prefillTokensPerNano;
        return rate == 0 ? 0 : (long) (booked.pendingTokens() / rate);
    }

    /** @param ownBlocks that only this request holds */
    void close(Booking booking, int ownBlocks) {
        booked = booked.plus(-booking.pendingTokens, booking.hasFirstToken ? 0 : -1, -booking.sequences, -ownBlocks,
                -booking.contextTokens());
    }

    // ---- what was sent there while the index could not tell

    /** Whether the history counts, and is kept. */
    static boolean isHistoryRead(boolean inStep, IndexGrade grade) {
        return !inStep && grade != IndexGrade.LOAD;
    }

    void remember(BlockHashChain chain) {
        history.add(chain);
        hasHistory = true;
    }

    void forgetHistory() {
        if (hasHistory) {
            history.clear();
            hasHistory = false;
        }
    }

    boolean hasHistory() {
        return hasHistory;
    }

    /** Leading blocks of the chain that the history has. */
    int historyBlocks(BlockHashChain chain, int limit) {
        return history.match(chain, limit);
    }

    // ---- loads

    Load booked() {
        return booked;
    }

    /** Number of the decision that chose the worker last; 0 = never. */
    long lastChosen() {
        return lastChosen;
    }

    /** Whether {@link #hear} would tell nothing new. */
    boolean hasHeard(@Nullable Heartbeat heartbeat) {
        return heartbeat == null || heartbeat == lastHeard;
    }

    /**
     * Takes the last heartbeat in, unless it is known. Has to be told before anything that came after it is booked or
     * closed, for what the worker does not tell apart is compared with what is booked now.
     */
    void hear(@Nullable Heartbeat heartbeat) {
        if (heartbeat != null && heartbeat != lastHeard) {
            others = ofOthers(heartbeat);
            lastHeard = heartbeat;
        }
    }

    /**
     * What the worker has less what it has of this router, as it saw it: a request that is still under way there hides
     * nothing, and one that has ended since does not look like another router's. Blocks have several holders and are
     * not told apart, nor are contexts; what is beyond that booked here is taken for others'. Likewise all that a
     * worker has which tells no routers apart, or so many that this one may be one too many.
     */
    private Load ofOthers(Heartbeat heartbeat) {
        Load all = reported(heartbeat);
        RouterLoad own = heartbeat.of(self);
        if (own == null && !tellsAllApart(heartbeat)) {
            return all.minusDownToZero(booked);
        }
        Load ours = own == null ? new Load(0, 0, 0, booked.blocks(), booked.contextTokens())
                : new Load(own.pendingPromptTokens(), own.pendingRequests(), own.requests(), booked.blocks(),
                        booked.contextTokens());
        return all.minusDownToZero(ours);
    }

    private static boolean tellsAllApart(Heartbeat heartbeat) {
        return heartbeat.routers() != null && heartbeat.routers().size() < Heartbeat.MAX_ROUTERS;
    }

    /** Who does not tell how many have no first token yet tells at least how many wait. */
    private Load reported(Heartbeat heartbeat) {
        return new Load(heartbeat.pendingPromptTokens(),
                heartbeat.routers() == null ? heartbeat.waiting() : heartbeat.pendingRequests(),
                heartbeat.running() + heartbeat.waiting(), blockCount - heartbeat.freeBlocks(),
                heartbeat.contextTokens());
    }

    /** By the last heartbeat. */
    Load loadOfOthers() {
        return others;
    }

    /** The same, as it would be once that heartbeat had been taken in. Changes nothing. */
    Load loadOfOthers(@Nullable Heartbeat last) {
        return last == null || hasHeard(last) ? others : ofOthers(last);
    }
}
