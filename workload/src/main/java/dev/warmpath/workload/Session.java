package dev.warmpath.workload;

import java.util.List;

/**
 * What one client sends, one turn after the other: the first at its time, each other one when the answer before it has
 * ended and the client has thought.
 *
 * @param startMicros of the first turn
 * @param turns       at least one
 * @param thinkMicros before each turn but the first; one fewer than turns
 */
public record Session(long startMicros, List<Turn> turns, long[] thinkMicros) {

    public Session {
        turns = List.copyOf(turns);
        if (turns.isEmpty() || thinkMicros.length != turns.size() - 1) {
            throw new IllegalArgumentException(turns.size() + " turns, " + thinkMicros.length + " pauses");
        }
    }

    /** A request that nothing follows. */
    public static Session of(long startMicros, Turn turn) {
        return new Session(startMicros, List.of(turn), new long[0]);
    }
}
