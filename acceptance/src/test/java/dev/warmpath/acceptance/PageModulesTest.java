package dev.warmpath.acceptance;

import dev.warmpath.protocol.block.ExtraKeys;
import dev.warmpath.protocol.block.HashSettings;
import dev.warmpath.worker.kvcache.BlockPoolSize;
import dev.warmpath.worker.kvcache.KvCacheManager;
import dev.warmpath.worker.kvcache.KvCacheSettings;
import dev.warmpath.worker.kvcache.PrefixHit;
import dev.warmpath.worker.kvcache.TokenSequence;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.json.JsonMapper;

/**
 * The fleet page's modules that draw nothing, under node: {@code src/test/clients/page/modules.mjs} has the tests. What
 * the page calculates and walks through by itself is held against the worker's own classes.
 */
class PageModulesTest {

    private static final JsonMapper JSON = JsonMapper.builder().build();
    private static final int BLOCKS = 12;
    private static final int BLOCK_SIZE = 4;
    private static final int STEPS = 400;

    /** What a worker's pool comes to, by its own arithmetic. */
    record Expected(Map<String, Number> start, long bytesPerBlock, long blocks, long tokens) {}

    /**
     * One step of a pool that is walked through.
     *
     * @param admit   name of a request that comes; null if one leaves
     * @param blocks  which the manager gave it; null if it had too few
     * @param release name of one that leaves
     */
    record Step(@Nullable String admit, int @Nullable [] tokens, int @Nullable [] blocks, @Nullable String release) {}

    /** All steps. */
    record Run(int blocks, int blockSize, List<Step> steps) {}

    @Test
    void modules_agree_with_their_tests_and_with_the_worker() {
        ClientPrograms programs = ClientPrograms.install("page", List.of("node", "npm"), List.of("package-lock.json"),
                folder -> List.of(List.of("npm", "ci", "--no-audit", "--no-fund", "--prefix", folder.toString())));
        programs.run(Map.of(
                "MODULES", LocalFleet.ROOT.resolve("router-service/src/main/resources/static-page").toString(),
                "STARTS", JSON.writeValueAsString(starts()), "POOL_RUN", JSON.writeValueAsString(run())),
                "node", "modules.mjs");
    }

    private static List<Expected> starts() {
        var random = new SplittableRandom(7);
        List<Expected> starts = new ArrayList<>();
        for (int i = 0; i < 200; i++) {
            var size = new BlockPoolSize(1 << random.nextInt(8), random.nextInt(1, 65), random.nextInt(1, 257),
                    random.nextInt(1, 5), random.nextBoolean() ? 4 : 0, random.nextInt(1, 129),
                    random.nextLong(300L << 30), random.nextInt(1, 101) / 100.0);
            starts.add(new Expected(Map.of("blockSize", size.blockSize(), "kvHeads", size.kvHeadCount(), "headDim",
                    size.headSize(), "elementBytes", size.elementBytes(), "scaleBytes", size.scaleBytes(), "layers",
                    size.layerCount(), "memoryBytes", size.memoryBytes(), "utilisation", size.utilization()),
                    size.bytesPerBlock(), size.blockCount(), size.tokenCount()));
        }
        return starts;
    }

    /** Prompts of few different beginnings in a small pool, so that blocks are shared, found again and evicted. */
    private static Run run() {
        var random = new SplittableRandom(11);
        var cache = new KvCacheManager(KvCacheSettings.of(BLOCKS, BLOCK_SIZE));
        Map<String, TokenSequence> live = new HashMap<>();
        List<Step> steps = new ArrayList<>();
        for (int i = 0; i < STEPS; i++) {
            if (!live.isEmpty() && random.nextInt(5) < 2) {
                String name = List.copyOf(live.keySet()).get(random.nextInt(live.size()));
                cache.release(live.remove(name));
                steps.add(new Step(null, null, null, name));
            } else {
                steps.add(admit(cache, live, "request " + i, prompt(random)));
            }
        }
        return new Run(BLOCKS, BLOCK_SIZE, steps);
    }

    private static int[] prompt(SplittableRandom random) {
        int first = random.nextInt(3);
        int second = random.nextInt(3);
        return IntStream.range(0, random.nextInt(1, 22)).map(at -> at < 6 ? first : 10 * first + second).toArray();
    }

    private static Step admit(KvCacheManager cache, Map<String, TokenSequence> live, String name, int[] tokens) {
        var sequence = new TokenSequence(HashSettings.ofBlockSize(BLOCK_SIZE), ExtraKeys.NONE, tokens);
        PrefixHit hit = cache.match(sequence);
        if (!cache.admit(sequence, hit, tokens.length - hit.tokenCount())) {
            return new Step(name, tokens, null, null);
        }
        cache.settle(sequence, sequence.computedTokens());
        live.put(name, sequence);
        return new Step(name, tokens,
                IntStream.range(0, sequence.table().blockCount()).map(sequence.table()::block).toArray(), null);
    }
}
