package dev.warmpath.protocol.event;

import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.time.Duration;

/**
 * How batches stand one after the other in a worker's direct stream: four bytes of length, big-endian, then as many
 * bytes of {@link KvEventCodec}. The first frame is a snapshot. A frame of length 0 says that the worker is still
 * there.
 */
public final class EventFrames {

    public static final int HEADER_BYTES = Integer.BYTES;
    /** A worker with nothing to tell sends an empty frame this often. */
    public static final Duration KEEP_ALIVE_INTERVAL = Duration.ofSeconds(1);
    /** A reader that has seen nothing for this long takes the stream for broken: three keep-alives were missed. */
    public static final Duration LONGEST_SILENCE = Duration.ofSeconds(3);
    /** Even the smallest worker may send this much. */
    private static final long SMALLEST_LIMIT = 1 << 20;
    /** A step may give up every block and fill it anew: two keys of eight bytes, and as much again to be safe. */
    private static final long BYTES_PER_BLOCK = 32;

    private EventFrames() {}

    /** One batch, ready to be sent. */
    public static byte[] encode(KvEventBatch batch) {
        return frame(KvEventCodec.encode(batch));
    }

    /** A payload with its length before it; a new array. */
    public static byte[] frame(byte[] payload) {
        return ByteBuffer.allocate(HEADER_BYTES + payload.length).putInt(payload.length).put(payload).array();
    }

    /** The empty frame; a new array. */
    public static byte[] keepAlive() {
        return new byte[HEADER_BYTES];
    }

    /** The longest payload that a worker of so many blocks has reason to send. */
    public static int maxPayloadBytes(int blockCount) {
        return (int) Math.min(Integer.MAX_VALUE - HEADER_BYTES, SMALLEST_LIMIT + BYTES_PER_BLOCK * blockCount);
    }

    /**
     * Reads the next frame's payload; empty for a keep-alive. Memory is taken as bytes arrive, not as they are claimed.
     *
     * @throws EOFException         if the stream ends, between frames or inside one
     * @throws EventFormatException if the claimed length is negative or above {@code maxPayloadBytes}
     */
    public static byte[] read(DataInputStream in, int maxPayloadBytes) throws IOException {
        int length = in.readInt();
        if (length < 0 || length > maxPayloadBytes) {
            throw new EventFormatException("frame claims " + Integer.toUnsignedString(length) + " bytes, limit "
                    + maxPayloadBytes);
        }
        byte[] payload = in.readNBytes(length);
        if (payload.length < length) {
            throw new EOFException("stream ended after " + payload.length + " of " + length + " bytes of a frame");
        }
        return payload;
    }
}
