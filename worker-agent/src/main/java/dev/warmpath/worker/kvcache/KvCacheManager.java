package dev.warmpath.worker.kvcache;

import dev.warmpath.protocol.event.BlockChange;
import dev.warmpath.protocol.event.KeySetDigest;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;

/**
 * Gives sequences their blocks and lets later ones share what earlier ones left.
 *
 * <p>The life of a sequence: {@link #match} looks for its cached prefix, {@link #admit} takes that and the blocks for
 * its first tokens, {@link #extend} adds blocks as it goes on, {@link #release} gives all back. After release it can be
 * admitted again, and usually finds its own blocks; {@link #swapOut} keeps them in host memory until then. A sequence
 * has one table per {@link CacheGroup}, all from one pool.
 *
 * <p>Full blocks get their keys when they are scheduled, before the forward pass fills them: a sequence admitted later
 * in the same step shares them already, which is right because a batch writes every key and value of a layer before it
 * attends to any. {@link #settle} says that a step succeeded, {@link #withdraw} takes back what was given since.
 * Sharing a block that is not full, by {@link #fork}, ends with the first write: the writer gets a copy, unless nobody
 * else holds the block any more and it has no key. All copies are in {@link #copies}, to be done in order before the
 * step; content is copied only where an earlier step computed it.
 *
 * <p><b>Announced = reachable (D9), without a tree.</b> Only keys of the full-attention group are announced. Every
 * keyed block x of it that is not the first of its chain has a block y with its parent's key such that y is held while
 * x is held, and held or behind x in the free queue while x is free. For: whoever holds x has a y in its own table just
 * before it, keyed earlier, and never lets go of y alone: what a window gives up early is of another group, and a copy
 * on write replaces the last used entry of a table only. The last one to release x releases that y right after it, to
 * the tail, or another still holds y and will release it later yet; the same if it lets go of x by a copy on write, for
 * it keeps y. Keys are lost from the head of the queue only, so x goes before its last y. Only keys behind the settled
 * tokens are withdrawn: their content was to be computed by a step that fails. Who built on it by a hit or a fork
 * computes in that step or a later one, and fails with it, and was admitted later, so is withdrawn before; an external
 * load computes in no step, so it is refused a hit that is not settled. A hit prefers settled copies, so that settled x
 * is held with settled y and outlives a failure. A fork shares a table from its first block on, and swapping out is a
 * release. An invalidation takes all keys behind the same first block, and gives those of them that are held by others
 * back to all of these at once. An eviction of given blocks takes all keys that were built on theirs, whoever carries
 * them, and who holds such a block gives none from there on. A reset forgets what lies in swap space too, or it would
 * be announced again. Hence at every moment the set of keys is closed under "parent of": descendants go first, leaf up.
 *
 * <p>A block costs tens of nanoseconds to match, take or release. Errors of use throw and change nothing; "no" (false)
 * changes nothing either, except that a window may have let go of what nobody sees any more. One thread owns an
 * instance, see {@link #drainChanges()} for its duty after each step. The rules are those of vLLM's v1 manager, copy on
 * write and swapping those of its v0 one.
 */
public final class KvCacheManager {

    private final KvCacheSettings settings;
    private final int blockSize;
    private final KvEventLog log;
    private final BlockPool pool;
    private final PrefixMatcher matcher;
    private final PrefixHit hit;
    private final BlockCopies copies = new BlockCopies();
    private final GroupTables tables;
    private final SwapSpace swap;
    private final Room room;
    private final PrefixCacheCounters counters;
    private final UseChecks checks;
    private final CacheAudit audit;
    private final PoolView view;
    /** Sequences that hold blocks. */
    private int holderCount;
    /** Counts changes, so that a hit from before one is not used after it. */
    private long version;
    /** From an invalidation until all that was in flight then has settled. */
    private boolean keysSuspended;

