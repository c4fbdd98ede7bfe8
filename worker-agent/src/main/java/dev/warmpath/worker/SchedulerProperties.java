package dev.warmpath.worker;

import dev.warmpath.worker.scheduler.SchedulerSettings;
import jakarta.validation.constraints.Max;
import jakarta.validation.constraints.Min;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.validation.annotation.Validated;

/**
 * How much work one step and one queue hold.
 *
 * @param maxNumBatchedTokens most tokens computed in one step
 * @param maxNumSeqs          most sequences computed at the same time
 * @param maxWaiting          most sequences waiting behind them; one more is refused
 * @param chunkedPrefill      false: a prompt is computed in one step, or later; the budget must then reach the context
 * @param longPrefillTokenThreshold most tokens of one prompt in a step; 0 = no such limit
 */
@Validated
@ConfigurationProperties("warmpath.scheduler")
public record SchedulerProperties(
        @DefaultValue("512") @Min(1) @Max(65_536) int maxNumBatchedTokens,
        @DefaultValue("64") @Min(1) @Max(4_096) int maxNumSeqs,
        @DefaultValue("512") @Min(1) @Max(65_536) int maxWaiting,
        @DefaultValue("true") boolean chunkedPrefill,
        @DefaultValue("0") @Min(0) int longPrefillTokenThreshold) {

    SchedulerSettings toSettings() {
        return SchedulerSettings.of(maxNumBatchedTokens, maxNumSeqs, maxWaiting)
                .withChunkedPrefill(chunkedPrefill).withLongPrefillThreshold(longPrefillTokenThreshold);
    }
}
