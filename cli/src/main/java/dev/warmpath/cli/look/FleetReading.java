package dev.warmpath.cli.look;

import java.util.List;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.PropertyNamingStrategies.SnakeCaseStrategy;
import tools.jackson.databind.annotation.JsonNaming;

/**
 * A fleet at one moment.
 *
 * @param at      ISO 8601, UTC
 * @param workers as the first router that answered knows them, by id
 */
@JsonNaming(SnakeCaseStrategy.class)
record FleetReading(String at, Router router, Index index, List<Worker> workers) {

    /**
     * All routers together: counts since they started, and rates of the last while.
     *
     * @param hitRate               share of prompt tokens that were found in caches; null without any
     * @param requestsPerSecond     null until two moments have been seen, as the other rates
     */
    @JsonNaming(SnakeCaseStrategy.class)
    record Router(long requestsInFlight, long requests, long failed, long promptTokens, long cachedTokens,
            long completionTokens, @Nullable Double hitRate, @Nullable Double requestsPerSecond,
            @Nullable Double promptTokensPerSecond, @Nullable Double tokensPerSecond,
            @Nullable FirstToken firstTokenMs) {}

    record FirstToken(double p50, double p99) {}

    /** The prefix index of that router. */
    @JsonNaming(SnakeCaseStrategy.class)
    record Index(int workers, long entries, long keys, long bytes) {}

    /**
     * @param usage blocks that requests hold, as a share of all; null before the first heartbeat
     * @param grade how far decisions rely on what the index has of it; null if it is not in the index
     */
    @JsonNaming(SnakeCaseStrategy.class)
    record Worker(String id, String state, @Nullable String problem, String health, @Nullable String healthProblem,
            @Nullable String grade, long behindBatches, String url, String model, String revision,
            @Nullable Integer running, @Nullable Integer waiting, @Nullable Integer freeBlocks, int blocks,
            @Nullable Double usage, long indexEntries, double credit, double failureShare, long leaseAgeMs) {

        boolean isIdle() {
            return running != null && running == 0 && waiting != null && waiting == 0;
        }
    }
}
