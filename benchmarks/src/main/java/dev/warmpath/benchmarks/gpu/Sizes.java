package dev.warmpath.benchmarks.gpu;

import java.time.Duration;
import java.util.List;

/**
 * What is measured at which size.
 * @param repetitions       of each timing, after {@code warmUps}
 * @param copyBytes         of the copy that sets the yardstick
 * @param matmulSide        of the square product that sets the other
 * @param model             decodes, and answers prompts of which a part is cached
 * @param decodes           decode attention, with the share of the copy's rate each is held to
 * @param fp8Decode         the shape in which fp8 is held against bf16
 * @param prefills          prefill attention, with the share of FlashAttention-2's speed
 * @param decodePrompt      tokens before the first decode step of the model
 * @param decodeWarmUps     steps before the first timed one: the host's part is compiled by then
 * @param engineWarmUp      made-up requests before the first timed one, for the same reason; zero is none
 * @param prompts           lengths and shares of prefix hits
 * @param maxBatchedTokens  tokens a step of the engine takes
 * @param swapLayers        layers of the cache whose blocks are swapped, each of 8 heads of 64
 * @param swapBlocks        blocks swapped in one call
 * @param sampledRows       of each sampling, the most last
 */
record Sizes(int warmUps, int repetitions, long copyBytes, int matmulSide, LlamaShape model,
             List<Held> decodes, AttentionShape fp8Decode, List<Held> prefills, int decodePrompt, int decodeWarmUps,
             Duration engineWarmUp, List<Prompt> prompts, int maxBatchedTokens, int swapLayers, int swapBlocks,
             List<Integer> sampledRows) {

    /** A shape and the least share that meets its goal. */
    record Held(AttentionShape shape, double least) {}

    /**
     * A prompt of which a part is cached.
     * @param cached    leading tokens that an earlier prompt shares, whole blocks
     * @param leastGain uncached time over cached time that meets the goal
     */
    record Prompt(String name, int tokens, int cached, double leastGain) {}

    /** The sizes that the goals are set for. */
    static Sizes full() {
        var decode = AttentionShape.uniform("decode 64 x 4k", 64, 1, 4096);
        return new Sizes(5, 60, 4L << 30, 8192, LlamaShape.oneBillion(),
                List.of(new Held(decode, 0.85),
                        new Held(AttentionShape.uniform("decode 1 x 32k, with its reduction", 1, 1, 32_768), 0.60),
                        new Held(AttentionShape.uniform("decode 64 x 512", 64, 1, 512), 0.60),
                        new Held(AttentionShape.ragged("decode 64 ragged, 128 to 8k", 64, 128, 8192), 0.75)),
                decode,
                List.of(new Held(AttentionShape.uniform("prefill 1 x 4k", 1, 4096, 4096), 0.80),
                        new Held(AttentionShape.uniform("prefill 2 x 4k", 2, 4096, 4096), 0.80),
                        new Held(AttentionShape.uniform("prefill 4 x 4k", 4, 4096, 4096), 0.80),
                        new Held(AttentionShape.uniform("prefill 512 on 8k", 1, 512, 8704), 0.75),
                        // what is left of a prompt whose beginning was cached
                        new Held(AttentionShape.uniform("suffix 30 on 8k", 1, 30, 8222), 1),
                        new Held(AttentionShape.uniform("suffix 30 on 32k", 1, 30, 32_798), 1)),
                1024, 256, Duration.ofSeconds(3),
                List.of(new Prompt("prefix hit, 512 tokens, 97 % shared", 512, 496, 2.5),
                        new Prompt("prefix hit, 2k tokens, 90 % shared", 2048, 1840, 5),
                        new Prompt("prefix hit, 8k tokens, 85 % shared", 8192, 6960, 4.5)),
                8192, 16, 2048, List.of(1, 16, 256));
    }

    /** The same program in seconds on an emulated device: nothing of it is a result. */
    static Sizes quick() {
        var decode = AttentionShape.uniform("decode 3 x 40", 3, 1, 40);
        return new Sizes(0, 1, 1 << 20, 64, LlamaShape.tiny(),
                List.of(new Held(decode, 0.85),
                        new Held(AttentionShape.uniform("decode 1 x 300, with its reduction", 1, 1, 300), 0.60),
                        new Held(AttentionShape.ragged("decode 4 ragged, 1 to 50", 4, 1, 50), 0.75)),
                decode,
                List.of(new Held(AttentionShape.uniform("prefill 1 x 40", 1, 40, 40), 0.80),
                        new Held(AttentionShape.uniform("prefill 20 on 40", 1, 20, 60), 0.75),
                        new Held(AttentionShape.uniform("suffix 5 on 70", 1, 5, 75), 1)),
                20, 2, Duration.ZERO,
                List.of(new Prompt("prefix hit, 96 tokens, 83 % shared", 96, 80, 2.5)),
                128, 2, 6, List.of(1, 3));
    }
}
