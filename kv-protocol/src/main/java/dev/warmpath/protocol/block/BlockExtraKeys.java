package dev.warmpath.protocol.block;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The extra keys of one block alone, as they stand in its preimage: what {@link ExtraKeys} say of a whole prompt, for
 * whoever sees single blocks and not the prompt.
 *
 * @param adapter name of the adapter that computed it, or null for the base model
 * @param media   what reaches into the block, in the order of its places
 * @param salt    null in any block but the first of a prompt
 */
public record BlockExtraKeys(@Nullable String adapter, List<Media> media, @Nullable String salt) {

    public static final BlockExtraKeys NONE = new BlockExtraKeys(null, List.of(), null);

    /**
     * A media item in a block.
     *
     * @param offset its first placeholder token, counted from the block's first one; negative if it begins before it
     */
    public record Media(String identifier, int offset) {}

    /** Empty text means absent, as in {@link ExtraKeys}. */
    public BlockExtraKeys {
        adapter = adapter == null || adapter.isEmpty() ? null : adapter;
        media = List.copyOf(media);
        salt = salt == null || salt.isEmpty() ? null : salt;
    }

    /** Writes an array of the keys, or null if there are none. */
    void write(CborWriter out) {
        int count = (adapter == null ? 0 : 1) + media.size() + (salt == null ? 0 : 1);
        if (count == 0) {
            out.nil();
            return;
        }
        out.arrayHeader(count);
        if (adapter != null) {
            out.text(adapter);
        }
        for (Media item : media) {
            out.arrayHeader(2);
            out.text(item.identifier());
            out.integer(item.offset());
        }
        if (salt != null) {
            out.text(salt);
        }
    }
}
