package dev.warmpath.protocol.event;

import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/**
 * The one binary encoding of event batches.
 *
 * <pre>
 * batch   := version=1 (1 byte) | flags (1 byte, bit 0: snapshot)
 *            | workerId (varint length, UTF-8) | epoch (varint) | sequence (varint)
 *            | changeCount (varint) | change* | setSize (varint) | setDigest (8 bytes)
 * change  := kind (1 byte; 0 stored, 1 removed, 2 cleared)
 *            | for stored and removed: medium (1 byte) | keyCount (varint) | key (8 bytes)*
 * varint  := 7 bits a byte, least significant group first, top bit set on all but the last
 * </pre>
 * Eight-byte numbers are little-endian, so that a run of keys can be read in one copy.
 */
public final class KvEventCodec {

    public static final int VERSION = 1;
    /** An id is a host name or less. */
    public static final int MAX_WORKER_ID_BYTES = 256;
    /** Above any real pool, below what would hurt: 16 million keys are 128 MiB. */
    public static final int MAX_KEYS_PER_CHANGE = 1 << 24;

    private static final int FLAG_SNAPSHOT = 1;
    private static final int STORED = 0;
    private static final int REMOVED = 1;
    private static final int CLEARED = 2;

    private KvEventCodec() {}

    public static byte[] encode(KvEventBatch batch) {
        byte[] workerId = batch.workerId().getBytes(StandardCharsets.UTF_8);
        ByteBuffer out = ByteBuffer.allocate(maxSize(batch, workerId.length)).order(ByteOrder.LITTLE_ENDIAN);
        out.put((byte) VERSION).put((byte) (batch.snapshot() ? FLAG_SNAPSHOT : 0));
        Varints.put(out, workerId.length);
        out.put(workerId);
        Varints.put(out, batch.epoch());
        Varints.put(out, batch.sequence());
        Varints.put(out, batch.changes().size());
        batch.changes().forEach(change -> putChange(out, change));
        Varints.put(out, batch.setSize());
        out.putLong(batch.setDigest());
        byte[] encoded = new byte[out.position()];
        out.flip().get(encoded);
        return encoded;
    }

    /** @throws EventFormatException if the bytes are not exactly one batch of this version */
    public static KvEventBatch decode(byte[] bytes) {
        ByteBuffer in = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
        try {
            KvEventBatch batch = decode(in);
            if (in.hasRemaining()) {
                throw new EventFormatException(in.remaining() + " bytes after the end of the batch");
            }
            return batch;
        } catch (BufferUnderflowException e) {
            throw new EventFormatException("batch of " + bytes.length + " bytes is cut short");
        }
    }

    private static KvEventBatch decode(ByteBuffer in) {
        int version = in.get();
        if (version != VERSION) {
            throw new EventFormatException("batch has version " + version + ", this reader knows " + VERSION);
        }
        int flags = in.get();
        if ((flags & ~FLAG_SNAPSHOT) != 0) {
            throw new EventFormatException("batch has unknown flags " + flags);
        }
        byte[] workerId = new byte[Varints.getCount(in, MAX_WORKER_ID_BYTES, "bytes of worker id", 1)];
        in.get(workerId);
        long epoch = Varints.get(in);
        long sequence = Varints.get(in);
        int changeCount = Varints.getCount(in, MAX_KEYS_PER_CHANGE, "changes", 1);
        List<BlockChange> changes = new ArrayList<>(Math.min(changeCount, 1024));
        for (int i = 0; i < changeCount; i++) {
            changes.add(getChange(in));
        }
        long setSize = Varints.get(in);
        if (setSize < 0 || setSize > Integer.MAX_VALUE) {
            throw new EventFormatException("batch claims a set of " + Long.toUnsignedString(setSize) + " keys");
        }
        return new KvEventBatch(new String(workerId, StandardCharsets.UTF_8), epoch, sequence,
                (flags & FLAG_SNAPSHOT) != 0, changes, (int) setSize, in.getLong());
    }

    private static void putChange(ByteBuffer out, BlockChange change) {
        switch (change) {
            case BlockChange.Stored(var medium, var keys) -> putKeys(out, STORED, medium, keys);
            case BlockChange.Removed(var medium, var keys) -> putKeys(out, REMOVED, medium, keys);
            case BlockChange.Cleared() -> out.put((byte) CLEARED);
        }
    }

    private static void putKeys(ByteBuffer out, int kind, Medium medium, long[] keys) {
        out.put((byte) kind).put((byte) medium.code());
        Varints.put(out, keys.length);
        out.asLongBuffer().put(keys);
        out.position(out.position() + keys.length * Long.BYTES);
    }

    private static BlockChange getChange(ByteBuffer in) {
        int kind = in.get();
        return switch (kind) {
            case STORED -> new BlockChange.Stored(Medium.ofCode(in.get()), getKeys(in));
            case REMOVED -> new BlockChange.Removed(Medium.ofCode(in.get()), getKeys(in));
            case CLEARED -> new BlockChange.Cleared();
            default -> throw new EventFormatException("change of kind " + kind + " is not known");
        };
    }

    private static long[] getKeys(ByteBuffer in) {
        long[] keys = new long[Varints.getCount(in, MAX_KEYS_PER_CHANGE, "keys", Long.BYTES)];
        in.asLongBuffer().get(keys);
        in.position(in.position() + keys.length * Long.BYTES);
        return keys;
    }

    private static int maxSize(KvEventBatch batch, int workerIdBytes) {
        if (workerIdBytes > MAX_WORKER_ID_BYTES) {
            throw new EventFormatException("worker id has " + workerIdBytes + " bytes, limit " + MAX_WORKER_ID_BYTES);
        }
        int size = 2 + workerIdBytes + 5 * Varints.MAX_BYTES + Long.BYTES;
        for (BlockChange change : batch.changes()) {
            int keyBytes = Math.multiplyExact(change.keyCount(), Long.BYTES);
            size = Math.addExact(size, Math.addExact(2 + Varints.MAX_BYTES, keyBytes));
        }
        return size;
    }
}
