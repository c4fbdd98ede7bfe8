package dev.warmpath.worker.kvcache;

/** How many free blocks an admission, an extension or a fork takes, and whether there are so many. Takes nothing. */
final class Room {

    private final KvCacheSettings settings;
    private final GroupTables tables;
    private final BlockPool pool;

    Room(KvCacheSettings settings, GroupTables tables, BlockPool pool) {
        this.settings = settings;
        this.tables = tables;
        this.pool = pool;
    }

    /** Places for so many tokens and, as far as the maximum length allows, the lookahead. */
    int places(int tokenCount, int lookahead) {
        return (int) Math.min((long) tokenCount + lookahead, settings.maxLength());
    }

    /**
     * True if an admission fits. Hits that are free leave the free queue too, and windows do not take the hits that
     * they do not see.
     *
     * @param present tokens that need not be computed
     * @param places  tokens that each table holds afterwards
     */
    boolean isForAdmission(TokenSequence sequence, PrefixHit hit, Admission admission, int present, int places) {
        long wanted = 0;
        long wantedInAll = 0;
        for (int group = 0; group < tables.groupCount(); group++) {
            int first = tables.unseenBlocks(group, present);
            int held = Math.max(hit.blockCount(group) - first, 0);
            int leaveQueue = 0;
            for (int index = first; index < hit.blockCount(group); index++) {
                leaveQueue += pool.isFree(hit.block(group, index)) ? 1 : 0;
            }
            wanted += tables.blocksFor(group, places) - first - held + leaveQueue;
            wantedInAll += Math.max(most(group, sequence, admission) - held, 0) + leaveQueue;
        }
        return isFor(admission, wanted, wantedInAll);
    }

    /** True if a child sharing so many tokens can have so many places; it keeps no shared block that it writes to. */
    boolean isForFork(TokenSequence child, Admission admission, int sharedTokens, int places) {
        long wanted = 0;
        long wantedInAll = 0;
        for (int group = 0; group < tables.groupCount(); group++) {
            int keeps = sharedTokens / tables.blockSize(group);
            int held = keeps - tables.unseenBlocks(group, sharedTokens);
            wanted += tables.blocksFor(group, places) - keeps;
            wantedInAll += Math.max(most(group, child, admission) - held, 0);
        }
        return isFor(admission, wanted, wantedInAll);
    }

    /** True if a sequence can have so many places, and what follows its computed tokens be its own to write. */
    boolean isForExtension(TokenSequence sequence, int places) {
        long wanted = 0;
        for (int group = 0; group < tables.groupCount(); group++) {
            BlockTable table = sequence.table(group);
            int written = sequence.computedTokens() / tables.blockSize(group);
            wanted += Math.max(tables.blocksFor(group, places) - table.blockCount(), 0)
                    + (tables.mustCopy(table, written) ? 1 : 0);
        }
        return wanted <= pool.freeCount();
    }

    private boolean isFor(Admission admission, long wanted, long wantedInAll) {
        int free = pool.freeCount() - (admission.othersRun() ? settings.watermarkBlocks() : 0);
        return wanted <= free && (!admission.wholeSequence() || wantedInAll <= free);
    }

    /** The most blocks of a group that the sequence holds at once, if its steps are like this one. */
    private int most(int group, TokenSequence sequence, Admission admission) {
        long step = (long) admission.externalTokens() + admission.tokenCount() + admission.lookahead();
        return settings.mostBlocks(
                tables.group(group), sequence.tokenCount(), (int) Math.min(step, Integer.MAX_VALUE));
    }
}
