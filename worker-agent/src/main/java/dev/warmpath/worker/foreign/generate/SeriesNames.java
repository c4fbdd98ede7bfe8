package dev.warmpath.worker.foreign.generate;

import dev.warmpath.worker.foreign.generate.Samples.Sample;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What one kind of engine calls the series that tell its load.
 *
 * @param rank label that tells data-parallel ranks apart
 */
record SeriesNames(String running, String waiting, String usage, String rank) {

    static final SeriesNames VLLM = new SeriesNames("vllm:num_requests_running", "vllm:num_requests_waiting",
            "vllm:kv_cache_usage_perc", "engine");
    static final SeriesNames SGLANG = new SeriesNames("sglang:num_running_reqs", "sglang:num_queue_reqs",
            "sglang:token_usage", "dp_rank");
    static final String STARTED = "process_start_time_seconds";
    static final String CACHE_CONFIG = "vllm:cache_config_info";

    static SeriesNames of(EngineKind kind) {
        return switch (kind) {
            case VLLM, OPENAI -> VLLM;
            case SGLANG -> SGLANG;
        };
    }

    /**
     * Of one rank, or of all together.
     *
     * @param page  the engine's metrics
     * @param cache of one rank; null = free blocks are not known
     * @param only  null = all ranks
     */
    EngineLoad load(Samples page, EngineFacts.@Nullable Cache cache, @Nullable Integer only) {
        double free = 0;
        for (double usage : byRank(page, usage, only).values()) {
            free += cache == null ? 0 : Math.round((1 - usage) * (cache.blockCount() - 1));
        }
        return new EngineLoad((int) sum(page, running, only), (int) sum(page, waiting, only),
                cache == null ? ForeignLoad.NOT_KNOWN : (int) free);
    }

    private double sum(Samples page, String name, @Nullable Integer only) {
        return byRank(page, name, only).values().stream().mapToDouble(Double::doubleValue).sum();
    }

    /** SGLang tells the same for each card of a rank, and for each priority beside all: the largest is the rank's. */
    private Map<String, Double> byRank(Samples page, String name, @Nullable Integer only) {
        Map<String, Double> values = new HashMap<>();
        for (Sample sample : page.of(name)) {
            if (only == null || sample.label(rank).equals(only.toString())) {
                values.merge(sample.label(rank), sample.value(), Math::max);
            }
        }
        return values;
    }
}
