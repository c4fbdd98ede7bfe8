package dev.warmpath.tokenization.template;

import java.util.AbstractList;
import java.util.RandomAccess;

/** Integers in equal steps, each made when it is asked for. */
final class Range extends AbstractList<Value> implements RandomAccess {
    /** As in Jinja's sandbox. */
    private static final int MOST = 100_000;

    private final long start;
    private final long step;
    private final int size;

    private Range(long start, long step, int size) {
        this.start = start;
        this.step = step;
        this.size = size;
    }

    static Range of(long start, long stop, long step, RenderContext context) {
        if (step == 0) {
            throw context.wrong("the step of a range is zero");
        }
        if (step > 0 ? start >= stop : start <= stop) {
            return new Range(start, step, 0);
        }
        // of two numbers far apart the difference may overflow, and is not negative without its sign
        long distance = step > 0 ? stop - start : start - stop;
        long most = Long.divideUnsigned(distance - 1, Math.absExact(Math.max(step, -Long.MAX_VALUE)));
        if (Long.compareUnsigned(most, MOST) >= 0) {
            throw context.limit("a range has more than " + MOST + " numbers");
        }
        return new Range(start, step, (int) most + 1);
    }

    @Override
    public Value get(int index) {
        if (index < 0 || index >= size) {
            throw new IndexOutOfBoundsException(index);
        }
        return new Value.Int(start + index * step);
    }

    @Override
    public int size() {
        return size;
    }
}
