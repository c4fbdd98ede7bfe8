package dev.warmpath.router.prefix;

/**
 * Who holds how many leading blocks, as a flight of steps: each is a depth and those who hold that many blocks at
 * least, fewer of them with each step. As many steps as there are different depths, however many workers there are.
 *
 * <pre>
 *   blocks        64             128       256
 *   held by   a b c d … z        a b        b
 * </pre>
 */
final class HolderSteps {

    /** Nobody holds anything. */
    static final HolderSteps NONE = new HolderSteps(new int[0], new long[0][], 0);

    private final int[] blocks;
    private final long[][] holders;
    private final int count;

    /**
     * @param blocks  ascending, by step; handed over
     * @param holders sets of ordinals by step, handed over; what is in a set and not asked for does no harm
     */
    HolderSteps(int[] blocks, long[][] holders, int count) {
        this.blocks = blocks;
        this.holders = holders;
        this.count = count;
    }

    /** Leading blocks that the ordinal holds. */
    int blocks(int ordinal) {
        int step = count - 1;
        while (step >= 0 && !HolderSets.isIn(holders[step], ordinal)) {
            step--;
        }
        return step < 0 ? 0 : blocks[step];
    }

    int count() {
        return count;
    }

    /** Blocks that the holders of a step hold at least, more with each step. */
    int blocksOfStep(int step) {
        return blocks[step];
    }

    /** Not to be written. */
    long[] holders(int step) {
        return holders[step];
    }
}
