package dev.warmpath.router.tokenization;

import java.util.List;

/**
 * Ends a growing text before the first stop string in it. Text that may turn out to begin a stop string waits, so no
 * part of one is ever returned. Of several the one that begins first counts: the result is that of a search in the
 * whole text, however it was cut into pieces. One generation, one thread.
 */
public final class StopStrings {
    /**
     * @param text    what may be shown now
     * @param stopped a stop string follows {@code text}: the generation is over
     */
    public record Piece(String text, boolean stopped) {}

    private final List<String> stops;
    private final StringBuilder waiting = new StringBuilder();
    private boolean stopped;

    /** @param stops none empty; without any, text passes through */
    public StopStrings(List<String> stops) {
        if (stops.stream().anyMatch(String::isEmpty)) {
            throw new IllegalArgumentException("a stop string is empty");
        }
        this.stops = List.copyOf(stops);
    }

    /** @throws IllegalStateException after a piece that stopped */
    public Piece accept(String text) {
        if (stopped) {
            throw new IllegalStateException("the text has stopped already");
        }
        waiting.append(text);
        for (int start = 0; start < waiting.length(); start++) {
            if (stopBeginsAt(start)) {
                return stop(start);
            }
            if (stopMayBeginAt(start)) {
                return new Piece(take(start), false);
            }
        }
        return new Piece(take(waiting.length()), false);
    }

    /** The end of the text: what waited begins no stop string, but may still contain a whole one. */
    public Piece finish() {
        for (int start = 0; start < waiting.length() && !stopped; start++) {
            if (stopBeginsAt(start)) {
                return stop(start);
            }
        }
        return new Piece(take(waiting.length()), stopped);
    }

    private boolean stopBeginsAt(int start) {
        for (String stop : stops) {
            if (matching(stop, start) == stop.length()) {
                return true;
            }
        }
        return false;
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

    private Piece stop(int start) {
        stopped = true;
        String text = waiting.substring(0, start);
        waiting.setLength(0);
        return new Piece(text, true);
    }

    private String take(int length) {
        String text = waiting.substring(0, length);
        waiting.delete(0, length);
        return text;
    }
}
