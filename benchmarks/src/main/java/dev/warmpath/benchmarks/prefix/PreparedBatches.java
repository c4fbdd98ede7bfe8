package dev.warmpath.benchmarks.prefix;

import dev.warmpath.protocol.event.KvEventBatch;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** Batches that were made before the clock starts, in the order in which they are applied. */
final class PreparedBatches {

    private final List<Announcer> senders = new ArrayList<>();
    private final List<KvEventBatch> batches = new ArrayList<>();

    int count() {
        return batches.size();
    }

    void store(Announcer worker, long[] keys, int perEvent) {
        for (int from = 0; from < keys.length; from += perEvent) {
            long[] part = Arrays.copyOfRange(keys, from, Math.min(keys.length, from + perEvent));
            senders.add(worker);
            batches.add(worker.stored(part));
        }
    }

    /** The last block first. */
    void remove(Announcer worker, long[] keys, int perEvent) {
        for (int to = keys.length; to > 0; to -= perEvent) {
            long[] part = new long[Math.min(to, perEvent)];
            for (int i = 0; i < part.length; i++) {
                part[i] = keys[to - 1 - i];
            }
            senders.add(worker);
            batches.add(worker.removed(part));
        }
    }

    /** All of them at once. @return nanoseconds */
    long apply() {
        long start = System.nanoTime();
        for (int i = 0; i < batches.size(); i++) {
            senders.get(i).apply(batches.get(i));
        }
        long nanos = System.nanoTime() - start;
        clear();
        return nanos;
    }

    /** Each by itself. */
    void apply(Timings timings) {
        for (int i = 0; i < batches.size(); i++) {
            Announcer sender = senders.get(i);
            KvEventBatch batch = batches.get(i);
            long start = System.nanoTime();
            sender.apply(batch);
            timings.add(System.nanoTime() - start);
        }
        clear();
    }

    private void clear() {
        senders.clear();
        batches.clear();
    }
}
