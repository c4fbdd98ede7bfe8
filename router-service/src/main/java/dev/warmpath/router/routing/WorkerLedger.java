package dev.warmpath.router.routing;

import dev.warmpath.protocol.block.BlockHashChain;
import dev.warmpath.protocol.fleet.Heartbeat;
import dev.warmpath.protocol.fleet.RouterId;
import dev.warmpath.protocol.fleet.RouterLoad;
import dev.warmpath.router.fleet.IndexGrade;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.function.LongPredicate;
import org.jspecify.annotations.Nullable;

/**
 * What this router has in flight at one worker. Its owner's lock guards it.
 *
 * <p>A booked prompt's blocks count as held by the worker until the index has them, which is known from its last full
 * block. After a request's end they count for two seconds more, in case the events are late; if it ended before its
 * first token, its blocks may never have been computed and count no more.
 *
 * <p>While the index is not in step with the worker, its word does not count here: what this router has sent there is
 * held, running or ended, and after the two seconds it goes into a history. That ends when the index is in step again,
 * or when nothing but load counts ({@link IndexGrade#LOAD}) and nobody would read it.
 *
 * <p>Requests that share a prefix hold its blocks once. Keys are chained, so the prompts form a trie: a request adds
 * what it has beyond the longest prefix that another one holds, and takes away the same, reckoned anew when it leaves.
 */
final class WorkerLedger {

    private static final long LONGEST_EVENT_DELAY_NANOS = 2_000_000_000L;
    /** Bounds memory when events stay away altogether; the oldest give way. */
    private static final int MAX_ENDED = 1024;
    private static final int TELLING_TOKENS = 512;
    /** Of the latest in what is known of the worker's speed. */
    private static final double RATE_WEIGHT = 1.0 / 8;

    private final RouterId self;
    private final int blockSize;
    private final int blockCount;
    private final List<Entry> running = new ArrayList<>();
    private final Deque<Entry> ended = new ArrayDeque<>();
    private final PromptHistory history;
    private Load booked = Load.NONE;
    private Load others = Load.NONE;
    private @Nullable Heartbeat lastHeard;
    private long lastChosen;
    private double prefillTokensPerNano;

