package dev.warmpath.protocol.pool;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Which blocks the answers to one request hold.
 *
 * @param choices all that run or wait, at most {@link #MAX_CHOICES}
 */
public record RequestTables(String request, List<Choice> choices) {

    /** Several requests may carry one id, so there may be more of them than one request may ask for. */
    public static final int MAX_CHOICES = 256;

    /**
     * One answer. The counts are those of {@link PoolRequest}.
     *
     * @param choice     which one, from 0
     * @param groups     one table for each group of layers
     * @param hostBlocks what it has in swap space, group after group
     */
    public record Choice(
            int choice,
            RequestState state,
            @JsonProperty("prompt_tokens") int promptTokens,
            @JsonProperty("cached_tokens") int cachedTokens,
            @JsonProperty("computed_tokens") int computedTokens,
            @JsonProperty("scheduled_tokens") int scheduledTokens,
            @JsonProperty("drawn_tokens") int drawnTokens,
            List<Table> groups,
            @JsonProperty("host_blocks") int[] hostBlocks) {}

    /**
     * One group's table.
     *
     * @param blockSize  tokens in a block of this group
     * @param window     how many tokens these layers look back; null = all
     * @param blocks     in order of the tokens; 0 where nobody looks back so far
     * @param references how often each is held
     * @param keyed      whether each carries a key
     */
    public record Table(@JsonProperty("block_size") int blockSize, @Nullable Integer window, int[] blocks,
            int[] references, boolean[] keyed) {}
}
