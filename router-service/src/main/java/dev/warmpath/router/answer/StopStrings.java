package dev.warmpath.router.answer;

import java.util.Comparator;
import java.util.List;

/**
 * Ends a growing text before the first stop string in it, or behind it. Text that may turn out to begin one waits, so no
 * part of one is ever returned. Of several the one that begins first counts: the result is that of a search in the
 * whole text, however it was cut into pieces. One generation, one thread.
 */
final class StopStrings {

    private final List<String> stops;
    private final boolean included;
    private final StringBuilder waiting = new StringBuilder();
    private boolean stopped;

    /**
     * @param stops    none empty; without any, text passes through
     * @param included whether the one that ends the text is its last part
     */
    StopStrings(List<String> stops, boolean included) {
        if (stops.stream().anyMatch(String::isEmpty)) {
            throw new IllegalArgumentException("a stop string is empty");
        }
        // of two that begin at one place the shorter one is there first
        this.stops = stops.stream().sorted(Comparator.comparingInt(String::length)).toList();
        this.included = included;
    }

    /** A stop string follows what was returned last: the generation is over. */
    boolean isStopped() {
        return stopped;
    }

    /**
     * @return what may be shown now
     * @throws IllegalStateException after a stop string
     */
    String accept(String text) {
        if (stopped) {
            throw new IllegalStateException("the text has stopped already");
        }
        if (stops.isEmpty()) {
            return text;
        }
        waiting.append(text);
        for (int start = 0; start < waiting.length(); start++) {
            int stop = stopAt(start);
            if (stop > 0) {
                return stop(start, stop);
            }
            if (stopMayBeginAt(start)) {
                return take(start);
            }
        }
        return take(waiting.length());
    }

    /** The end of the text: what waited begins no stop string, but may still contain a whole one. */
    String finish() {
        for (int start = 0; start < waiting.length() && !stopped; start++) {
            int stop = stopAt(start);
            if (stop > 0) {
                return stop(start, stop);
            }
        }
        return take(waiting.length());
    }

    /** @return the length of the stop string that stands there; 0: none does */
    private int stopAt(int start) {
        for (String stop : stops) {
            if (matching(stop, start) == stop.length()) {
                return stop.length();
            }
        }
        return 0;
    }

    private boolean stopMayBeginAt(int start) {
        for (String stop : stops) {
            if (matching(stop, start) == waiting.length() - start) {
                return true;
            }
        }
        return false;
    }

    /** How many characters of {@code stop} stand at {@code start}. */
    private int matching(String stop, int start) {
        int length = Math.min(stop.length(), waiting.length() - start);
        int matching = 0;
        while (matching < length && waiting.charAt(start + matching) == stop.charAt(matching)) {
            matching++;
        }
        return matching;
    }

    private String stop(int start, int length) {
        stopped = true;
        String text = waiting.substring(0, included ? start + length : start);
        waiting.setLength(0);
        return text;
    }

    private String take(int length) {
        String text = waiting.substring(0, length);
        waiting.delete(0, length);
        return text;
    }
}
