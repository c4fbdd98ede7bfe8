package dev.warmpath.benchmarks.prefix;

import dev.warmpath.benchmarks.prefix.PrefixWorld.Member;
import dev.warmpath.router.prefix.PrefixIndex;
import java.lang.ref.Reference;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Bytes of live heap per pair of worker and block, after a collection, while the index fills worker by worker: the
 * worst value on the way shows whether growth makes cliffs. Then half the workers leave, and the memory of their pairs
 * must be back after one sweep. A second sweep, of half of those that stayed, runs beside a thread that loads snapshots
 * one after the other: it waits for its turn 1,024 times.
 * <pre>
 *   java -Xmx3g -cp benchmarks/target/classes:$(cat benchmarks/target/classpath) \
 *        dev.warmpath.benchmarks.prefix.PrefixIndexFootprint
 * </pre>
 */
public final class PrefixIndexFootprint {

    /** An index that is nearly empty is small, whatever that makes for each pair. */
    private static final int FIRST_MEASURED = 10;

    private PrefixIndexFootprint() {}

    public static void main(String[] args) throws InterruptedException {
        System.out.printf("%-10s %12s %12s %12s %12s %10s %22s%n", "keys", "full, B/pair", "worst", "half, B/pair",
                "holder sets", "sweep, ms", "beside a loader, ms");
        for (Distribution distribution : Distribution.values()) {
            report(distribution);
        }
    }

    private static void report(Distribution distribution) throws InterruptedException {
        var world = new PrefixWorld(distribution);
        var index = new PrefixIndex();
        var members = new Member[PrefixWorld.WORKERS];
        long before = usedBytes();
        double worst = 0;
        double full = 0;
        for (int worker = 0; worker < members.length; worker++) {
            members[worker] = new Member(index);
            members[worker].apply(members[worker].snapshot(world.keys[worker]));
            if (worker + 1 >= FIRST_MEASURED) {
                full = (double) (usedBytes() - before) / index.stats().entries();
                worst = Math.max(worst, full);
            }
        }
        int sets = index.stats().holderSets();
        for (int worker = 0; worker < members.length; worker += 2) {
            index.remove(members[worker].copy);
        }
        double sweepMillis = sweepMillis(index);
        double half = (double) (usedBytes() - before) / index.stats().entries();
        for (int worker = 1; worker < members.length; worker += 4) {
            index.remove(members[worker].copy);
        }
        double besideLoader = sweepMillisBesideLoader(index, members[3], world.keys[3]);
        System.out.printf("%-10s %12.2f %12.2f %12.2f %12d %10.0f %22.0f%n",
                distribution, full, worst, half, sets, sweepMillis, besideLoader);
        Reference.reachabilityFence(world);
    }

    private static double sweepMillisBesideLoader(PrefixIndex index, Member loaded, long[] keys)
            throws InterruptedException {
        var snapshot = loaded.snapshot(keys);
        var stopped = new AtomicBoolean();
        var running = new CountDownLatch(1);
        Thread loader = Thread.ofPlatform().start(() -> {
            while (!stopped.get()) {
                loaded.apply(snapshot);
                running.countDown();
            }
        });
        running.await();
        double millis = sweepMillis(index);
        stopped.set(true);
        loader.join();
        return millis;
    }

    private static double sweepMillis(PrefixIndex index) {
        long start = System.nanoTime();
        index.sweep();
        return (System.nanoTime() - start) / 1e6;
    }

    private static long usedBytes() {
        Runtime runtime = Runtime.getRuntime();
        long used = Long.MAX_VALUE;
        for (int i = 0; i < 2; i++) {
            System.gc();
            used = Math.min(used, runtime.totalMemory() - runtime.freeMemory());
        }
        return used;
    }
}
