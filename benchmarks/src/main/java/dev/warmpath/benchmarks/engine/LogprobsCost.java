package dev.warmpath.benchmarks.engine;

import dev.warmpath.protocol.generate.GenerateRequest;
import dev.warmpath.protocol.generate.SamplingParameters;
import dev.warmpath.protocol.generate.StopConditions;
import dev.warmpath.worker.kvcache.KvCacheSettings;
import dev.warmpath.worker.scheduler.SchedulerSettings;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;

/**
 * What log-probabilities cost: a whole engine on a real model, eight greedy answers side by side, rounds in which some
 * or all of them ask against rounds in which nobody does, neighbours in changing order. The figure is the median of the
 * ratios of neighbours, in processor time of the engine's thread, which others on the machine disturb least; rounds
 * without against others without show what noise is left. The last row is of prompts of which every token is scored,
 * new ones in each round, for nothing of them is to be cached.
 * <pre>
 *   java --add-modules jdk.incubator.vector --enable-native-access=ALL-UNNAMED -cp … \
 *        dev.warmpath.benchmarks.engine.LogprobsCost models/warmpath-tiny [pairs of rounds]
 * </pre>
 */
public final class LogprobsCost {

    private static final int REQUESTS = 8;
    private static final int PROMPT = 512;
    private static final int DRAWN = 48;
    private static final int BLOCK_SIZE = 16;
    private static final int BLOCKS = 4 * REQUESTS * (PROMPT + DRAWN) / BLOCK_SIZE;
    private static final int WARM_UP_PAIRS = 5;
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
    private static final Ask NOBODY = new Ask("nobody", 0, false, false, 0);

    /** @param asking how many of the requests do */
    private record Ask(String name, int asking, boolean drawn, boolean prompt, int alternatives) {

        GenerateRequest of(GenerateRequest request, int index) {
            return index < asking ? request.withLogprobs(drawn, prompt, alternatives) : request;
        }
    }

    private LogprobsCost() {}

    public static void main(String[] args) throws IOException, InterruptedException {
        Path model = Path.of(args[0]);
        int pairs = args.length > 1 ? Integer.parseInt(args[1]) : 40;
        System.out.printf("%d pairs of rounds, %d prompts of %d tokens, %d drawn after each; processor time "
                + "with / without%n",
                pairs, REQUESTS, PROMPT, DRAWN);
        System.out.printf("%6s %-32s %8s %15s%n", "steps", "who asks", "time", "quartiles");
        for (int steps : new int[] {1, 4}) {
            try (var engine = engine(model, steps)) {
                compare(engine, steps, NOBODY, pairs, DRAWN);
                compare(engine, steps, new Ask("one of 8, 5 alternatives", 1, true, false, 5), pairs, DRAWN);
                compare(engine, steps, new Ask("all, the drawn token's", REQUESTS, true, false, 0), pairs, DRAWN);
                compare(engine, steps, new Ask("all, 5 alternatives", REQUESTS, true, false, 5), pairs, DRAWN);
                compare(engine, steps, new Ask("all, 20 alternatives", REQUESTS, true, false, 20), pairs, DRAWN);
            }
        }
        try (var engine = engine(model, 1)) {
            compare(engine, 1, new Ask("all, prompt, 5 alternatives", REQUESTS, false, true, 5), pairs, 1);
        }
    }

    private static TimedEngine engine(Path model, int steps) throws IOException {
        return new TimedEngine(model, KvCacheSettings.of(BLOCKS, BLOCK_SIZE),
                SchedulerSettings.of(PROMPT, REQUESTS, REQUESTS).withSteps(steps));
    }

    /** @param drawn tokens a request; prompts are cached from the second round on, unless they are scored */
    private static void compare(TimedEngine engine, int steps, Ask ask, int pairs, int drawn)
            throws InterruptedException {
        double[] ratios = new double[pairs];
        var random = new SplittableRandom(1);
        int[][] prompts = prompts(engine, random);
        for (int i = -WARM_UP_PAIRS; i < pairs; i++) {
            boolean askedFirst = i % 2 == 0;
            prompts = ask.prompt() ? prompts(engine, random) : prompts;
            long first = round(engine, prompts, askedFirst ? ask : NOBODY, drawn);
            prompts = ask.prompt() ? prompts(engine, random) : prompts;
            long second = round(engine, prompts, askedFirst ? NOBODY : ask, drawn);
            if (i >= 0) {
                ratios[i] = askedFirst ? (double) first / second : (double) second / first;
            }
        }
        Arrays.sort(ratios);
        System.out.printf("%6d %-32s %8.3f %7.3f–%.3f%n", steps, ask.name(), ratios[pairs / 2], ratios[pairs / 4],
                ratios[3 * pairs / 4]);
    }

    private static int[][] prompts(TimedEngine engine, SplittableRandom random) {
        int[][] prompts = new int[REQUESTS][];
        Arrays.setAll(prompts, _ -> random.ints(PROMPT, 0, engine.vocabularySize()).toArray());
        return prompts;
    }

    /** @return processor time in nanoseconds */
    private static long round(TimedEngine engine, int[][] prompts, Ask ask, int drawn) throws InterruptedException {
        long engineThread = Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().equals("engine")).findFirst().orElseThrow().threadId();
        List<GenerateRequest> requests = new ArrayList<>();
        for (int i = 0; i < REQUESTS; i++) {
            requests.add(ask.of(GenerateRequest.of("r" + i, prompts[i].clone(), SamplingParameters.GREEDY,
                    StopConditions.pastTheEnd(drawn)), i));
        }
        long before = THREADS.getThreadCpuTime(engineThread);
        engine.round(requests);
        return THREADS.getThreadCpuTime(engineThread) - before;
    }
}
