package dev.warmpath.planner.simulation;

import java.util.PriorityQueue;

/** What happens when, in one thread. What is planned for the same moment happens in the order of planning. */
final class Timeline {

    private record Event(long micros, long number, Runnable action) implements Comparable<Event> {
        @Override
        public int compareTo(Event other) {
            return micros != other.micros ? Long.compare(micros, other.micros) : Long.compare(number, other.number);
        }
    }

    private final PriorityQueue<Event> events = new PriorityQueue<>();
    private long micros;
    private long planned;

    long micros() {
        return micros;
    }

    /** As {@link System#nanoTime}, from 0. */
    long nanos() {
        return micros * 1_000;
    }

    /** @param micros not before now */
    void at(long micros, Runnable action) {
        if (micros < this.micros) {
            throw new IllegalArgumentException(micros + " us is before " + this.micros);
        }
        events.add(new Event(micros, planned++, action));
    }

    void after(long micros, Runnable action) {
        at(this.micros + micros, action);
    }

    /** @return false if nothing is planned */
    boolean next() {
        Event event = events.poll();
        if (event == null) {
            return false;
        }
        micros = event.micros;
        event.action.run();
        return true;
    }
}
