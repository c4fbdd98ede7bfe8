package dev.warmpath.tokenization.bpe;

import java.util.Arrays;
import java.util.BitSet;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/**
 * The text of ids for the decoder {@code ByteLevel}: each id stands for bytes, whatever its neighbours are. Safe for
 * concurrent use; a text that is the same for every occurrence of its id is made once.
 */
final class ByteLevelDecoder implements TokenDecoder {
    private static final byte[] NO_BYTES = {};

    private final byte[][] bytes;
    private final BitSet specialIds;
    /** By id: its text, if it is one by itself and was asked for; strings may be passed on by a race. */
    private final @Nullable String[] texts;

    private ByteLevelDecoder(byte[][] bytes, BitSet specialIds) {
        this.bytes = bytes;
        this.specialIds = specialIds;
        texts = new @Nullable String[bytes.length];
    }

    /** @param root tokenizer.json. @return null if its decoder is another, or its vocabulary no map */
    static @Nullable ByteLevelDecoder of(JsonNode root) {
        JsonNode decoder = root.path("decoder");
        @Nullable Pieces pieces = isByteLevel(root.path("decoder")) ? Pieces.of(root) : null;
        if (pieces == null) {
            return null;
        }
        var bytes = new byte[pieces.texts().length][];
        for (int id = 0; id < bytes.length; id++) {
            @Nullable String piece = pieces.texts()[id];
            bytes[id] = piece == null ? NO_BYTES : ByteLetters.decoded(piece);
        }
        return new ByteLevelDecoder(bytes, pieces.specialIds());
    }

    private static boolean isByteLevel(JsonNode decoder) {
        return Reading.type(decoder).equals("ByteLevel") && Set.of(
                "type", "add_prefix_space", "trim_offsets", "use_regex").containsAll(decoder.propertyNames());
    }

    @Override
    public String decode(int[] ids, int from, int to, boolean skipSpecialTokens) {
        long length = 0;
        for (int i = from; i < to; i++) {
            length += bytesOf(ids[i], skipSpecialTokens).length;
        }
        var joined = new byte[Math.toIntExact(length)];
        int size = 0;
        for (int i = from; i < to; i++) {
            byte[] part = bytesOf(ids[i], skipSpecialTokens);
            System.arraycopy(part, 0, joined, size, part.length);
            size += part.length;
        }
        return LossyUtf8.text(joined, size);
    }

    @Override
    public byte[] bytes(int id) {
        return bytesOf(id, /* skipSpecialTokens */ false);
    }

    private byte[] bytesOf(int id, boolean skipSpecialTokens) {
        boolean known = id >= 0 && id < bytes.length && !(skipSpecialTokens && specialIds.get(id));
        return known ? bytes[id] : NO_BYTES;
    }

    @Override
    public TextStream stream(boolean continues) {
        return new Stream();
    }

    /** Bytes of a character in the making wait; all else comes out at once. */
    private final class Stream implements TextStream {
        /** {@code [0, waiting)} waits: three bytes at most. */
        private byte[] buffer = new byte[64];
        private int waiting;

        @Override
        public String accept(int id) {
            byte[] more = bytesOf(id, /* skipSpecialTokens */ true);
            if (more.length == 0) {
                return "";
            }
            @Nullable String text = texts[id];
            return waiting == 0 && text != null ? text : accept(id, more);
        }

        private String accept(int id, byte[] more) {
            int end = waiting + more.length;
            if (end > buffer.length) {
                buffer = Arrays.copyOf(buffer, end);
            }
            System.arraycopy(more, 0, buffer, waiting, more.length);
            int finished = LossyUtf8.finishedEnd(buffer, end);
            String text = LossyUtf8.text(buffer, finished);
            if (waiting == 0 && finished == end) {
                texts[id] = text;
            }
            System.arraycopy(buffer, finished, buffer, 0, end - finished);
            waiting = end - finished;
            return text;
        }

        @Override
        public String finish() {
            String text = LossyUtf8.text(buffer, waiting);
            waiting = 0;
            return text;
        }
    }
}
