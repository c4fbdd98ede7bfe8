package dev.warmpath.benchmarks.engine;

import dev.warmpath.protocol.generate.GenerateRequest;
import dev.warmpath.protocol.generate.LogitRules;
import dev.warmpath.protocol.generate.SamplingParameters;
import dev.warmpath.protocol.generate.StopConditions;
import dev.warmpath.worker.kvcache.KvCacheSettings;
import dev.warmpath.worker.scheduler.SchedulerSettings;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.SplittableRandom;
import java.util.stream.IntStream;

/**
 * What rules for logits cost those who ask for them: a whole engine on a real model, eight greedy answers side by side,
 * rounds with rules against rounds without, neighbours in changing order. The figure is the median of the ratios of
 * neighbours, for engines that draw one step and several steps ahead: whoever looks back is drawn one at a time.
 * <pre>
 *   java --add-modules jdk.incubator.vector --enable-native-access=ALL-UNNAMED -cp … \
 *        dev.warmpath.benchmarks.engine.LogitRulesCost models/warmpath-tiny [pairs of rounds]
 * </pre>
 */
public final class LogitRulesCost {

    private static final int REQUESTS = 8;
    private static final int PROMPT = 512;
    private static final int DRAWN = 128;
    private static final int BLOCK_SIZE = 16;
    private static final int BLOCKS = 4 * REQUESTS * (PROMPT + DRAWN) / BLOCK_SIZE;
    private static final int WARM_UP_PAIRS = 8;

    private LogitRulesCost() {}

    public static void main(String[] args) throws IOException, InterruptedException {
        Path model = Path.of(args[0]);
        int pairs = args.length > 1 ? Integer.parseInt(args[1]) : 60;
        System.out.printf("%d pairs of rounds, %d prompts of %d tokens, %d drawn after each; time with / without%n",
                pairs, REQUESTS, PROMPT, DRAWN);
        System.out.printf("%6s %-12s %8s %15s%n", "steps", "rules", "time", "quartiles");
        LogitRules penalties = LogitRules.NONE.withPenalties(0.5f, 0.5f, 1.1f);
        LogitRules bias = LogitRules.NONE.withBiases(new int[] {1, 2, 3}, -1, 1, 2);
        for (int steps : new int[] {1, 4}) {
            compare(model, steps, "penalties", penalties, pairs);
            compare(model, steps, "three biases", bias, pairs);
        }
    }

    private static void compare(Path model, int steps, String name, LogitRules rules, int pairs)
            throws IOException, InterruptedException {
        double[] ratios = new double[pairs];
        try (var engine = new TimedEngine(model, KvCacheSettings.of(BLOCKS, BLOCK_SIZE),
                SchedulerSettings.of(PROMPT, REQUESTS, REQUESTS).withSteps(steps))) {
            var random = new SplittableRandom(1);
            int[][] prompts = new int[REQUESTS][];
            Arrays.setAll(prompts, i -> random.ints(PROMPT, 0, engine.vocabularySize()).toArray());
            for (int i = -WARM_UP_PAIRS; i < pairs; i++) {
                long first = round(engine, prompts, i % 2 == 0 ? rules : LogitRules.NONE);
                long second = round(engine, prompts, i % 2 == 0 ? LogitRules.NONE : rules);
                if (i >= 0) {
                    ratios[i] = i % 2 == 0 ? (double) first / second : (double) second / first;
                }
            }
        }
        Arrays.sort(ratios);
        System.out.printf("%6d %-12s %8.3f %7.3f–%.3f%n", steps, name, ratios[pairs / 2], ratios[pairs / 4],
                ratios[3 * pairs / 4]);
    }

    /** The prompts are cached from the second round on. */
    private static long round(TimedEngine engine, int[][] prompts, LogitRules rules) throws InterruptedException {
        return engine.round(IntStream.range(0, REQUESTS).mapToObj(i -> GenerateRequest.of("r" + i, prompts[i].clone(),
                SamplingParameters.GREEDY.with(rules), StopConditions.pastTheEnd(DRAWN))).toList());
    }
}
