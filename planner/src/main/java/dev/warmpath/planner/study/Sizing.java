package dev.warmpath.planner.study;

import java.io.IOException;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * The fewest workers that keep what is promised: their number is doubled until it is kept, then halved between the last
 * that did not and the first that did. That more workers are never worse is taken for granted.
 */
public final class Sizing {

    private final Runs runs;
    private final Test keeps;
    private final int most;
    private final Map<Integer, Row> tried = new TreeMap<>();

    /** Simulates a fleet of so many workers. */
    @FunctionalInterface
    public interface Runs {
        Row of(int workers) throws IOException, InterruptedException;
    }

    /** Whether a run keeps what is promised. */
    @FunctionalInterface
    public interface Test {
        boolean of(Row row);
    }

    /** @param most workers that are tried, at least 1 */
    public Sizing(Runs runs, Test keeps, int most) {
        this.runs = runs;
        this.keeps = keeps;
        this.most = most;
    }

    /** @return null if not even the most workers keep it */
    public @Nullable Integer fewest() throws IOException, InterruptedException {
        int fails = 0;
        int kept = 1;
        while (!keeps.of(run(kept))) {
            if (kept == most) {
                return null;
            }
            fails = kept;
            kept = Math.min(most, 2 * kept);
        }
        while (kept - fails > 1) {
            int middle = (kept + fails) / 2;
            if (keeps.of(run(middle))) {
                kept = middle;
            } else {
                fails = middle;
            }
        }
        return kept;
    }

    /** Each number of workers is simulated once. */
    public Row run(int workers) throws IOException, InterruptedException {
        Row row = tried.get(workers);
        if (row == null) {
            row = runs.of(workers);
            tried.put(workers, row);
        }
        return row;
    }
}
