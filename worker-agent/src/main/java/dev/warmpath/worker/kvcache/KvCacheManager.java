package dev.warmpath.worker.kvcache;

import static dev.warmpath.worker.kvcache.BlockPool.NO_BLOCK;
import static dev.warmpath.worker.kvcache.BlockPool.NULL_BLOCK;

import dev.warmpath.protocol.event.BlockChange;
import dev.warmpath.protocol.event.KeySetDigest;
import java.util.List;

/**
 * Gives sequences their blocks and lets later ones share what earlier ones left.
 *
 * <p>The life of a sequence: {@link #match} looks for its cached prefix, {@link #admit} takes that and the blocks for
 * its first tokens, {@link #extend} adds blocks as it goes on, {@link #release} gives all back. After release it can be
 * admitted again, and usually finds its own blocks. Full blocks get their keys when they are scheduled, before the
 * forward pass fills them: a sequence admitted later in the same step shares them already, which is right because a
 * batch writes every key and value of a layer before it attends to any. A step that fails takes its keys back through
 * {@link #withdraw}.
 *
 * <p><b>Announced = reachable (D9), without a tree.</b> Every keyed block x that is not the first of its chain has a
 * block y with its parent's key such that y is held while x is held, and held or behind x in the free queue while x is
 * free. For: whoever holds x has a y in its own table just before it, keyed earlier; and the last one to release x
 * releases that y right after it, to the tail, or another still holds y and will release it later yet. Keys are lost
 * from the head of the queue only, so x goes before its last y. A withdrawn key belongs to the step that fails, and so
 * does everyone who built on it. Hence at every moment the set of keys is closed under "parent of": descendants go
 * first, leaf up.
 *
 * <p>A block costs tens of nanoseconds to match, take or release. Errors of use throw and change nothing; "no" (false)
 * changes nothing either. One thread owns an instance, see {@link #drainChanges} for its duty after each step.
 * The rules are those of vLLM's v1 manager for full attention.
 */
public final class KvCacheManager {

    private final KvCacheSettings settings;
    private final KvEventLog log = new KvEventLog(0);
    private final BlockPool pool;
    private final PrefixHit hit;
    private final BlockCopies copies = new BlockCopies();
    /** Counts changes, so that a hit from before one is not used after it. */
    private long version;

    private long requests;
    private long queriedTokens;
    private long hitTokens;
    private long preemptedRequests;
    private long preemptedQueriedTokens;
    private long preemptedHitTokens;
    private long resets;

    public KvCacheManager(KvCacheSettings settings) {
        this.settings = settings;
        this.pool = new BlockPool(settings, log);
        this.hit = new PrefixHit(settings.blockSize());
    }

    /**
     * The longest cached prefix of a sequence, generated tokens included; at least its last token is left to compute.
     * Takes nothing.
     *
     * @return the one reused object, valid until the next match or change
     */
    public PrefixHit match(TokenSequence sequence) {
        requireBlockSize(sequence);
        hit.begin(sequence, version);
        if (settings.prefixCaching()) {
            sequence.hash();
            int limit = sequence.reusableBlocks();
            for (int index = 0; index < limit; index++) {
                int block = pool.find(sequence.chain(), index, sequence.tokens(), 0);
                if (block == NO_BLOCK) {
                    break;
                }
                hit.add(block);
            }
        }
        return hit;
    }

    /**
     * Takes the matched blocks and those for the tokens that follow them, and counts both as computed.
     *
     * @param sequence   holds no blocks yet
     * @param hit        its match, from just now
     * @param tokenCount tokens to compute in this step after the matched ones, at least 1
     * @return false if there are not enough free blocks
     */
    public boolean admit(TokenSequence sequence, PrefixHit hit, int tokenCount) {
        return admit(sequence, hit, Admission.of(tokenCount));
    }

    public boolean admit(TokenSequence sequence, PrefixHit hit, Admission admission) {
        if (!admission.equals(Admission.of(admission.tokenCount()))) {
            throw new UnsupportedOperationException();
        }
        int tokenCount = admission.tokenCount();
        requireFresh(sequence, hit);
        requireTokens(sequence, hit.tokenCount(), tokenCount);
        int newBlocks = blocksFor(hit.tokenCount() + tokenCount) - hit.blockCount();
        if (newBlocks + freeBlocksOf(hit) > pool.freeCount()) {
            return false;
        }
        // hits are held before anything is allocated, or an allocation could evict them
        for (int i = 0; i < hit.blockCount(); i++) {
            pool.touch(hit.block(i));
            sequence.table().add(hit.block(i));
        }
        sequence.computedTokens = hit.tokenCount();
        sequence.keyedBlocks = hit.blockCount();
        countAdmission(sequence, hit.tokenCount());
        take(sequence, newBlocks, tokenCount);
        return true;
    }

