package dev.warmpath.protocol.redis;

import dev.warmpath.protocol.event.EventFormatException;
import dev.warmpath.protocol.event.KvEventBatch;
import dev.warmpath.protocol.event.KvEventCodec;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * A worker's whole set, and from where on its stream adds to it.
 *
 * <pre>
 * checkpoint := version=1 (1 byte) | millis (8 bytes) | number (8 bytes) | batch as of KvEventCodec
 * </pre>
 * Numbers are little-endian.
 *
 * @param streamId every entry of this worker's later batches has a greater id; {@code 0-0}: read from the beginning
 * @param snapshot the set, with the worker's epoch and the sequence of the last batch inside it
 */
public record Checkpoint(String streamId, KvEventBatch snapshot) {

    public static final int VERSION = 1;
    private static final int HEADER_BYTES = 1 + 2 * Long.BYTES;

    public Checkpoint {
        StreamId.parse(streamId);
        if (!snapshot.snapshot()) {
            throw new EventFormatException("a checkpoint needs a snapshot, batch " + snapshot.sequence() + " is none");
        }
    }

    public byte[] encode() {
        byte[] batch = KvEventCodec.encode(snapshot);
        StreamId id = StreamId.parse(streamId);
        return ByteBuffer.allocate(HEADER_BYTES + batch.length).order(ByteOrder.LITTLE_ENDIAN)
                .put((byte) VERSION).putLong(id.millis()).putLong(id.number()).put(batch).array();
    }

    /** @throws EventFormatException if the bytes are not exactly one checkpoint of this version */
    public static Checkpoint decode(byte[] bytes) {
        if (bytes.length < HEADER_BYTES) {
            throw new EventFormatException("checkpoint of " + bytes.length + " bytes is cut short");
        }
        ByteBuffer in = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
        int version = in.get();
        if (version != VERSION) {
            throw new EventFormatException("checkpoint has version " + version + ", this reader knows " + VERSION);
        }
        String streamId = new StreamId(in.getLong(), in.getLong()).toString();
        byte[] batch = new byte[in.remaining()];
        in.get(batch);
        return new Checkpoint(streamId, KvEventCodec.decode(batch));
    }
}
