package dev.warmpath.planner.replay;

/** What the router predicted of its choices, against what came of them. */
public final class Outcomes {

    private long answered;
    private long predictedCached;
    private long foundCached;
    private long promptTokens;
    private long asPredicted;
    private long timed;
    private double predictedMillis;
    private double actualMillis;
    private double absoluteMillis;

    /** A worker told what it found. */
    public void cached(long promptLength, long predicted, long found) {
        answered++;
        promptTokens += promptLength;
        predictedCached += predicted;
        foundCached += found;
        asPredicted += predicted == found ? 1 : 0;
    }

    /** A first token came, as was predicted or not. */
    public void firstToken(double predicted, double actual) {
        timed++;
        predictedMillis += predicted;
        actualMillis += actual;
        absoluteMillis += Math.abs(predicted - actual);
    }

    ReplayView.Predictions view() {
        double tokens = Math.max(1, promptTokens);
        double times = Math.max(1, timed);
        return new ReplayView.Predictions(answered, predictedCached / tokens, foundCached / tokens,
                asPredicted / (double) Math.max(1, answered), timed, predictedMillis / times / 1e3,
                actualMillis / times / 1e3, absoluteMillis / times / 1e3);
    }
}
