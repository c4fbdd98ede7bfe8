package dev.warmpath.worker.compute.cpu;

import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * A fixed team that runs the units of one task at a time: the caller and {@code threads - 1} daemon threads. Units are
 * taken from a shared cursor, so a member that the system has put aside delays nobody: the caller waits for units, not
 * for members.
 * <p>The cursor holds the task's number (high half) and how many units nobody has taken yet (low half); the last unit
 * goes first. A member that takes a unit by compare-and-set knows that the task it read before is the current one: a
 * task is replaced only when all its units are done, and the number tells it from the next one.
 * <p>A member without units spins for {@link #SPIN_NANOS}, as long as most pauses between two operations of a step last.
 * Then it offers its core to whoever wants it and looks again, which bridges the pause between two steps, and after
 * {@link #YIELD_NANOS} it sleeps: only then is there somebody to wake.
 */
final class ThreadTeam implements AutoCloseable {

    /** Units are independent and may run in any order on any member. */
    interface Task {

        /** @param member 0 up to the team's size, exclusive; no two units run on one member at a time */
        void run(int unit, int member);
    }

    private static final long SPIN_NANOS = 20_000;
    private static final long YIELD_NANOS = 500_000;
    private static final int SPINS_BEFORE_YIELD = 500;

    private final Thread[] members;
    private final AtomicIntegerArray asleep;         // 1 while the member sleeps or is about to
    private final AtomicLong cursor = new AtomicLong();
    private final AtomicInteger unitsLeft = new AtomicInteger();
    private volatile boolean closed;
    private volatile @Nullable Throwable failure;
    private @Nullable Task task;         // published by the cursor

    ThreadTeam(int threads, String name) {
        if (threads < 1) {
            throw new IllegalArgumentException("threads is %d, takes 1 and above".formatted(threads));
        }
        members = new Thread[threads - 1];
        asleep = new AtomicIntegerArray(threads - 1);
        for (int i = 0; i < members.length; i++) {
            int member = i + 1;
            members[i] = Thread.ofPlatform().daemon().name(name + "-" + member).start(() -> serve(member));
        }
    }

    int size() {
        return members.length + 1;
    }

    /** False if the memory is of an arena confined to another thread. */
    boolean mayRead(MemorySegment memory) {
        return Arrays.stream(members).allMatch(memory::isAccessibleBy);
    }

    /**
     * Runs units 0 up to {@code count}, exclusive, and returns when all are done.
     * @param alone whether the work is too small to wake anybody
     */
    void run(Task task, int count, boolean alone) {
        if (alone || members.length == 0 || count <= 1) {
            for (int unit = 0; unit < count; unit++) {
                task.run(unit, 0);
            }
            return;
        }
        this.task = task;
        unitsLeft.set(count);
        cursor.set((cursor.get() >>> 32) + 1 << 32 | count);
        for (int i = 0; i < members.length; i++) {
            if (asleep.get(i) != 0) {
                LockSupport.unpark(members[i]);
            }
        }
        takeUnits(0);
        awaitUnits();
        rethrow();
    }

    /**
     * Spins, since the last units are about to end; yields where a member that holds one may be waiting for this core.
     */
    private void awaitUnits() {
        for (int spins = 0; unitsLeft.get() > 0; spins++) {
            if (spins < SPINS_BEFORE_YIELD) {
                Thread.onSpinWait();
            } else {
                Thread.yield();
            }
        }
    }

    private void rethrow() {
        Throwable thrown = failure;
        if (thrown != null) {
            failure = null;
            throw new IllegalStateException("a unit failed on another thread", thrown);
        }
    }

    private void serve(int member) {
        long seen = 0;
        while (!closed) {
            long now = cursor.get() >>> 32;
            if (now == seen) {
                awaitTask(member, seen);
            } else {
                seen = now;
                takeUnits(member);
            }
        }
    }

    /** Returns when there may be another task than the one seen. */
    private void awaitTask(int member, long seen) {
        long idleSince = System.nanoTime();
        long idle = 0;
        while (idle < YIELD_NANOS) {
            if (cursor.get() >>> 32 != seen) {
                return;
            }
            if (idle < SPIN_NANOS) {
                Thread.onSpinWait();
            } else {
                Thread.yield();
            }
            idle = System.nanoTime() - idleSince;
        }
        // the caller sets the cursor, then looks who sleeps; so one of the two sees the other
        asleep.set(member - 1, 1);
        if (cursor.get() >>> 32 == seen && !closed) {
            LockSupport.park(this);
        }
        asleep.set(member - 1, 0);
    }

    private void takeUnits(int member) {
        int done = 0;
        while (true) {
            long taken = cursor.get();
            Task current = task;
            int untaken = (int) taken;
            if (untaken == 0 || current == null) {
                break;
            }
            if (cursor.compareAndSet(taken, taken - 1)) {
                runUnit(current, untaken - 1, member);
                done++;
            }
        }
        if (done > 0) {
            unitsLeft.addAndGet(-done);
        }
    }

    private void runUnit(Task current, int unit, int member) {
        try {
            current.run(unit, member);
        } catch (RuntimeException | Error e) {
            failure = e;
        }
    }

    @Override
    public void close() {
        closed = true;
        for (Thread member : members) {
            LockSupport.unpark(member);
        }
    }
}