    public KvCacheManager(KvCacheSettings settings) {
        this.settings = settings;
        blockSize = settings.blockSize();
        log = new KvEventLog(settings.announces() ? 0 : KvEventLog.NO_GROUP);
        pool = new BlockPool(settings, log);
        matcher = new PrefixMatcher(settings, pool);
        hit = new PrefixHit(settings);
        tables = new GroupTables(settings, pool, copies);
        swap = new SwapSpace(settings, tables, copies);
        room = new Room(settings, tables, pool);
        counters = new PrefixCacheCounters(settings);
        checks = new UseChecks(settings);
        audit = new CacheAudit(settings, pool, log);
        view = new PoolView(settings, pool, swap);
    }

    /** What is taken, hit or evicted from here on, is so now. @param nowNanos a monotonic clock */
    public void beginStep(long nowNanos) {
        pool.at(nowNanos);
    }

    /**
     * The longest cached prefix of a sequence, generated tokens included; at least its last token is left to compute,
     * and what it {@linkplain TokenSequence#limitCacheRead may not read}. Takes nothing.
     *
     * @return the one reused object, valid until the next match or change
     */
    public PrefixHit match(TokenSequence sequence) {
        checks.requireBlockSize(sequence);
        hit.begin(sequence, version);
        if (settings.prefixCaching() && !sequence.skipsCacheRead()) {
            matcher.match(sequence, hit);
        }
        return hit;
    }

    /** Tokens that need not be computed if the sequence is admitted now: those of the hit, or more from swap space. */
    public int resumableTokens(TokenSequence sequence, PrefixHit hit) {
        return Math.max(hit.tokenCount(), sequence.swappedTokens());
    }

    /** {@link #admit(TokenSequence, PrefixHit, Admission)} of tokens to compute, and nothing else. */
    public boolean admit(TokenSequence sequence, PrefixHit hit, int tokenCount) {
        return admit(sequence, hit, Admission.of(tokenCount));
    }

    /**
     * Takes the matched blocks and those for the tokens that follow, brings back what lies in swap space, and counts
     * all of these tokens as computed.
     *
     * @param sequence holds no blocks yet
     * @param hit      its match, from just now
     * @return false if there are not enough free blocks; or if an external load is to go on from blocks that a step in
     *         flight, or the one being made, is still to compute: its step fails without it
     * @throws IllegalStateException if such a load is asked for while part of the sequence lies in swap space
     */
    public boolean admit(TokenSequence sequence, PrefixHit hit, Admission admission) {
        requireFresh(sequence, hit);
        checks.requireLoadable(sequence, admission);
        int resumable = resumableTokens(sequence, hit);
        checks.requireTokens(sequence, (long) resumable + admission.externalTokens(), admission.tokenCount(), 0);
        int present = resumable + (admission.delayKeys() ? 0 : admission.externalTokens());
        int computed = resumable + admission.externalTokens() + admission.tokenCount();
        int places = room.places(computed, admission.lookahead());
        if (!room.isForAdmission(sequence, hit, admission, present, places)
                || admission.delayKeys() && !tables.isSettled(hit)) {
            return false;
        }
        // the hits of every group are held before anything is allocated, or an allocation could evict them
        tables.hold(sequence, hit, present);
        sequence.holding().begin(hit.tokenCount(), hit.tokenCount(), present);
        tables.grow(sequence, places);
        holderCount++;
        swap.restore(sequence, hit);
        counters.countAdmission(sequence, hit.tokenCount());
        sequence.holding().load(admission.delayKeys() ? admission.externalTokens() : 0);
        compute(sequence, computed);
        return true;
    }

    /** {@link #extend(TokenSequence, int, int)} without lookahead. */
    public boolean extend(TokenSequence sequence, int tokenCount) {
        return extend(sequence, tokenCount, 0);
    }

