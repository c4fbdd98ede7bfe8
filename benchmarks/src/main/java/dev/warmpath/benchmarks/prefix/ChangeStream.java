package dev.warmpath.benchmarks.prefix;

import dev.warmpath.benchmarks.prefix.PrefixWorld.Member;
import dev.warmpath.protocol.event.KvEventBatch;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;

/**
 * Batches that replace the last fifth of each worker's keys again and again: 64 evicted, 64 stored, from one worker
 * after the other. No chain that is asked for has blocks there.
 */
final class ChangeStream {

    static final int CHANGES_PER_BATCH = 128;

    private static final int KEYS = CHANGES_PER_BATCH / 2;
    private static final int FIRST = PrefixWorld.LASTING_BLOCKS;
    private static final int BATCHES_PER_TURN = 32;
    static final int CHANGES_PER_TURN = BATCHES_PER_TURN * CHANGES_PER_BATCH;

    private final PrefixWorld world;
    private final Member[] members;
    private final SplittableRandom random = new SplittableRandom(7);
    private int worker;
    private int place = FIRST;
    private volatile boolean stopped;
    private double achievedRate;

    ChangeStream(PrefixWorld world, Member[] members) {
        this.world = world;
        this.members = members;
    }

    /** Batches of one worker, ready to be applied. */
    record Turn(Member member, List<KvEventBatch> batches) {
        void apply() {
            batches.forEach(member::apply);
        }
    }

    /** Whose turn {@link #next} was last. */
    int worker() {
        return worker;
    }

    Turn next() {
        worker = (worker + 1) % members.length;
        List<KvEventBatch> batches = new ArrayList<>();
        for (int i = 0; i < BATCHES_PER_TURN; i++) {
            place = place + 2 * KEYS <= PrefixWorld.BLOCKS_PER_WORKER ? place + KEYS : FIRST;
            long[] removed = Arrays.copyOfRange(world.keys[worker], place, place + KEYS);
            long[] stored = random.longs(KEYS).toArray();
            System.arraycopy(stored, 0, world.keys[worker], place, KEYS);
            batches.add(members[worker].change(removed, stored));
        }
        return new Turn(members[worker], batches);
    }

    void applyUntilStopped() {
        long start = System.nanoTime();
        long keys = 0;
        while (!stopped) {
            next().apply();
            keys += CHANGES_PER_TURN;
        }
        achievedRate = keys * 1e9 / (System.nanoTime() - start);
    }

    /** Keys a second that were stored or removed, their making included; to be asked for once it has ended. */
    double achievedRate() {
        return achievedRate;
    }

    void stop() {
        stopped = true;
    }
}
