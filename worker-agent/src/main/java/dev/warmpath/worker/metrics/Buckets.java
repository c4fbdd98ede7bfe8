package dev.warmpath.worker.metrics;

import dev.warmpath.worker.histogram.Distribution;
import io.prometheus.metrics.model.snapshots.ClassicHistogramBuckets;
import io.prometheus.metrics.model.snapshots.HistogramSnapshot.HistogramDataPointSnapshot;
import io.prometheus.metrics.model.snapshots.Labels;
import java.util.Arrays;

/** The bounds by which a distribution is shown: some of its own, in the unit of the meter. */
final class Buckets {

    private static final double NANOS_PER_SECOND = 1e9;

    private final double[] bounds;
    private final double rawPerUnit;
    private final boolean areLengths;

    private Buckets(double[] bounds, double rawPerUnit, boolean areLengths) {
        this.bounds = bounds;
        this.rawPerUnit = rawPerUnit;
        this.areLengths = areLengths;
    }

    /** Of a distribution of nanoseconds. @param bounds in seconds, inclusive, ascending */
    static Buckets ofSeconds(double... bounds) {
        return new Buckets(bounds, NANOS_PER_SECOND, false);
    }

    /** @param bounds inclusive, ascending */
    static Buckets ofCounts(double... bounds) {
        return new Buckets(bounds, 1, false);
    }

    /** Of the lengths of prompts and answers. */
    static Buckets ofLengths(double... bounds) {
        return new Buckets(bounds, 1, true);
    }

    /** Bounds of lengths that no sequence of the model reaches are left out; the others stay. */
    Buckets upTo(int contextLength) {
        return areLengths
                ? new Buckets(Arrays.stream(bounds).filter(each -> each <= contextLength).toArray(), rawPerUnit, true)
                : this;
    }

    HistogramDataPointSnapshot show(Distribution distribution, Labels labels) {
        long[] counts = distribution.counts(Arrays.stream(bounds).mapToLong(b -> Math.round(b * rawPerUnit)).toArray());
        double[] upperBounds = Arrays.copyOf(bounds, counts.length);
        upperBounds[bounds.length] = Double.POSITIVE_INFINITY;
        return HistogramDataPointSnapshot.builder().labels(labels).sum(distribution.sum() / rawPerUnit)
                .classicHistogramBuckets(ClassicHistogramBuckets.of(upperBounds, counts)).build();
    }
}
