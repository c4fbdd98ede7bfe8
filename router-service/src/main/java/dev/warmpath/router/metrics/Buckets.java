package dev.warmpath.router.metrics;

import java.time.Duration;
import java.util.stream.LongStream;

/** Upper bounds of histogram buckets: the same for all latencies, so that they can be laid over each other. */
final class Buckets {

    /** 1 ms to 240 s: a token of a small model to the longest answer that anybody waits for. */
    static final Duration[] LATENCIES = LongStream.of(
                    1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100, 150, 200, 300, 500, 700, 1_000, 1_500, 2_000, 3_000,
                    5_000, 7_000, 10_000, 15_000, 20_000, 30_000, 60_000, 120_000, 240_000)
            .mapToObj(Duration::ofMillis).toArray(Duration[]::new);

    /** A block's worth to a long context. None is not far off: 0.5 parts it from one. */
    static final double[] TOKENS = {
        0.5, 16, 32, 64, 128, 256, 512, 1_024, 2_048, 4_096, 8_192, 16_384, 32_768, 65_536, 131_072};

    private Buckets() {}
}
