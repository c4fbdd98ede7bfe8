package dev.warmpath.worker.kvcache;

import static dev.warmpath.worker.kvcache.BlockPool.NULL_BLOCK;

import dev.warmpath.protocol.event.KeySetDigest;

/** Holds the cache's books against each other, for idle moments and tests. Every error names the first wrong thing. */
final class CacheAudit {

    private final KvCacheSettings settings;
    private final BlockPool pool;
    private final KvEventLog log;

    CacheAudit(KvCacheSettings settings, BlockPool pool, KvEventLog log) {
        this.settings = settings;
        this.pool = pool;
        this.log = log;
    }

    /** The pool's own books, the tables against its reference counts (I4), the announced keys against all (I7). */
    void check(Iterable<TokenSequence> live) {
        pool.checkIntegrity();
        checkHolders(live);
        if (log.isDrained() && settings.announces()) {
            checkAnnounced();
        }
    }

    private void checkHolders(Iterable<TokenSequence> live) {
        int[] holders = new int[settings.blockCount()];
        for (TokenSequence sequence : live) {
            for (int group = 0; group < settings.groups().size(); group++) {
                BlockTable table = sequence.table(group);
                checkTable(sequence, table, settings.blockSize(group));
                for (int i = 0; i < table.blockCount(); i++) {
                    holders[table.block(i)]++;
                }
            }
        }
        for (int block = NULL_BLOCK + 1; block < holders.length; block++) {
            requireEqual("holders of block " + block, holders[block], pool.references(block));
        }
    }

    private void checkTable(TokenSequence sequence, BlockTable table, int blockSize) {
        int used = Math.ceilDiv(sequence.computedTokens(), blockSize);
        int keyed = sequence.holding().keyedTokens() / blockSize;
        if (table.blockCount() < used || keyed * blockSize > sequence.computedTokens()) {
            throw new IllegalStateException("table " + table + " with " + keyed + " keyed blocks is too"
                    + " short for " + sequence.computedTokens() + " tokens");
        }
        for (int i = 0; i < table.blockCount(); i++) {
            int block = table.block(i);
            // a block between, partly filled for this sequence, may be keyed: one that it shares with a longer parent
            boolean right = pool.isKeyed(block) ? i < used : i >= keyed;
            if (block != NULL_BLOCK && !right) {
                throw new IllegalStateException("entry " + i + " of table " + table + " with " + keyed
                        + " keyed blocks: keyed is " + pool.isKeyed(block));
            }
        }
    }

    private void checkAnnounced() {
        var present = new KeySetDigest();
        for (long key : pool.keysOf(0)) {
            present.add(key);
        }
        requireEqual("announced keys", log.announced().count(), present.count());
        requireEqual("digest of announced keys", log.announced().value(), present.value());
    }

    private static void requireEqual(String what, long noted, long found) {
        if (noted != found) {
            throw new IllegalStateException(what + ": " + noted + " noted, " + found + " found");
        }
    }
}
