package dev.warmpath.planner.load;

import dev.warmpath.planner.output.Provenance;
import dev.warmpath.workload.GeneratedLoad;
import dev.warmpath.workload.Session;
import java.util.NoSuchElementException;
import java.util.function.Supplier;

/**
 * A generated load.
 *
 * @param name              as commands know it
 * @param sessionCount      how many sessions, at least 1
 * @param sessionsPerSecond begin, on average
 * @param seed              of all that is drawn
 */
public record DrawnLoad(String name, GeneratedLoad load, int sessionCount, double sessionsPerSecond, long seed)
        implements Load {

    @Override
    public Sessions open() {
        Supplier<Session> drawn = load.endless(sessionsPerSecond, seed);
        return new Sessions() {
            private int next;

            @Override
            public boolean hasNext() {
                return next < sessionCount;
            }

            @Override
            public Session next() {
                if (!hasNext()) {
                    throw new NoSuchElementException();
                }
                next++;
                return drawn.get();
            }

            @Override
            public double share() {
                return (double) next / sessionCount;
            }

            @Override
            public void close() {
                // nothing is open
            }
        };
    }

    @Override
    public Provenance.Input input(long requests) {
        return new Provenance.Input(name, "drawn, %s sessions per second".formatted(sessionsPerSecond), "", requests);
    }
}