    /**
     * Makes room for the next tokens of an admitted sequence and counts them as computed. Its own copy of a shared block
     * that they are written to is part of that.
     *
     * @param tokenCount tokens to compute in this step, at least 1; pending ones may be among them
     * @param lookahead  further positions that get a place
     * @return false if there are not enough free blocks
     */
    public boolean extend(TokenSequence sequence, int tokenCount, int lookahead) {
        checks.requireExtensible(sequence, lookahead);
        checks.requireTokens(sequence, sequence.computedTokens(), tokenCount, 1);
        if (tables.windowed() && tables.releaseUnseen(sequence)) {
            version++;
        }
        int computed = sequence.computedTokens() + tokenCount;
        int places = room.places(computed, lookahead);
        if (!room.isForExtension(sequence, places)) {
            return false;
        }
        tables.grow(sequence, places);
        compute(sequence, computed);
        return true;
    }

    /**
     * Ends a delayed external load: the keys of what arrived are given. If less did than was asked for, the rest is no
     * longer counted as computed; if all tokens are there then, the last one is left to compute all the same.
     *
     * @param externalTokens how many arrived, in order from the first
     */
    public void loaded(TokenSequence sequence, int externalTokens) {
        sequence.holding().arrive(externalTokens, sequence.tokenCount() - 1);
        compute(sequence, sequence.computedTokens());
    }

    /**
     * Notes that a step of the sequence succeeded: what was computed by then stays.
     *
     * @param computedTokens {@link TokenSequence#computedTokens} right after the step was scheduled
     * @throws IllegalStateException if the sequence holds no blocks
     */
    public void settle(TokenSequence sequence, int computedTokens) {
        checks.requireHolder(sequence);
        tables.settle(sequence, computedTokens);
    }

    /**
     * Takes back what was computed since the last settled step, and its keys: that was never done. To be called for
     * every sequence of the steps that failed, the one admitted last first, and each of them then released; or for one
     * that gives back what the step being made was to do for it, which is then released or swapped out. Does nothing to
     * a sequence without blocks.
     */
    public void withdraw(TokenSequence sequence) {
        if (sequence.holdsBlocks()) {
            sequence.holding().withdraw();
            tables.unkey(sequence);
            version++;
        }
    }

    /**
     * Takes blocks out of the cache: their keys are taken away, those of other copies of the same in every group, and
     * those of all that was built on them, descendants first. Blocks that are held stay held and go on being read. Who holds them computes
     * on as before, but gives no key any more from there on, not even after a swap; a sequence that is released and
     * admitted again begins anew. As vLLM's {@code evict_blocks}, which leaves descendants behind, and the other groups:
     * there a window's block can go alone, here the announced chain goes with it.
     *
     * @param blocks  blocks of the cache; those without a key are passed over
     * @param holders every sequence that holds blocks
     * @return how many blocks lost their key
     * @throws IndexOutOfBoundsException if there is no such block; nothing is evicted then
     * @throws IllegalStateException     between {@link #invalidate} and {@link #resumeKeys}, which would give keys back
     */
    public int evict(int[] blocks, Iterable<TokenSequence> holders) {
        if (keysSuspended) {
            throw new IllegalStateException("keys are withheld until all in flight has settled");
        }
        Set<Long> gone = new HashSet<>();
        for (int block : blocks) {
            Objects.checkIndex(block, settings.blockCount());
            if (pool.isKeyed(block)) {
                gone.add(pool.key(block));
            }
        }
        if (gone.isEmpty()) {
            return 0;
        }
        int evicted = takeKeys(gone, /* orphansToo */ false, holders);
        for (TokenSequence holder : holders) {
            endKeys(holder, holder.holding().keyedTokens(), gone);
        }
        swap.owners().forEach(owner -> endKeys(owner, owner.swappedTokens(), gone));
        version++;
        return evicted;
    }

