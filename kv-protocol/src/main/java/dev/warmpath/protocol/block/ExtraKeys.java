package dev.warmpath.protocol.block;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What, beside its tokens, distinguishes one prefix from another. A block's keys are, in this order: the adapter, a
 * pair of identifier and place for each media item that reaches into the block, and, in the first block, the salt.
 *
 * <p>The fields are not tagged in the hashed bytes (vLLM's contract), so an adapter and a salt of the same text give
 * the same hash. The fleet therefore writes an adapter as {@code a:} + name and a salt as {@code s:} + digest (D2).
 *
 * @param adapter name of the adapter that computes every block, or null for the base model
 * @param media   what the prompt shows beside text, in the order of its places, none inside another
 * @param salt    keeps prefixes of different owners apart; part of the first block only, the chain carries it on
 */
public record ExtraKeys(@Nullable String adapter, List<MediaItem> media, @Nullable String salt) {

    public static final ExtraKeys NONE = new ExtraKeys(null, null);

    /** Empty text means absent, as on the public API. */
    public ExtraKeys {
        adapter = adapter == null || adapter.isEmpty() ? null : adapter;
        media = List.copyOf(media);
        salt = salt == null || salt.isEmpty() ? null : salt;
        for (int i = 1; i < media.size(); i++) {
            MediaItem before = media.get(i - 1);
            if (media.get(i).offset() < before.end()) {
                throw new IllegalArgumentException("media item '" + media.get(i).identifier() + "' begins at position "
                        + media.get(i).offset() + ", before the end " + before.end() + " of '" + before.identifier()
                        + "' in front of it");
            }
        }
    }

    /** Of a prompt of nothing but text. */
    public ExtraKeys(@Nullable String adapter, @Nullable String salt) {
        this(adapter, List.of(), salt);
    }

    public static ExtraKeys ofSalt(@Nullable String salt) {
        return new ExtraKeys(null, salt);
    }
}
