package dev.warmpath.worker.model;

import dev.warmpath.worker.compute.ComputeBackend;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/**
 * Logits of golden prompts, at the prompt's last position and behind each of the tokens that torch goes on with,
 * whatever the backend would have drawn: so one near-tie does not make two backends compute different texts.
 *
 * @param logits [prompt][position][vocabulary]
 */
record TeacherForced(List<Golden.Prompt> prompts, float[][][] logits) {

    private static final int CHUNK = 512;

    /**
     * Runs all prompts in one batch, the prefill in chunks, then step by step.
     * @param positions of each prompt, at most; short continuations end earlier
     */
    static TeacherForced run(ComputeBackend backend, List<Golden.Prompt> prompts, int positions) throws IOException {
        int blocks = 1;
        for (var prompt : prompts) {
            blocks += Math.ceilDiv(prompt.tokens().length + prompt.greedy().length, 16);
        }
        var settings = RunnerSettings.of(blocks, 16, CHUNK * prompts.size(), prompts.size());
        try (var runner = new TestRunner(Golden.MODEL, backend, settings)) {
            return new TeacherForced(prompts, run(runner, prompts, positions));
        }
    }

    private static float[][][] run(TestRunner runner, List<Golden.Prompt> prompts, int positions) {
        float[][][] logits = new float[prompts.size()][][];
        List<RunningSequence> sequences = new ArrayList<>();
        for (int i = 0; i < logits.length; i++) {
            Golden.Prompt prompt = prompts.get(i);
            logits[i] = new float[Math.min(positions, prompt.greedy().length)][];
            sequences.add(runner.sequence(prompt.tokens(), prompt.tokens().length + prompt.greedy().length));
        }
        for (List<Integer> running = unfinished(logits); !running.isEmpty(); running = unfinished(logits)) {
            int[] lengths = running.stream().mapToInt(i -> sequences.get(i).length()).toArray();
            runner.step(running.stream().map(sequences::get).toList(), CHUNK);
            int[] drawn = new int[running.size()];
            int count = 0;
            for (int i = 0; i < drawn.length; i++) {
                drawn[i] = sequences.get(running.get(i)).length() > lengths[i] ? count++ : -1;
            }
            for (int i = 0; i < drawn.length; i++) {
                if (drawn[i] >= 0) {
                    int prompt = running.get(i);
                    int position = lengths[i] - prompts.get(prompt).tokens().length;
                    logits[prompt][position] = runner.logits(drawn[i], count);
                    sequences.get(prompt).replaceLast(prompts.get(prompt).greedy()[position]);
                }
            }
        }
        return logits;
    }

    private static List<Integer> unfinished(float[][][] logits) {
        List<Integer> running = new ArrayList<>();
        for (int prompt = 0; prompt < logits.length; prompt++) {
            if (logits[prompt][logits[prompt].length - 1] == null) {
                running.add(prompt);
            }
        }
        return running;
    }

    /**
     * How far another run is from this one.
     * @param largest     deviation of a logit as a share of the largest |logit| of its row
     * @param positions   rows compared
     * @param differing   rows whose largest logit is another token's
     * @param widestFlip  widest gap between the two best of this run where the token differs; 0 if none does
     */
    record Deviation(double largest, int positions, int differing, double widestFlip) {}

    Deviation deviationOf(TeacherForced other) {
        double largest = 0;
        double widestFlip = 0;
        int differing = 0;
        int positions = 0;
        for (int prompt = 0; prompt < logits.length; prompt++) {
            for (int position = 0; position < logits[prompt].length; position++) {
                float[] mine = logits[prompt][position];
                float[] others = other.logits[prompt][position];
                largest = Math.max(largest, share(mine, others));
                positions++;
                if (best(mine, -1) != best(others, -1)) {
                    differing++;
                    widestFlip = Math.max(widestFlip, gap(mine));
                }
            }
        }
        return new Deviation(largest, positions, differing, widestFlip);
    }

    /** Infinite if a number is not finite. */
    static double share(float[] expected, float[] actual) {
        double largest = 0;
        double difference = 0;
        for (int id = 0; id < expected.length; id++) {
            largest = Math.max(largest, Math.abs(expected[id]));
            double distance = Math.abs(actual[id] - expected[id]);
            difference = Double.isNaN(distance) ? Double.POSITIVE_INFINITY : Math.max(difference, distance);
        }
        return difference / largest;
    }

    private static double gap(float[] logits) {
        int first = best(logits, -1);
        return logits[first] - logits[best(logits, first)];
    }

    private static int best(float[] logits, int except) {
        int best = except == 0 ? 1 : 0;
        for (int id = 0; id < logits.length; id++) {
            if (id != except && logits[id] > logits[best]) {
                best = id;
            }
        }
        return best;
    }
}
