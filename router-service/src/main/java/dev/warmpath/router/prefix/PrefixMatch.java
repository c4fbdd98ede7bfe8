package dev.warmpath.router.prefix;

/** How many leading blocks of one prompt each worker holds. */
public final class PrefixMatch {

    private final int[] blocksByOrdinal;

    /** @param blocksByOrdinal handed over, never written again */
    PrefixMatch(int[] blocksByOrdinal) {
        this.blocksByOrdinal = blocksByOrdinal;
    }

    /** Leading blocks at this worker; 0 for one that the index does not know. */
    public int blocks(int ordinal) {
        return ordinal < blocksByOrdinal.length ? blocksByOrdinal[ordinal] : 0;
    }
}