    /**
     * @param self       by which the worker tells this router's requests from those of others
     * @param blockCount of the worker's pool
     */
    WorkerLedger(RouterId self, int blockSize, int blockCount) {
        this.self = self;
        this.blockSize = blockSize;
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

    /**
     * What the index can say of this worker now.
     *
     * @param inStep whether it is, with this worker
     * @param grade  how far it can be relied on
     * @param holds  whether this worker announces a key
     */
    record IndexWord(boolean inStep, IndexGrade grade, long nowNanos, LongPredicate holds) {
        private boolean knows(Entry entry) {
            return inStep && (entry.keys.length == 0 || holds.test(entry.keys[entry.keys.length - 1]));
        }

        private boolean leavesRoomForHistory() {
            return isHistoryRead(inStep, grade);
        }

        private boolean mayBeLateFor(Entry ended) {
            return nowNanos - ended.closedNanos <= LONGEST_EVENT_DELAY_NANOS;
        }
    }

    /** One booked request. */
    static final class Entry {
        /** Of the prompt's full blocks; never written. */
        private final long[] keys;
        /** Of the whole prompt, shared ones and the last, partial one included. */
        private final int blocks;
        private final int promptTokens;
        /** That draw its answers. */
        private final int sequences;
        private long pendingTokens;
        private boolean hasFirstToken;
        private boolean indexed;
        private boolean closed;
        private long closedNanos;
        private final long bookedNanos;
        /** Uncached tokens that had to be computed for its first token, its own included; 0 = also had to wait. */
        private final long tokensToFirst;

        private Entry(long[] keys, int blocks, int promptTokens, int sequences, long pendingTokens, long bookedNanos,
                long tokensToFirst) {
            this.keys = keys;
            this.blocks = blocks;
            this.promptTokens = promptTokens;
            this.sequences = sequences;
            this.pendingTokens = pendingTokens;
            this.bookedNanos = bookedNanos;
            this.tokensToFirst = tokensToFirst;
        }

        /** Equal keys mean equal prefixes. Most prompts differ from their first block on. */
        private int commonBlocks(BlockHashChain chain, int limit) {
            int most = Math.min(limit, keys.length);
            return most == 0 || keys[0] != chain.key(0) ? 0 : LeadingBlocks.count(most, i -> keys[i] == chain.key(i));
        }

        private long contextTokens() {
            return (long) promptTokens * sequences;
        }

        private int commonBlocks(Entry with) {
            int most = Math.min(with.keys.length, keys.length);
            return most == 0 || keys[0] != with.keys[0] ? 0 : LeadingBlocks.count(most, i -> keys[i] == with.keys[i]);
        }
    }

    /**
     * @param sequences that share the prompt
     * @param hasSlot   whether the worker can begin with it at once, but for the prompts before it
     */
    Entry book(BlockHashChain chain, int promptTokens, int sequences, int cachedTokens, boolean hasSlot, long decision,
            long nowNanos) {
        long[] keys = new long[chain.blockCount()];
        for (int i = 0; i < keys.length; i++) {
            keys[i] = chain.key(i);
        }
        int uncachedTokens = promptTokens - cachedTokens;
        var entry = new Entry(keys, Math.ceilDiv(promptTokens, blockSize), promptTokens, sequences, uncachedTokens,
                nowNanos,
                hasSlot ? booked.pendingTokens() + uncachedTokens : 0);
        booked = booked.plus(entry.pendingTokens, 1, sequences, ownBlocks(entry), entry.contextTokens());
        running.add(entry);
        lastChosen = decision;
        return entry;
    }

    /** @param isTimed false: how long it took tells nothing of the worker */
    void firstToken(Entry entry, boolean isTimed, long nowNanos) {
        if (!entry.hasFirstToken && !entry.closed) {
            if (isTimed) {
                learnPrefillRate(entry, nowNanos);
            }
            entry.hasFirstToken = true;
            booked = booked.plus(-entry.pendingTokens, -1, 0, 0, 0);
            entry.pendingTokens = 0;
        }
    }

    /** Short prompts tell nothing: most of their time is not their tokens'. */
    private void learnPrefillRate(Entry entry, long nowNanos) {
        if (entry.tokensToFirst >= TELLING_TOKENS && nowNanos > entry.bookedNanos) {
            double rate = (double) entry.tokensToFirst / (nowNanos - entry.bookedNanos);
            prefillTokensPerNano += (rate - prefillTokensPerNano) * (prefillTokensPerNano == 0 ? 1 : RATE_WEIGHT);
        }
    }

    /** How long the worker will be computing prompts that were booked here; 0 while its speed is not known. */
    long prefillNanos() {
        return prefillTokensPerNano == 0 ? 0 : (long) (booked.pendingTokens() / prefillTokensPerNano);
    }

    /**
     * @param inStep whether the index is, with this worker, now
     * @param grade  how far the index can be relied on
     */
    void close(Entry entry, boolean inStep, IndexGrade grade, long nowNanos) {
        if (entry.closed) {
            return;
        }
        entry.closed = true;
        entry.closedNanos = nowNanos;
        running.remove(entry);
        booked = booked.plus(-entry.pendingTokens, entry.hasFirstToken ? 0 : -1, -entry.sequences, -ownBlocks(entry),
                -entry.contextTokens());
        boolean known = entry.indexed && inStep;
        if (entry.hasFirstToken && !known && entry.keys.length > 0) {
            ended.add(entry);
            if (ended.size() > MAX_ENDED) {
                forgetOldest(isHistoryRead(inStep, grade));
            }
        }
    }

    /**
     * Leaves to the index what it knows by now, if it is to be trusted. Asks it for one key of each running prompt that
     * was computed, and of the prompts that have ended from the oldest to the first that it does not know: of a worker
     * that announces nothing there may be a thousand. Forgets only what {@link #aboutToHold} would not count any more.
     */
    void settle(IndexWord index) {
        boolean keepsHistory = index.leavesRoomForHistory();
        while (!ended.isEmpty() && !index.mayBeLateFor(ended.getFirst())) {
            forgetOldest(keepsHistory);
        }
        if (!keepsHistory) {
            history.clear();
        }
        while (!ended.isEmpty() && index.knows(ended.getFirst())) {
            ended.removeFirst();
        }
        for (Entry entry : running) {
            entry.indexed = entry.indexed || entry.hasFirstToken && index.knows(entry);
        }
    }

    private static boolean isHistoryRead(boolean inStep, IndexGrade grade) {
        return !inStep && grade != IndexGrade.LOAD;
    }

    private void forgetOldest(boolean intoHistory) {
        Entry oldest = ended.removeFirst();
        if (intoHistory) {
            history.add(oldest.keys);
        }
    }

    /**
     * Leading blocks of the chain that requests have brought, unless the index has known them and does so no more.
     * Those that it has learned of a moment ago count here, too: it was asked about this prompt before. Changes nothing.
     */
    int aboutToHold(BlockHashChain chain, int maxBlocks, IndexWord index) {
        int limit = Math.min(maxBlocks, chain.blockCount());
        int most = index.leavesRoomForHistory() ? settledHistory(index).match(chain, limit) : 0;
        for (Entry entry : running) {
            int common = entry.commonBlocks(chain, limit);
            boolean counts = common > most && (!index.inStep() || !entry.indexed || index.knows(entry));
            most = counts ? common : most;
        }
        for (Entry entry : ended) {
            int common = entry.commonBlocks(chain, limit);
            boolean counts = common > most && index.mayBeLateFor(entry) && !index.knows(entry);
            most = counts ? common : most;
        }
        return most;
    }

    /** As {@link #settle} would leave it; a copy only if that would add to it. */
    private PromptHistory settledHistory(IndexWord index) {
        if (ended.isEmpty() || index.mayBeLateFor(ended.getFirst())) {
            return history;
        }
        PromptHistory settled = history.copy();
        ended.stream().takeWhile(entry -> !index.mayBeLateFor(entry)).forEach(entry -> settled.add(entry.keys));
        return settled;
    }

    /**
     * Leading blocks of the chain that running requests hold.
     *
     * @param depths counts each of these requests that holds any at how many it holds
     */
    int sharedBlocks(BlockHashChain chain, int maxBlocks, PrefixDepths depths) {
        int limit = Math.min(maxBlocks, chain.blockCount());
        int most = 0;
        for (Entry entry : running) {
            int common = entry.commonBlocks(chain, limit);
            depths.add(common);
            most = Math.max(most, common);
        }
        return most;
    }

    private int sharedBlocks(Entry with) {
        int most = 0;
        for (Entry entry : running) {
            most = Math.max(most, entry.commonBlocks(with));
        }
        return most;
    }

    /** Blocks that only this request holds, which is not among the running ones now. */
    private int ownBlocks(Entry entry) {
        return entry.blocks - sharedBlocks(entry);
    }

    Load booked() {
        return booked;
    }

    long lastChosen() {
        return lastChosen;
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
     * not told apart, nor are contexts; what is beyond that booked here is taken for others'. Likewise all that a worker
     * has which tells no routers apart, or so many that this one may be one too many.
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
        return last == null || last == lastHeard ? others : ofOthers(last);
    }
}