    /**
     * Makes room for the next tokens of an admitted sequence and counts them as computed.
     *
     * @param tokenCount tokens to compute in this step, at least 1
     * @return false if there are not enough free blocks
     */
    public boolean extend(TokenSequence sequence, int tokenCount) {
        if (sequence.table().blockCount() == 0) {
            throw new IllegalStateException("the sequence is not admitted: it holds no blocks");
        }
        requireTokens(sequence, sequence.computedTokens, tokenCount);
        int newBlocks = blocksFor(sequence.computedTokens + tokenCount) - sequence.table().blockCount();
        if (newBlocks > pool.freeCount()) {
            return false;
        }
        take(sequence, newBlocks, tokenCount);
        return true;
    }

    public boolean extend(TokenSequence sequence, int tokenCount, int lookahead) {
        if (lookahead > 0) {
            throw new UnsupportedOperationException();
        }
        return extend(sequence, tokenCount);
    }

    public int resumableTokens(TokenSequence sequence, PrefixHit hit) {
        return hit.tokenCount();
    }

    public void loaded(TokenSequence sequence, int externalTokens) {
        throw new UnsupportedOperationException();
    }

    public void settle(TokenSequence sequence, int computedTokens, int keyedBlocks) {
        sequence.settledTokens = computedTokens;
        sequence.settledBlocks = keyedBlocks;
    }

    /** @return false, and nothing changes, if the parent has nothing to share; the child is then admitted as usual */
    public boolean fork(TokenSequence parent, TokenSequence child) {
        throw new UnsupportedOperationException();
    }

    public boolean swapOut(TokenSequence sequence) {
        return false;
    }

    public void dropSwapped(TokenSequence sequence) {}

    public BlockCopies copies() {
        return copies;
    }

    public int commonPrefixBlocks(TokenSequence sequence) {
        throw new UnsupportedOperationException();
    }

    public long eventCount() {
        throw new UnsupportedOperationException();
    }

    public List<BlockChange> drainChanges(long upToEvent) {
        throw new UnsupportedOperationException();
    }

    public int hostBlocks() {
        return settings.hostBlockCount();
    }

    public int freeHostBlocks() {
        return settings.hostBlockCount();
    }

    public int cachedBlocks() {
        return pool.keyCount();
    }

    /**
     * Gives all blocks of a sequence back, the last first. What carries a key can be hit until it is evicted. Does
     * nothing to a sequence that holds none.
     */
    public void release(TokenSequence sequence) {
        pool.release(sequence.table());
        sequence.computedTokens = 0;
        sequence.keyedBlocks = 0;
        sequence.settledTokens = 0;
        sequence.settledBlocks = 0;
        version++;
    }

    /**
     * Takes back the keys that a sequence's last admission or extension gave: its step failed and their blocks hold
     * nothing. To be called for every sequence of the step, and each of them then released.
     */
    public void withdraw(TokenSequence sequence) {
        for (int index = sequence.keyedBlocks - 1; index >= sequence.settledBlocks; index--) {
            pool.unkey(sequence.table().block(index));
        }
        sequence.keyedBlocks = sequence.settledBlocks;
        version++;
    }

    /** Forgets every cached prefix. @return false, and nothing changes, if any sequence holds blocks */
    public boolean resetPrefixCache() {
        if (!pool.reset()) {
            return false;
        }
        resets++;
        version++;
        return true;
    }

    /**
     * What changed in the announced set since the last call, net and in an order that may be applied one by one:
     * cleared first, then removed keys (a child before its parent), then stored ones (a parent before its children). To
     * be called after every step, and after a reset; the log grows until then.
     */
    public List<BlockChange> drainChanges() {
        return log.drain();
    }

    /** Number of announced keys as of the last drain. */
    public int announcedCount() {
        return log.announced().count();
    }

    /** {@link KeySetDigest} of the announced keys as of the last drain. */
    public long announcedDigest() {
        return log.announced().value();
    }

    /**
     * The announced set for a snapshot, every parent before its children; a new array.
     *
     * @throws IllegalStateException if there are changes not yet drained: the snapshot would fit no sequence number
     */
    public long[] announcedKeys() {
        if (!log.isDrained()) {
            throw new IllegalStateException("changes wait to be drained");
        }
        return pool.keysParentFirst(0);
    }

    public int blockSize() {
        return settings.blockSize();
    }

    /** Blocks in all, without the null block. */
    public int usableBlocks() {
        return pool.usableCount();
    }

    /** Blocks that no sequence holds, cached ones among them. */
    public int freeBlocks() {
        return pool.freeCount();
    }

    /** The share of blocks that sequences hold, 0 to 1; what is only cached counts as free. */
    public double usage() {
        return 1.0 - (double) pool.freeCount() / pool.usableCount();
    }

    public PrefixCacheStats stats() {
        return new PrefixCacheStats(requests, queriedTokens, hitTokens,
                preemptedRequests, preemptedQueriedTokens, preemptedHitTokens,
                pool.collisions(), pool.evictions(), resets);
    }

