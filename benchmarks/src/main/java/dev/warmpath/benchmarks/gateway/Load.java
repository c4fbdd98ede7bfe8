package dev.warmpath.benchmarks.gateway;

import java.util.ArrayList;
import java.util.List;

/**
 * What the clients ask for and at which pace the workers answer.
 *
 * @param connections  each with one request at a time
 * @param rate         requests a second; 0 = whenever a connection is free
 * @param textBytes    of the new message of each request
 * @param historyBytes that a conversation begins with; 0 = every request stands alone
 * @param tokens       of each answer
 * @param pace         of the workers
 */
record Load(int connections, double rate, int textBytes, int historyBytes, int tokens, Pace pace) {

    static final Load SHORT = new Load(32, 0, 980, 0, 16, Pace.steps(10));
    static final Load MID = new Load(32, 0, 21_900, 0, 128, Pace.steps(10));
    static final Load LONG = new Load(4, 0, 177_900, 0, 16, Pace.steps(10));
    /** A chat that begins with so many bytes and goes on by a short question each time. */
    static final Load LATER_TURN = new Load(8, 0, 300, 125_000, 16, Pace.steps(10));
    static final Load MOST = new Load(64, 0, 980, 0, 16, Pace.AT_ONCE);

    /**
     * @param intervalMicros from one write of a worker to the next of the same answer; 0 = all of it in one write
     * @param tokensPerWrite tokens that come together
     */
    record Pace(int intervalMicros, int tokensPerWrite) {

        static final Pace AT_ONCE = new Pace(0, 1);

        static Pace steps(int intervalMillis) {
            return new Pace(intervalMillis * 1_000, 1);
        }

        /** As many tokens a second, so many of them at a time. */
        Pace inBursts(int tokens) {
            return new Pace(intervalMicros * tokens, tokens);
        }
    }

    Load withTokens(int count) {
        return new Load(connections, rate, textBytes, historyBytes, count, pace);
    }

    Load withPace(Pace other) {
        return new Load(connections, rate, textBytes, historyBytes, tokens, other);
    }

    Load withRate(double perSecond) {
        return new Load(connections, perSecond, textBytes, historyBytes, tokens, pace);
    }

    Load withConnections(int count) {
        return new Load(count, rate, textBytes, historyBytes, tokens, pace);
    }

    /** For {@code load}. */
    List<String> arguments() {
        return new ArrayList<>(List.of("-c", Integer.toString(connections), "-r", Double.toString(rate),
                "-b", Integer.toString(textBytes), "-h", Integer.toString(historyBytes),
                "-t", Integer.toString(tokens)));
    }
}
