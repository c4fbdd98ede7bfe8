package dev.warmpath.protocol.block;

import org.jspecify.annotations.Nullable;

/**
 * What, beside its tokens, distinguishes one prefix from another.
 *
 * <p>The fields are not tagged in the hashed bytes (vLLM's contract), so an adapter and a salt of the same text give
 * the same hash. The fleet therefore writes an adapter as {@code a:} + name and a salt as {@code s:} + digest (D2).
 *
 * @param adapter name of the adapter that computes every block, or null for the base model
 * @param salt    keeps prefixes of different owners apart; part of the first block only, the chain carries it on
 */
public record ExtraKeys(@Nullable String adapter, @Nullable String salt) {

    public static final ExtraKeys NONE = new ExtraKeys(null, null);

    /** Empty text means absent, as on the public API. */
    public ExtraKeys {
        adapter = adapter == null || adapter.isEmpty() ? null : adapter;
        salt = salt == null || salt.isEmpty() ? null : salt;
    }

    public static ExtraKeys ofSalt(@Nullable String salt) {
        return new ExtraKeys(null, salt);
    }

    /** How many keys the block contributes to its hash. */
    int count(boolean firstBlock) {
        return (adapter == null ? 0 : 1) + (firstBlock && salt != null ? 1 : 0);
    }
}