    /**
     * Audits the pool's books, the tables against its reference counts (I4), and what is announced against what is
     * there (I7). Reads every block; for idle moments and tests.
     *
     * @param live every sequence that holds blocks
     * @throws IllegalStateException naming the first thing that is wrong
     */
    public void checkIntegrity(Iterable<TokenSequence> live) {
        pool.checkIntegrity();
        int[] holders = new int[settings.blockCount()];
        for (TokenSequence sequence : live) {
            checkSequence(sequence);
            for (int i = 0; i < sequence.table().blockCount(); i++) {
                holders[sequence.table().block(i)]++;
            }
        }
        for (int block = NULL_BLOCK + 1; block < holders.length; block++) {
            requireEqual("holders of block " + block, holders[block], pool.references(block));
        }
        if (log.isDrained()) {
            checkAnnounced();
        }
    }

    private void checkAnnounced() {
        var present = new KeySetDigest();
        for (long key : pool.keysParentFirst(0)) {
            present.add(key);
        }
        requireEqual("announced keys", announcedCount(), present.count());
        requireEqual("digest of announced keys", announcedDigest(), present.value());
    }

    private void checkSequence(TokenSequence sequence) {
        requireEqual("table length", sequence.table().blockCount(), blocksFor(sequence.computedTokens));
        int full = settings.prefixCaching() ? sequence.computedTokens / settings.blockSize() : 0;
        requireEqual("keyed blocks", sequence.keyedBlocks, full);
        for (int i = 0; i < sequence.table().blockCount(); i++) {
            int block = sequence.table().block(i);
            if (pool.isKeyed(block) != i < full) {
                throw new IllegalStateException("entry " + i + " of table " + sequence.table() + " with " + full
                        + " full blocks: keyed is " + pool.isKeyed(block));
            }
        }
    }

    /** The pool, for tests of this package. */
    BlockPool pool() {
        return pool;
    }

    /** The log, for tests of this package. */
    KvEventLog log() {
        return log;
    }

    private void take(TokenSequence sequence, int newBlocks, int tokenCount) {
        pool.allocate(newBlocks, sequence.table());
        sequence.computedTokens += tokenCount;
        sequence.settledBlocks = sequence.keyedBlocks;
        if (settings.prefixCaching()) {
            keyFullBlocks(sequence);
        }
        version++;
    }

    private void keyFullBlocks(TokenSequence sequence) {
        int full = sequence.computedTokens / settings.blockSize();
        if (full == sequence.keyedBlocks) {
            return;
        }
        sequence.hash();
        for (int index = sequence.keyedBlocks; index < full; index++) {
            pool.key(sequence.table().block(index), sequence.chain(), index, sequence.tokens(), 0);
        }
        sequence.keyedBlocks = full;
    }

    private int blocksFor(int tokenCount) {
        return Math.ceilDiv(tokenCount, settings.blockSize());
    }

    /** Matched blocks that nobody holds: they will leave the free queue. */
    private int freeBlocksOf(PrefixHit hit) {
        int count = 0;
        for (int i = 0; i < hit.blockCount(); i++) {
            count += pool.isHeld(hit.block(i)) ? 0 : 1;
        }
        return count;
    }

    private void countAdmission(TokenSequence sequence, int cachedTokens) {
        if (sequence.admittedBefore) {
            preemptedRequests++;
            preemptedQueriedTokens += sequence.tokenCount();
            preemptedHitTokens += cachedTokens;
        } else {
            sequence.admittedBefore = true;
            sequence.cachedTokens = cachedTokens;
            requests++;
            queriedTokens += sequence.tokenCount();
            hitTokens += cachedTokens;
        }
    }

    private void requireBlockSize(TokenSequence sequence) {
        if (sequence.chain().blockSize() != settings.blockSize()) {
            throw new IllegalArgumentException("the sequence is hashed in blocks of " + sequence.chain().blockSize()
                    + " tokens, the cache has blocks of " + settings.blockSize());
        }
    }

    private void requireFresh(TokenSequence sequence, PrefixHit hit) {
        if (!hit.isValidFor(sequence, version)) {
            throw new IllegalStateException("the match is of another sequence, or older than the last change");
        }
        if (sequence.table().blockCount() > 0) {
            throw new IllegalStateException("the sequence is admitted already, its table is " + sequence.table());
        }
    }

    private static void requireTokens(TokenSequence sequence, int computedTokens, int tokenCount) {
        if (tokenCount < 1 || computedTokens + tokenCount > sequence.tokenCount()) {
            throw new IllegalArgumentException(tokenCount + " tokens to compute, 1 to "
                    + (sequence.tokenCount() - computedTokens) + " are possible");
        }
    }

    private static void requireEqual(String what, long noted, long found) {
        if (noted != found) {
            throw new IllegalStateException(what + ": " + noted + " noted, " + found + " found");
        }
    }
}
