package dev.warmpath.router.prefix;

import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * How many leading blocks of a prompt each of some workers holds, read out of one match after another: takes as long as
 * there are holders, not workers. One thread at a time.
 */
public final class MatchedBlocks {

    private static final int ELSEWHERE = -1;

    private final List<WorkerKeys> workers;
    private final int[] blocks;
    /** Whose ordinals {@link #places} has. */
    private @Nullable VisibleWorkers asOf;
    /** By ordinal, the worker's place among ours. */
    private int[] places = {};

    public MatchedBlocks(List<WorkerKeys> workers) {
        this.workers = List.copyOf(workers);
        this.blocks = new int[workers.size()];
    }

    /** Leading blocks at the worker of this place, by the match that was read last. */
    public int at(int place) {
        return blocks[place];
    }

    public void read(PrefixMatch match) {
        Arrays.fill(blocks, 0);
        if (match == PrefixMatch.NOTHING) {
            return;
        }
        VisibleWorkers visible = match.workers();
        if (visible != asOf) {
            findPlaces(visible);
        }
        read(match.closed(), visible.closed());
        read(match.walked(), visible.walked());
    }

    private void findPlaces(VisibleWorkers visible) {
        places = new int[visible.closed().length * Long.SIZE];
        Arrays.fill(places, ELSEWHERE);
        for (int place = 0; place < blocks.length; place++) {
            int ordinal = visible.ordinalOf(workers.get(place));
            if (ordinal >= 0) {
                places[ordinal] = place;
            }
        }
        asOf = visible;
    }

    /** Who holds more is told later. @param of the ordinals that these steps are about */
    private void read(HolderSteps steps, long[] of) {
        for (int step = 0; step < steps.count(); step++) {
            long[] holders = steps.holders(step);
            for (int word = 0; word < Math.min(holders.length, of.length); word++) {
                for (long rest = holders[word] & of[word]; rest != 0; rest &= rest - 1) {
                    int place = places[word * Long.SIZE + Long.numberOfTrailingZeros(rest)];
                    if (place != ELSEWHERE) {
                        blocks[place] = steps.blocksOfStep(step);
                    }
                }
            }
        }
    }
}