    /**
     * Takes keys away with all that was built on them. Those who hold such a block can tell more of that than the keys
     * do: a group with blocks of another size has other keys for the same tokens, and a window may have let go of the
     * blocks between.
     *
     * @param gone grows by all keys that go
     * @return how many blocks lost their key
     */
    private int takeKeys(Set<Long> gone, boolean orphansToo, Iterable<TokenSequence> holders) {
        int taken = 0;
        boolean grown = true;
        while (grown) {
            taken += pool.unkeyBuiltOn(gone, orphansToo);
            grown = false;
            for (TokenSequence holder : holders) {
                int keyed = holder.holding().keyedTokens();
                int left = tokensBefore(gone, holder, keyed);
                for (int group = 0; left < keyed && group < tables.groupCount(); group++) {
                    int size = tables.blockSize(group);
                    for (int index = left / size; index < keyed / size; index++) {
                        grown |= gone.add(holder.chain(size).key(index));
                    }
                }
            }
        }
        return taken;
    }

    private void endKeys(TokenSequence sequence, int tokenCount, Set<Long> gone) {
        int left = tokensBefore(gone, sequence, tokenCount);
        if (left < tokenCount) {
            sequence.holding().endKeys(left);
        }
    }

    /** How many of so many leading tokens stand before the first block, in any group's size, whose key is gone. */
    private int tokensBefore(Set<Long> gone, TokenSequence sequence, int tokenCount) {
        int left = tokenCount;
        for (int group = 0; group < tables.groupCount(); group++) {
            int size = tables.blockSize(group);
            for (int index = 0; index < left / size; index++) {
                if (gone.contains(sequence.chain(size).key(index))) {
                    left = index * size;
                }
            }
        }
        return left;
    }

    /**
     * What these sequences hold is not to be trusted, and no one can tell from which block on: takes the keys of all
     * their blocks away, and with them those of everything that begins with the same blocks, the deepest first. From
     * here to {@link #resumeKeys} no block gets a key, and nobody is admitted or extended; they are released by then.
     * Looks at every block of the cache, once for all of them.
     *
     * @param holders every sequence that holds blocks
     */
    public void invalidate(List<TokenSequence> sequences, Iterable<TokenSequence> holders) {
        sequences.forEach(checks::requireHolder);
        Set<Long> gone = new HashSet<>();
        for (TokenSequence sequence : sequences) {
            for (int group = 0; group < tables.groupCount(); group++) {
                int size = tables.blockSize(group);
                if (sequence.holding().keyedTokens() >= size) {
                    gone.add(sequence.chain(size).key(0));
                }
            }
        }
        if (sequences.stream().anyMatch(sequence -> sequence.holding().keyedTokens() > 0)) {
            takeKeys(gone, /* orphansToo */ tables.windowed(), holders);
            for (TokenSequence holder : holders) {
                holder.holding().key(tokensBefore(gone, holder, holder.holding().keyedTokens()));
            }
        }
        sequences.forEach(sequence -> sequence.holding().key(0));
        keysSuspended = true;
        version++;
    }

    /**
     * No step is in flight, and all who hold blocks have computed something usable over them: their blocks get the keys
     * that they lack. All at once, for two may share a block behind copies of its parent of their own, and whoever goes
     * first must not take the only parent with a key away.
     *
     * @param holders every sequence that holds blocks
     */
    public void resumeKeys(Iterable<TokenSequence> holders) {
        keysSuspended = false;
        holders.forEach(this::keyFullBlocks);
        version++;
    }

    /**
     * Tokens of a child that need not be computed if it is forked now: those that its parent has computed, but for the
     * child's last one, which is left for it to compute. 0 if the parent has none yet, or a window has let go of some.
     */
    public int shareableTokens(TokenSequence parent, TokenSequence child) {
        int tokenCount = Math.min(
                Math.min(parent.computedTokens(), parent.tokenCount()), child.tokenCount() - 1);
        boolean present = tokenCount > 0 && !parent.holding().isLoading() && tables.covers(parent, tokenCount);
        return present ? tokenCount : 0;
    }

