package dev.warmpath.router.live;

import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.PropertyNamingStrategies.SnakeCaseStrategy;
import tools.jackson.databind.annotation.JsonNaming;

/** The last five minutes of the fleet's numbers, a point a second, for who begins to watch. For one thread. */
final class History {

    static final int POINTS = 300;

    /** What is kept; told by the name in lower case. */
    enum Series {
        /** Share of all blocks that requests hold. */
        USAGE,
        /** Of the last minute. */
        HIT_RATE,
        TOKENS_PER_SECOND, PROMPT_TOKENS_PER_SECOND,
        /** Requests at the workers. */
        RUNNING, WAITING,
        /** The median of the last minute. */
        FIRST_TOKEN_MS
    }

    private static final double[] NOTHING = new double[Series.values().length];

    static {
        Arrays.fill(NOTHING, Double.NaN);
    }

    private final double[][] points = new double[Series.values().length][POINTS];
    private int count;
    private int next;
    private long lastSecond;

    /**
     * As it is told.
     *
     * @param stepSeconds between two points
     * @param at          of the last point, in seconds since 1970
     * @param series      the oldest first; null where nothing was known
     */
    @JsonNaming(SnakeCaseStrategy.class)
    record View(int stepSeconds, long at, Map<String, @Nullable Double[]> series) {}

    /**
     * A second that was missed is one of which nothing is known.
     *
     * @param values by series, {@link Double#NaN} where nothing is known
     */
    void add(long epochSecond, double... values) {
        long missed = count == 0 ? 0 : Math.clamp(epochSecond - lastSecond - 1, 0, POINTS);
        for (long i = 0; i < missed; i++) {
            put(NOTHING);
        }
        put(values);
        lastSecond = epochSecond;
    }

    private void put(double[] values) {
        for (int i = 0; i < points.length; i++) {
            points[i][next] = values[i];
        }
        next = (next + 1) % POINTS;
        count = Math.min(count + 1, POINTS);
    }

    View view() {
        Map<String, @Nullable Double[]> series = new LinkedHashMap<>();
        for (Series each : Series.values()) {
            @Nullable Double[] values = new Double[count];
            Arrays.setAll(values, i -> {
                double value = points[each.ordinal()][Math.floorMod(next - count + i, POINTS)];
                return Double.isNaN(value) ? null : Double.valueOf(Math.round(value * 1e4) / 1e4);
            });
            series.put(Texts.lower(each), values);
        }
        return new View(1, lastSecond, series);
    }
}
