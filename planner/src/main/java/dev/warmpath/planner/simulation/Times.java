package dev.warmpath.planner.simulation;

import org.HdrHistogram.Histogram;

/** Times of requests, in as much memory for ten million as for ten: their number and mean are exact, quantiles within a
 * ten-thousandth of themselves. */
public final class Times {

    /** Decimal digits. */
    private static final int PRECISION = 4;

    private final Histogram micros = new Histogram(PRECISION);
    private double sumMicros;

    void add(long timeMicros) {
        micros.recordValue(timeMicros);
        sumMicros += timeMicros;
    }

    public long count() {
        return micros.getTotalCount();
    }

    /** Not a number if there are none. */
    public double meanMillis() {
        return sumMicros / 1e3 / count();
    }

    /** @param share 0.5 is the median. @return not a number if there are none */
    public double quantileMillis(double share) {
        return count() == 0 ? Double.NaN : micros.getValueAtPercentile(100 * share) / 1e3;
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof Times times && sumMicros == times.sumMicros && micros.equals(times.micros);
    }

    @Override
    public int hashCode() {
        return micros.hashCode();
    }
}
