package dev.warmpath.worker;

import dev.warmpath.worker.scheduler.SchedulerSettings;
import dev.warmpath.worker.scheduler.SchedulingPolicy;
import jakarta.validation.constraints.Max;
import jakarta.validation.constraints.Min;
import java.time.Duration;
import org.hibernate.validator.constraints.time.DurationMax;
import org.hibernate.validator.constraints.time.DurationMin;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.validation.annotation.Validated;

/**
 * How much work one step and one queue hold, and who comes first.
 *
 * @param maxNumBatchedTokens most tokens of one step; unset: 8,192 on a GPU, 512 on processors
 * @param maxNumSeqs most sequences of one step; unset: 256 on a GPU, 64 on processors
 * @param maxWaiting how many sequences beyond {@code max-num-seqs} may be there, waiting or preempted; one more is
 *                   refused
 * @param chunkedPrefill cut prompts to the step's budget. Off, a prompt is computed in one step, and the budget must
 *                       reach the model's context
 * @param longPrefillTokenThreshold most tokens of one prompt in a step; 0 = no such limit
 * @param policy who comes first: {@code fcfs} in the order of arrival; {@code priority} the generate protocol's lower
 *               number first
 * @param schedulerSteps steps per decision while everybody decodes and nobody waits: less overhead, tokens come in
 *                       bursts
 * @param asyncScheduling prepare the next step while the last one is computed; unset: on with a GPU, off on processors,
 *                        which compute a step when it is submitted and gain nothing
 * @param reserveWholeSequence admit a sequence when all its known tokens find blocks, which saves most preemptions;
 *                             false: when its first piece does
 * @param cacheAwareWindow among so many that wait longest, the longest cached prefix goes first; 0 = off. Each of them
 *                         is looked up in every step that admits somebody
 * @param overtakeLimit who has waited so long is not overtaken any more; 0 = nobody ever is
 */
@Validated
@ConfigurationProperties("warmpath.scheduler")
public record SchedulerProperties(
        @Nullable @Min(1) @Max(65_536) Integer maxNumBatchedTokens,
        @Nullable @Min(1) @Max(4_096) Integer maxNumSeqs,
        @DefaultValue("512") @Min(1) @Max(65_536) int maxWaiting,
        @DefaultValue("true") boolean chunkedPrefill,
        @DefaultValue("0") @Min(0) int longPrefillTokenThreshold,
        @DefaultValue("fcfs") SchedulingPolicy policy,
        @DefaultValue("1") @Min(1) @Max(64) int schedulerSteps,
        @Nullable Boolean asyncScheduling,
        @DefaultValue("true") boolean reserveWholeSequence,
        @DefaultValue("0") @Min(0) @Max(1_024) int cacheAwareWindow,
        @DefaultValue("1s") @DurationMin(nanos = 0) @DurationMax(hours = 1) Duration overtakeLimit) {

    /** A card is busy with a prompt of so many tokens, and reads its weights for hundreds of sequences at a time. */
    private static final int TOKENS_ON_DEVICE = 8_192;
    private static final int SEQUENCES_ON_DEVICE = 256;
    /** Processors compute a step of more for longer than others would like to wait. */
    private static final int TOKENS_ON_PROCESSORS = 512;
    private static final int SEQUENCES_ON_PROCESSORS = 64;

    /**
     * @param onDevice whether a device of its own computes, which decides what the operator leaves open
     * @throws SettingsException if they contradict each other
     */
    SchedulerSettings toSettings(boolean onDevice) {
        int tokens = maxNumBatchedTokens != null ? maxNumBatchedTokens
                : onDevice ? TOKENS_ON_DEVICE : TOKENS_ON_PROCESSORS;
        int sequences = maxNumSeqs != null ? maxNumSeqs
                : Math.min(tokens, onDevice ? SEQUENCES_ON_DEVICE : SEQUENCES_ON_PROCESSORS);
        if (tokens < sequences) {
            throw new SettingsException("warmpath.scheduler.max-num-batched-tokens is " + tokens
                    + ", but warmpath.scheduler.max-num-seqs is " + sequences
                    + ": not every sequence could compute a token in a step",
                    "Raise the first or lower the second");
        }
        if (longPrefillTokenThreshold > 0 && !chunkedPrefill) {
            throw new SettingsException("warmpath.scheduler.long-prefill-token-threshold is "
                    + longPrefillTokenThreshold
                    + ", but warmpath.scheduler.chunked-prefill is false: no prompt may be cut",
                    "Leave the threshold at 0, or turn chunked prefill on");
        }
        if (cacheAwareWindow > 0 && overtakeLimit.isZero()) {
            throw new SettingsException("warmpath.scheduler.cache-aware-window is " + cacheAwareWindow
                    + ", but warmpath.scheduler.overtake-limit is " + overtakeLimit.toNanos()
                    + ": requests may be taken out of turn, and nobody may be overtaken",
                    "Leave the window at 0, or let requests be overtaken for some time, such as 1s");
        }
        return new SchedulerSettings(tokens, sequences, maxWaiting, chunkedPrefill,
                longPrefillTokenThreshold, policy, schedulerSteps,
                asyncScheduling == null ? onDevice : asyncScheduling, reserveWholeSequence, cacheAwareWindow,
                overtakeLimit.toNanos());
    }
}
