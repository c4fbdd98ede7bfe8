package dev.warmpath.protocol.block;

import java.nio.charset.StandardCharsets;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Writes the extra keys of one block after another. Texts are encoded once, and since blocks come in order, media items
 * that lie behind are not looked at again: a block costs what it holds, and allocates nothing.
 */
final class ExtraKeyWriter {

    private final int blockSize;
    private final byte @Nullable [] adapter;
    private final byte @Nullable [] salt;
    private final List<MediaItem> media;
    private final byte[][] identifiers;
    /** All items before this one end at or before the last written block's start. */
    private int firstItem;

    ExtraKeyWriter(ExtraKeys extraKeys, int blockSize) {
        this.blockSize = blockSize;
        this.adapter = utf8(extraKeys.adapter());
        this.salt = utf8(extraKeys.salt());
        this.media = extraKeys.media();
        this.identifiers = new byte[media.size()][];
        for (int i = 0; i < identifiers.length; i++) {
            identifiers[i] = media.get(i).identifier().getBytes(StandardCharsets.UTF_8);
        }
    }

    /** Writes an array of the block's keys, or null if there are none. @param blockIndex never below an earlier one */
    void write(CborWriter out, int blockIndex) {
        int start = blockIndex * blockSize;
        int lastItem = passItems(start);
        boolean salted = salt != null && blockIndex == 0;
        int count = (adapter == null ? 0 : 1) + (lastItem - firstItem) + (salted ? 1 : 0);
        if (count == 0) {
            out.nil();
            return;
        }
        out.arrayHeader(count);
        if (adapter != null) {
            out.text(adapter);
        }
        for (int i = firstItem; i < lastItem; i++) {
            out.arrayHeader(2);
            out.text(identifiers[i]);
            out.integer(media.get(i).offset() - start);
        }
        if (salted) {
            out.text(salt);
        }
    }

    /** Moves on to the first item that reaches into the block. @return the first one that begins behind the block */
    private int passItems(int start) {
        while (firstItem < identifiers.length && media.get(firstItem).end() <= start) {
            firstItem++;
        }
        int lastItem = firstItem;
        while (lastItem < identifiers.length && media.get(lastItem).offset() - start < blockSize) {
            lastItem++;
        }
        return lastItem;
    }

    private static byte @Nullable [] utf8(@Nullable String text) {
        return text == null ? null : text.getBytes(StandardCharsets.UTF_8);
    }
}