    /**
     * Admits a child with the blocks of its parent's {@linkplain #shareableTokens computed tokens} and those for the
     * tokens that follow, its own copies of shared blocks that it writes to among them. The step that computed what is
     * shared must have been scheduled before the one that the child will be in: a shared block is copied before that
     * step runs.
     *
     * @param child     begins with the same tokens, under the same salt, adapter and media, and holds no blocks; its
     *                  tokens are looked at only if there is room
     * @param admission of at least one token, and no external ones
     * @return false, and nothing changes, if there is nothing to share or there are not enough free blocks; the child
     *         may then be admitted like any other
     */
    public boolean fork(TokenSequence parent, TokenSequence child, Admission admission) {
        checks.requireKin(parent, child, admission);
        int shared = shareableTokens(parent, child);
        checks.requireTokens(child, shared, admission.tokenCount(), 1);
        int computed = shared + admission.tokenCount();
        int places = room.places(computed, admission.lookahead());
        if (shared == 0 || !room.isForFork(child, admission, shared, places)) {
            return false;
        }
        checks.requireSameTokens(parent, child, shared);
        keyFullBlocks(parent);
        swap.drop(child);
        tables.share(parent, child, shared);
        child.holding().begin(shared, Math.min(shared, parent.holding().keyedTokens()), shared);
        if (parent.holding().keyableTokens() < shared) {
            child.holding().endKeys(parent.holding().keyableTokens());
        }
        tables.grow(child, places);
        holderCount++;
        counters.countAdmission(child, shared);
        compute(child, computed);
        return true;
    }

    /**
     * Copies all computed blocks of a sequence to swap space and releases them; the next admission brings them back. No
     * step of it is in flight.
     *
     * @return false, and nothing changes, if there is no room or nothing to copy
     */
    public boolean swapOut(TokenSequence sequence) {
        checks.requireHolder(sequence);
        int tokenCount = Math.min(sequence.computedTokens(), sequence.tokenCount() - 1);
        if (sequence.holding().isLoading() || !tables.covers(sequence, tokenCount)
                || !swap.save(sequence, tokenCount)) {
            return false;
        }
        releaseBlocks(sequence);
        return true;
    }

    /** Gives a sequence's copy in swap space up: it will be computed again. Does nothing if it has none. */
    public void dropSwapped(TokenSequence sequence) {
        swap.drop(sequence);
    }

    /**
     * Gives all blocks of a sequence back, the last first, and its swap space. What carries a key can be hit until it is
     * evicted; blocks whose tokens became known since they were computed get their keys first. Does nothing to a
     * sequence that holds none. No step of it is in flight.
     */
    public void release(TokenSequence sequence) {
        swap.drop(sequence);
        releaseBlocks(sequence);
    }

    /**
     * Copies to do before the next step, and before an external load writes to blocks that were taken since, in order;
     * whoever had them done clears it.
     */
    public BlockCopies copies() {
        return copies;
    }

    /**
     * Forgets every cached prefix, and what lies in swap space: preempted sequences compute everything again.
     *
     * @return false, and nothing changes, if any sequence holds blocks
     */
    public boolean resetPrefixCache() {
        if (!pool.reset()) {
            return false;
        }
        swap.clear();
        counters.countReset();
        version++;
        return true;
    }

    /**
     * Forgets every prefix that nobody holds, as if all free blocks were given away at once, in their order. What is
     * held stays, and so does what lies in swap space: it is somebody's work.
     *
     * @return how many blocks lost their key
     */
    public int forgetUnheld() {
        int forgotten = pool.unkeyFree();
        version++;
        return forgotten;
    }

