package dev.warmpath.worker.scheduler;

import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * The waiting sequences, whoever is to be served first in front, see {@link Sequence#isBefore}. A preempted sequence
 * keeps its number of arrival, so it comes to stand before all that arrived later.
 *
 * <p>One sorted array with room on both sides: taking from the front and adding at the end, which is what happens
 * nearly always, move nothing; elsewhere the shorter side makes way. Allocates only when it grows.
 */
final class WaitingQueue {

    private @Nullable Sequence[] slots = new Sequence[16];
    private int first;
    private int size;

    int size() {
        return size;
    }

    boolean isEmpty() {
        return size == 0;
    }

    /** @param index 0 to {@link #size()} - 1 */
    Sequence get(int index) {
        Sequence sequence = index < size ? slots[first + index] : null;
        if (sequence == null) {
            throw new IndexOutOfBoundsException("place " + index + " of a queue of " + size);
        }
        return sequence;
    }

    void add(Sequence sequence) {
        int index = place(sequence);
        if (index < size / 2 && first > 0) {
            System.arraycopy(slots, first, slots, first - 1, index);
            first--;
        } else {
            makeRoomAtEnd();
            System.arraycopy(slots, first + index, slots, first + index + 1, size - index);
        }
        slots[first + index] = sequence;
        size++;
    }

    Sequence remove(int index) {
        Sequence sequence = get(index);
        if (index < size / 2) {
            System.arraycopy(slots, first, slots, first + 1, index);
            slots[first++] = null;
        } else {
            System.arraycopy(slots, first + index + 1, slots, first + index, size - index - 1);
            slots[first + size - 1] = null;
        }
        size--;
        return sequence;
    }

    /** @return false if it does not wait here */
    boolean remove(Sequence sequence) {
        int index = place(sequence);
        if (index == size || get(index) != sequence) {
            return false;
        }
        remove(index);
        return true;
    }

    /** How many are before it. */
    private int place(Sequence sequence) {
        int low = 0;
        int high = size;
        while (low < high) {
            int middle = (low + high) >>> 1;
            if (get(middle).isBefore(sequence)) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        return low;
    }

    private void makeRoomAtEnd() {
        if (first + size < slots.length) {
            return;
        }
        if (first > size) {
            System.arraycopy(slots, first, slots, 0, size);
            Arrays.fill(slots, first, first + size, null);
        } else {
            var larger = new Sequence[Math.max(16, 2 * size)];
            System.arraycopy(slots, first, larger, 0, size);
            slots = larger;
        }
        first = 0;
    }
}
