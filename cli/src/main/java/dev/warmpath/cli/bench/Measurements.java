package dev.warmpath.cli.bench;

import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import org.HdrHistogram.Histogram;
import org.jspecify.annotations.Nullable;

/**
 * What came of the requests of a run, added up as they end. Times are kept in histograms of three digits, so that
 * memory does not grow with the run. For all threads.
 */
final class Measurements {

    /** Servers can answer what they like: their words for workers and errors are counted up to so many. */
    private static final int MOST_NAMES = 256;
    private static final String OTHERS = "others";
    private static final int DIGITS = 3;

    private final @Nullable Slo slo;
    private final Histogram firstToken = new Histogram(DIGITS);
    private final Histogram gaps = new Histogram(DIGITS);
    private final Histogram whole = new Histogram(DIGITS);
    private final Histogram late = new Histogram(DIGITS);
    private final Map<String, Long> errors = new TreeMap<>();
    private final Map<String, Long> workers = new TreeMap<>();
    private @Nullable String firstError;
    private long answered;
    private long failed;
    private long good;
    private long warmUp;
    private long leftOut;
    private long abandoned;
    private long due;
    private long sent;
    private long firstDueNanos = Long.MAX_VALUE;
    private long lastDueNanos = Long.MIN_VALUE;
    private long lastSentNanos = Long.MIN_VALUE;
    /** Answers that tell how long their prompts were. */
    private long counted;
    private long promptTokens;
    private long completionTokens;
    private long toldPromptTokens;
    private long cachedTokens;
    private long firstNanos = Long.MAX_VALUE;
    private long lastNanos = Long.MIN_VALUE;

    Measurements(@Nullable Slo slo) {
        this.slo = slo;
    }

    /** A request of an open loop should be sent. */
    synchronized void due(long dueNanos) {
        due++;
        firstDueNanos = Math.min(firstDueNanos, dueNanos);
        lastDueNanos = Math.max(lastDueNanos, dueNanos);
    }

    /** It is. */
    synchronized void sent(long dueNanos, long sentNanos) {
        sent++;
        lastSentNanos = Math.max(lastSentNanos, sentNanos);
        late.recordValue(micros(sentNanos - dueNanos));
    }

    /** @param startNanos when it was due, or where nothing is, when it was sent */
    synchronized void answered(Answer answer, long startNanos) {
        answered++;
        span(startNanos, answer.endNanos());
        firstToken.recordValue(micros(answer.firstNanos() - startNanos));
        whole.recordValue(micros(answer.endNanos() - startNanos));
        for (long gap : answer.gapNanos()) {
            gaps.recordValue(micros(gap));
        }
        counted += answer.promptTokens() >= 0 ? 1 : 0;
        promptTokens += Math.max(0, answer.promptTokens());
        completionTokens += answer.completionTokens();
        if (answer.cachedTokens() >= 0 && answer.promptTokens() >= 0) {
            toldPromptTokens += answer.promptTokens();
            cachedTokens += answer.cachedTokens();
        }
        good += slo != null && slo.isKept(answer, startNanos) ? 1 : 0;
        if (answer.worker() != null) {
            count(workers, answer.worker());
        }
    }

    synchronized void failed(RequestFailedException failure, long startNanos, long endNanos) {
        failed++;
        span(startNanos, endNanos);
        count(errors, failure.kind());
        firstError = firstError == null ? failure.kind() + ": " + failure.getMessage() : firstError;
    }

    /** It is not counted among the others. */
    synchronized void warmedUp() {
        warmUp++;
    }

    /** So many would not fit into the model's context. */
    synchronized void leftOut(int turns) {
        leftOut += turns;
    }

    /** So many would have followed one that failed. */
    synchronized void abandoned(int turns) {
        abandoned += turns;
    }

    private void span(long startNanos, long endNanos) {
        firstNanos = Math.min(firstNanos, startNanos);
        lastNanos = Math.max(lastNanos, endNanos);
    }

    private static void count(Map<String, Long> counts, String name) {
        counts.merge(counts.containsKey(name) || counts.size() < MOST_NAMES ? name : OTHERS, 1L, Long::sum);
    }

    private static long micros(long nanos) {
        return Math.max(0, TimeUnit.NANOSECONDS.toMicros(nanos));
    }

    synchronized long ended() {
        return answered + failed + warmUp;
    }

    synchronized long failures() {
        return failed;
    }

    synchronized @Nullable String firstError() {
        return firstError;
    }

    synchronized BenchReport.Results results() {
        double seconds = answered + failed == 0 ? 0 : (lastNanos - firstNanos) / 1e9;
        return new BenchReport.Results(seconds,
                new BenchReport.Requests(answered + failed, answered, failed, warmUp, leftOut, abandoned), pace(),
                Map.copyOf(errors),
                counted == 0 ? null : promptTokens, toldPromptTokens == 0 ? null : cachedTokens, completionTokens,
                toldPromptTokens == 0 ? null : (double) cachedTokens / toldPromptTokens, rate(answered, seconds),
                counted == 0 ? null : rate(promptTokens, seconds), rate(completionTokens, seconds),
                BenchReport.Millis.of(firstToken), BenchReport.Millis.of(gaps), BenchReport.Millis.of(whole),
                BenchReport.Millis.of(late), goodput(seconds), Map.copyOf(workers));
    }

    /** Rates between the first and the last, so one of a single request is none. */
    private BenchReport.@Nullable PaceKept pace() {
        if (due < 2 || lastDueNanos <= firstDueNanos) {
            return null;
        }
        double offered = (due - 1) * 1e9 / (lastDueNanos - firstDueNanos);
        double achieved = sent < 2 ? 0 : (sent - 1) * 1e9 / (Math.max(lastDueNanos, lastSentNanos) - firstDueNanos);
        return new BenchReport.PaceKept(offered, achieved, Math.min(1, achieved / offered));
    }

    private BenchReport.@Nullable Goodput goodput(double seconds) {
        return slo == null ? null : new BenchReport.Goodput(slo, rate(good, seconds),
                answered + failed == 0 ? 0 : (double) good / (answered + failed));
    }

    private static double rate(long count, double seconds) {
        return seconds <= 0 ? 0 : count / seconds;
    }
}