    /** Leading blocks of a sequence that everyone holds who holds any; 0 in a cache with windows. */
    public int commonPrefixBlocks(TokenSequence sequence) {
        BlockTable table = sequence.table();
        int count = 0;
        while (!tables.windowed() && count < table.blockCount() && pool.references(table.block(count)) == holderCount) {
            count++;
        }
        return count;
    }

    /** Entries of the event log since the start. */
    public long eventCount() {
        return log.eventCount();
    }

    /**
     * What changed in the announced set since the last call, net and in an order that may be applied one by one:
     * cleared first, then removed keys (a child before its parent), then stored ones (a parent before its children). To
     * be called after every step, and after a reset; the log grows until then.
     */
    public List<BlockChange> drainChanges() {
        return log.drain();
    }

    /** {@link #drainChanges()}, but of what happened before the event with this number; the rest waits. */
    public List<BlockChange> drainChanges(long upToEvent) {
        return log.drain(upToEvent);
    }

    /** Number of announced keys as of the last drain. */
    public int announcedCount() {
        return log.announced().count();
    }

    /** {@link KeySetDigest} of the announced keys as of the last drain. */
    public long announcedDigest() {
        return log.announced().value();
    }

    public KvCacheSettings settings() {
        return settings;
    }

    public int blockSize() {
        return blockSize;
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

    /** Blocks of swap space. */
    public int hostBlocks() {
        return settings.hostBlockCount();
    }

    public int freeHostBlocks() {
        return swap.freeCount();
    }

    /** Blocks copied to swap space since the start. */
    public long swappedOutBlocks() {
        return swap.blocksOut();
    }

    /** Blocks copied back from swap space since the start. */
    public long swappedInBlocks() {
        return swap.blocksIn();
    }

    /** Keyed blocks that were overwritten, since the start. */
    public long evictedBlocks() {
        return pool.evictions();
    }

    public PrefixCacheStats stats() {
        return counters.stats(pool);
    }

    /** How long blocks stay cached and lie idle, since the start. */
    public BlockResidency residency() {
        return pool.ages().residency();
    }

    /** The blocks, to look at. */
    public PoolView view() {
        return view;
    }

    /** Hit tokens over queried ones of the last thousand first admissions, 0 to 1. */
    public double recentHitRate() {
        return counters.recentHitRate();
    }

    /**
     * Audits all books against each other. Reads every block; for idle moments and tests.
     *
     * @param live every sequence that holds blocks
     * @throws IllegalStateException naming the first thing that is wrong
     */
    public void checkIntegrity(Iterable<TokenSequence> live) {
        audit.check(live);
    }

    /** The pool, for tests of this package. */
    BlockPool pool() {
        return pool;
    }

    /** The log, for tests of this package. */
    KvEventLog log() {
        return log;
    }

    /** Sets how far a sequence is computed and keys what is full and known. */
    private void compute(TokenSequence sequence, int computedTokens) {
        sequence.holding().compute(computedTokens);
        keyFullBlocks(sequence);
        version++;
    }

    private void keyFullBlocks(TokenSequence sequence) {
        BlockHolding holding = sequence.holding();
        int known = Math.min(holding.computedTokens(), sequence.tokenCount());
        int keyable = Math.min(known, holding.keyableTokens());
        if (keyable > holding.keyedTokens() && !holding.isLoading() && !keysSuspended && settings.prefixCaching()) {
            tables.key(sequence, keyable);
        }
    }

    private void releaseBlocks(TokenSequence sequence) {
        if (sequence.holdsBlocks()) {
            tables.settle(sequence, sequence.holding().presentTokens());
            keyFullBlocks(sequence);
            tables.release(sequence);
            sequence.holding().end();
            holderCount--;
            version++;
        }
    }

    private void requireFresh(TokenSequence sequence, PrefixHit hit) {
        if (hit != this.hit || !hit.isValidFor(sequence, version)) {
            throw new IllegalStateException("the match is of another sequence or cache, or older than the last change");
        }
        checks.requireNoBlocks(sequence, "sequence");
    }
}
