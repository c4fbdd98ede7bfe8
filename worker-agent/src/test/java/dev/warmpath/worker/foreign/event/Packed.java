package dev.warmpath.worker.foreign.event;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.math.BigInteger;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.msgpack.core.MessageBufferPacker;
import org.msgpack.core.MessagePack;

/** MessagePack of plain values, for batches that nobody has captured. */
final class Packed {

    static {
        System.setProperty("msgpack.universal-buffer", "true");           // as the decoder: whoever comes first decides
    }

    private Packed() {}

    /** A batch of a time and of rank 0, its events as maps or lists. */
    static byte[] batch(double timeSeconds, Object... events) {
        return bytes(List.of(timeSeconds, List.of(events), 0));
    }

    static byte[] bytes(Object value) {
        try (MessageBufferPacker packer = MessagePack.newDefaultBufferPacker()) {
            pack(packer, value);
            return packer.toByteArray();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static void pack(MessageBufferPacker packer, @Nullable Object value) throws IOException {
        switch (value) {
            case null -> packer.packNil();
            case Boolean flag -> packer.packBoolean(flag);
            case Integer number -> packer.packInt(number);
            case Long number -> packer.packBigInteger(new BigInteger(Long.toUnsignedString(number)));
            case Double number -> packer.packDouble(number);
            case String text -> packer.packString(text);
            case byte[] bytes -> packer.packBinaryHeader(bytes.length).writePayload(bytes);
            case List<?> list -> {
                packer.packArrayHeader(list.size());
                for (Object item : list) {
                    pack(packer, item);
                }
            }
            case Map<?, ?> map -> {
                packer.packMapHeader(map.size());
                for (Map.Entry<?, ?> entry : map.entrySet()) {
                    pack(packer, entry.getKey());
                    pack(packer, entry.getValue());
                }
            }
            default -> throw new IllegalArgumentException("cannot pack a " + value.getClass());
        }
    }
}
