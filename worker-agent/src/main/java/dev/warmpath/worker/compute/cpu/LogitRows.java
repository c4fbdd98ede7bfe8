package dev.warmpath.worker.compute.cpu;

import dev.warmpath.worker.compute.LogitAdjustments;
import dev.warmpath.worker.compute.SampledTokens;
import dev.warmpath.worker.compute.SamplingInputs;
import dev.warmpath.worker.compute.ScoreInputs;
import dev.warmpath.worker.compute.ScoredTokens;
import dev.warmpath.worker.compute.Tensor;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** Draws tokens from rows of logits and scores them; each row is one member's of the team. */
final class LogitRows {

    /** Logits below which waking threads costs more than it saves. */
    private static final long MIN_SHARED_LOGITS = 1L << 14;

    private final ThreadTeam team;
    private final Member[] members;
    private final ThreadTeam.Task drawing = this::draw;
    private final ThreadTeam.Task scoring = this::score;
    private final LogitAdjuster adjuster = new LogitAdjuster();
    private boolean isAdjusted;

    private float[] logits = new float[0];
    private int size;
    private float[] logprobs = new float[0];

    // of the rows drawn from
    private long[] seeds = new long[0];
    private int[] counters = new int[0];
    private float[] temperatures = new float[0];
    private int[] topKs = new int[0];
    private float[] topPs = new float[0];
    private int[] wanted = new int[0];
    private int[] tokens = new int[0];

    // of the rows scored
    private int firstScored;
    private int[] targets = new int[0];
    private int[] counts = new int[0];
    private int[] ranks = new int[0];
    private int[] topIds = new int[0];
    private float[] topLogprobs = new float[0];

    /** What a thread needs for a row. */
    private static final class Member {

        private final LogitLoops loops;
        private final TokenSampler sampler;
        private final TokenScorer scorer;
        private float[] adjusted = new float[0];

        Member(LogitLoops loops) {
            this.loops = loops;
            this.sampler = new TokenSampler(loops);
            this.scorer = new TokenScorer(loops);
        }

        float[] adjusted(int size) {
            if (adjusted.length < size) {
                adjusted = new float[size];
            }
            return adjusted;
        }
    }

    /** @param loops asked once for each member */
    LogitRows(ThreadTeam team, Supplier<LogitLoops> loops) {
        this.team = team;
        this.members = new Member[team.size()];
        for (int i = 0; i < members.length; i++) {
            members[i] = new Member(loops.get());
        }
    }

    /** @param adjustments null where no row has any @param before what the step before drew */
    void sample(Tensor rows, SamplingInputs inputs, @Nullable LogitAdjustments adjustments, SampledTokens before,
                SampledTokens output, int rowCount) {
        open(rows, rowCount);
        seeds = Handles.longs(inputs.seeds(), rowCount);
        counters = Handles.ints(inputs.counters(), rowCount);
        temperatures = Handles.floats(inputs.temperatures(), rowCount);
        topKs = Handles.ints(inputs.topKs(), rowCount);
        topPs = Handles.floats(inputs.topPs(), rowCount);
        wanted = Handles.ints(inputs.logprobs(), rowCount);
        tokens = Handles.ints(output.tokens(), rowCount);
        logprobs = Handles.floats(output.logprobs(), rowCount);
        isAdjusted = adjustments != null;
        if (adjustments != null) {
            adjuster.open(adjustments, Handles.ints(before.tokens(), 0), rowCount);
        }
        run(drawing, rowCount);
    }

    private void draw(int row, int member) {
        Member own = members[member];
        boolean adjusts = isAdjusted && adjuster.adjusts(row);
        float[] from = logits;
        if (adjusts) {
            from = own.adjusted(size);
            adjuster.adjust(logits, row, size, own.loops, from);
        }
        int token = own.sampler.draw(from, adjusts ? 0 : row * size, size, temperatures[row], topKs[row], topPs[row],
                seeds[row], counters[row]);
        if (adjusts && token == SampledTokens.NO_TOKEN && own.sampler.isUsable(logits, row * size, size)) {
            token = SampledTokens.MASKED;
        }
        tokens[row] = token;
        logprobs[row] = wanted[row] != 0 && token >= 0 ? own.scorer.logprob(logits, row * size, size, token)
                : Float.NaN;
    }

    void score(Tensor rows, ScoreInputs inputs, ScoredTokens output, int firstRow, int rowCount) {
        open(rows, rowCount);
        firstScored = firstRow;
        targets = Handles.ints(inputs.targets(), 0);
        counts = Handles.ints(inputs.counts(), 0);
        logprobs = Handles.floats(output.logprobs(), 0);
        ranks = Handles.ints(output.ranks(), 0);
        topIds = Handles.ints(output.topIds(), 0);
        topLogprobs = Handles.floats(output.topLogprobs(), 0);
        run(scoring, rowCount);
    }

    private void score(int row, int member) {
        int at = firstScored + row;
        if (targets[at] != ScoreInputs.NO_TARGET || counts[at] > 0) {
            TokenScorer scorer = members[member].scorer;
            ranks[at] = scorer.score(logits, row * size, size, targets[at], counts[at], topIds, topLogprobs,
                    at * ScoredTokens.MOST_LIKELIEST);
            logprobs[at] = scorer.targetLogprob();
        }
    }

    private void open(Tensor rows, int rowCount) {
        logits = Handles.floats(rows, rowCount);
        size = rows.columns();
    }

    private void run(ThreadTeam.Task task, int rowCount) {
        team.run(task, rowCount, (long) rowCount * size < MIN_SHARED_LOGITS);
    }
}
