package dev.warmpath.worker.kvcache;

/** How many free blocks an admission, an extension or a fork takes, and whether there are so many. Takes nothing. */
final class Room {

    private final KvCacheSettings settings;
    private final int blockSize;
    private final GroupTables tables;
    private final BlockPool pool;

    Room(KvCacheSettings settings, GroupTables tables, BlockPool pool) {
        this.settings = settings;
        this.blockSize = settings.blockSize();
        this.tables = tables;
        this.pool = pool;
    }

    /** Blocks for so many tokens and, as far as the maximum length allows, the lookahead. */
    int blocksFor(int tokenCount, int lookahead) {
        return (int) Math.ceilDiv(Math.min((long) tokenCount + lookahead, settings.maxLength()), (long) blockSize);
    }

    /**
     * True if an admission fits. Hits that are free leave the free queue too, and windows do not take the hits that
     * they do not see.
     *
     * @param present tokens that need not be computed
     * @param blocks  length of each table afterwards
     */
    boolean isForAdmission(TokenSequence sequence, PrefixHit hit, Admission admission, int present, int blocks) {
        long wanted = 0;
        long wantedInAll = 0;
        for (int group = 0; group < tables.groupCount(); group++) {
            int first = tables.unseenBlocks(group, present);
            int held = Math.max(hit.blockCount() - first, 0);
            int leaveQueue = 0;
            for (int index = first; index < hit.blockCount(); index++) {
                leaveQueue += pool.isFree(hit.block(group, index)) ? 1 : 0;
            }
            wanted += blocks - first - held + leaveQueue;
            wantedInAll += Math.max(most(group, sequence, admission) - held, 0) + leaveQueue;
        }
        return isFor(admission, wanted, wantedInAll);
    }

    /** True if a child sharing so many tokens can have tables so long; it keeps no shared block that it writes to. */
    boolean isForFork(TokenSequence child, Admission admission, int sharedTokens, int blocks) {
        int keeps = sharedTokens / blockSize;
        long wanted = 0;
        long wantedInAll = 0;
        for (int group = 0; group < tables.groupCount(); group++) {
            int held = keeps - tables.unseenBlocks(group, sharedTokens);
            wanted += blocks - keeps;
            wantedInAll += Math.max(most(group, child, admission) - held, 0);
        }
        return isFor(admission, wanted, wantedInAll);
    }

    /** True if the tables of a sequence can be made so long, and what follows its computed tokens its own to write. */
    boolean isForExtension(TokenSequence sequence, int blocks) {
        int written = sequence.computedTokens() / blockSize;
        long wanted = 0;
        for (int group = 0; group < tables.groupCount(); group++) {
            BlockTable table = sequence.table(group);
            wanted += Math.max(blocks - table.blockCount(), 0) + (tables.mustCopy(table, written) ? 1 : 0);
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
