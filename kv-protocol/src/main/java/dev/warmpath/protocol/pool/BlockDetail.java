package dev.warmpath.protocol.pool;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * All that a worker can say of one block.
 *
 * @param key          the last 8 bytes of its hash, 16 hexadecimal digits; null while it carries none
 * @param hash         64 hexadecimal digits, likewise
 * @param group        of the layers whose keys and values those are; null if nobody holds it and it carries no key
 * @param tokenCount   whose keys and values are in it, those that the step computes which runs now among them; 0 if
 *                     nobody holds it and it carries no key
 * @param tokens       those; null if they are not known: it is only cached, and the worker keeps no tokens to verify
 *                     hits by; or some are drawn, but not told yet
 * @param lastUseMsAgo when it was last taken, hit or let go; null = never
 * @param heldBy       by which places in whose tables, of those that run, at most {@link #MAX_HOLDERS}
 */
public record BlockDetail(
        int block,
        BlockState state,
        int references,
        @Nullable String key,
        @Nullable String hash,
        @Nullable Integer group,
        @JsonProperty("token_count") int tokenCount,
        int @Nullable [] tokens,
        @JsonProperty("last_use_ms_ago") @Nullable Long lastUseMsAgo,
        @JsonProperty("held_by") List<Holder> heldBy) {

    public static final int MAX_HOLDERS = 256;

    /**
     * A place in a table.
     *
     * @param request the id of the request
     * @param choice  which of its answers, from 0
     * @param index   the place, from 0
     */
    public record Holder(String request, int choice, int index) {}
}
