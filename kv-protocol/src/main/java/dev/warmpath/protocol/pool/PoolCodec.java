package dev.warmpath.protocol.pool;

import dev.warmpath.protocol.event.EventFormatException;
import dev.warmpath.protocol.event.Varints;
import dev.warmpath.protocol.generate.GenerateRequest;
import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;

/**
 * The binary encoding of {@link PoolFrame}.
 *
 * <pre>
 * frame   := version=1 (1 byte) | flags (1 byte, bit 0: whole, bit 1: held) | sample (varint) | atMillis (varint)
 *            | shape (4 varints) | counters (13 varints)
 *            | blockCount (varint) | block* | nextCount (varint) | id (varint)*
 *            | hostByteCount (varint) | bits of host blocks in use, the lowest first
 *            | requestCount (varint) | request*
 * block   := how many ids are left out since the block before, or before the first (varint)
 *            | references * 2 + (1 if keyed) (varint) | key (8 bytes, little-endian, if keyed) | lastUseMillis (varint)
 * request := id (varint length, UTF-8) | choice (varint) | state (1 byte) | promptTokens, cachedTokens, computedTokens,
 *            drawnTokens, scheduledTokens (5 varints)
 * varint  := see {@link Varints}
 * </pre>
 */
public final class PoolCodec {

    public static final int VERSION = 1;

    private static final int FLAG_WHOLE = 1;
    private static final int FLAG_HELD = 2;
    private static final int MAX_ID_BYTES = 3 * GenerateRequest.MAX_REQUEST_ID_LENGTH;
    private static final int MAX_INT_BYTES = 5;
    private static final int COUNTER_COUNT = 13;
    /** Version, flags, two numbers, shape, counters, and four counts. */
    private static final int MAX_HEAD_BYTES =
            2 + 2 * Varints.MAX_BYTES + 4 * MAX_INT_BYTES + COUNTER_COUNT * Varints.MAX_BYTES + 4 * MAX_INT_BYTES;
    private static final int MIN_BLOCK_BYTES = 3;
    private static final int MAX_BLOCK_BYTES = 2 * MAX_INT_BYTES + Long.BYTES + Varints.MAX_BYTES;
    private static final int MIN_REQUEST_BYTES = 9;
    private static final int MAX_REQUEST_BYTES = 2 + MAX_ID_BYTES + 1 + 6 * MAX_INT_BYTES;

    private PoolCodec() {}

    /** The longest payload that a worker of so many blocks may send, whatever its swap space. */
    public static int maxPayloadBytes(int blockCount) {
        return (int) Math.min(Integer.MAX_VALUE - Integer.BYTES,
                maxBytes(blockCount, PoolShape.MAX_HOST_BLOCKS / Byte.SIZE, PoolFrame.MAX_REQUESTS));
    }

    private static long maxBytes(int blocks, int hostBytes, int requests) {
        return MAX_HEAD_BYTES + (long) MAX_BLOCK_BYTES * blocks + MAX_INT_BYTES * PoolFrame.MAX_NEXT + hostBytes
                + (long) MAX_REQUEST_BYTES * requests;
    }

    public static byte[] encode(PoolFrame frame) {
        byte[] hostUsed = frame.hostUsed().toByteArray();
        long most = maxBytes(frame.blocks().count(), hostUsed.length, frame.requests().size());
        ByteBuffer out = ByteBuffer.allocate(Math.toIntExact(most)).order(ByteOrder.LITTLE_ENDIAN);
        out.put((byte) VERSION).put((byte) ((frame.whole() ? FLAG_WHOLE : 0) | (frame.held() ? FLAG_HELD : 0)));
        Varints.put(out, frame.sample());
        Varints.put(out, frame.atMillis());
        putShape(out, frame.shape());
        putCounters(out, frame.counters());
        putBlocks(out, frame.blocks());
        Varints.put(out, frame.next().length);
        for (int id : frame.next()) {
            Varints.put(out, id);
        }
        Varints.put(out, hostUsed.length);
        out.put(hostUsed);
        Varints.put(out, frame.requests().size());
        frame.requests().forEach(request -> putRequest(out, request));
        byte[] encoded = new byte[out.position()];
        out.flip().get(encoded);
        return encoded;
    }

    /** @throws EventFormatException if the bytes are not exactly one frame of this version */
    public static PoolFrame decode(byte[] bytes) {
        ByteBuffer in = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
        try {
            PoolFrame frame = decode(in);
            if (in.hasRemaining()) {
                throw new EventFormatException(in.remaining() + " bytes after the end of the frame");
            }
            return frame;
        } catch (BufferUnderflowException e) {
            throw new EventFormatException("a pool's frame of " + bytes.length + " bytes is cut short");
        }
    }

    private static PoolFrame decode(ByteBuffer in) {
        int version = in.get();
        if (version != VERSION) {
            throw new EventFormatException("a pool's frame has version " + version + ", this reader knows " + VERSION);
        }
        int flags = in.get();
        if ((flags & ~(FLAG_WHOLE | FLAG_HELD)) != 0) {
            throw new EventFormatException("a pool's frame has unknown flags " + flags);
        }
        long sample = getCounter(in);
        long atMillis = getCounter(in);
        var shape = new PoolShape(getInt(in), getInt(in), getInt(in), getInt(in));
        PoolCounters counters = getCounters(in);
        PoolBlocks blocks = getBlocks(in, shape.blockCount());
        int[] next = new int[Varints.getCount(in, PoolFrame.MAX_NEXT, "next blocks", 1)];
        for (int i = 0; i < next.length; i++) {
            next[i] = getInt(in);
        }
        byte[] hostUsed = new byte[
                Varints.getCount(in, PoolShape.MAX_HOST_BLOCKS / Byte.SIZE, "bytes of host blocks", 1)];
        in.get(hostUsed);
        int requestCount = Varints.getCount(in, PoolFrame.MAX_REQUESTS, "requests", MIN_REQUEST_BYTES);
        List<PoolRequest> requests = new ArrayList<>(requestCount);
        for (int i = 0; i < requestCount; i++) {
            requests.add(getRequest(in));
        }
        return new PoolFrame(sample, atMillis, (flags & FLAG_WHOLE) != 0, (flags & FLAG_HELD) != 0, shape, counters,
                blocks, next, BitSet.valueOf(hostUsed), requests);
    }

    private static void putShape(ByteBuffer out, PoolShape shape) {
        Varints.put(out, shape.blockSize());
        Varints.put(out, shape.blockCount());
        Varints.put(out, shape.hostBlockCount());
        Varints.put(out, shape.groupCount());
    }

    private static void putCounters(ByteBuffer out, PoolCounters counters) {
        Varints.put(out, counters.usedBlocks());
        Varints.put(out, counters.freeBlocks());
        Varints.put(out, counters.cachedBlocks());
        Varints.put(out, counters.queriedTokens());
        Varints.put(out, counters.hitTokens());
        Varints.put(out, counters.computedTokens());
        Varints.put(out, counters.generatedTokens());
        Varints.put(out, counters.steps());
        Varints.put(out, counters.recomputePreemptions());
        Varints.put(out, counters.swapPreemptions());
        Varints.put(out, counters.evictions());
        Varints.put(out, counters.running());
        Varints.put(out, counters.waiting());
    }

    private static PoolCounters getCounters(ByteBuffer in) {
        return new PoolCounters(getCounter(in), getCounter(in), getCounter(in), getCounter(in), getCounter(in),
                getCounter(in), getCounter(in), getCounter(in), getCounter(in), getCounter(in), getCounter(in),
                getCounter(in), getCounter(in));
    }

    private static void putBlocks(ByteBuffer out, PoolBlocks blocks) {
        Varints.put(out, blocks.count());
        int before = -1;
        for (int i = 0; i < blocks.count(); i++) {
            boolean keyed = blocks.keyed()[i];
            Varints.put(out, blocks.ids()[i] - before - 1);
            Varints.put(out, (long) blocks.references()[i] << 1 | (keyed ? 1 : 0));
            if (keyed) {
                out.putLong(blocks.keys()[i]);
            }
            Varints.put(out, blocks.lastUseMillis()[i]);
            before = blocks.ids()[i];
        }
    }

    private static PoolBlocks getBlocks(ByteBuffer in, int blockCount) {
        int count = Varints.getCount(in, blockCount, "blocks", MIN_BLOCK_BYTES);
        int[] ids = new int[count];
        int[] references = new int[count];
        boolean[] keyed = new boolean[count];
        long[] keys = new long[count];
        long[] lastUseMillis = new long[count];
        long before = -1;
        for (int i = 0; i < count; i++) {
            before += 1L + getInt(in);
            if (before >= blockCount) {
                throw new EventFormatException("a pool of " + blockCount + " blocks has no block " + before);
            }
            ids[i] = (int) before;
            long held = getCounter(in);
            if (held >>> 1 > Integer.MAX_VALUE) {
                throw new EventFormatException("block " + before + " has " + (held >>> 1) + " references");
            }
            references[i] = (int) (held >>> 1);
            keyed[i] = (held & 1) != 0;
            keys[i] = keyed[i] ? in.getLong() : 0;
            lastUseMillis[i] = getCounter(in);
        }
        return new PoolBlocks(ids, references, keyed, keys, lastUseMillis);
    }

    private static void putRequest(ByteBuffer out, PoolRequest request) {
        byte[] id = request.id().getBytes(StandardCharsets.UTF_8);
        Varints.put(out, id.length);
        out.put(id);
        Varints.put(out, request.choice());
        out.put((byte) request.state().code());
        Varints.put(out, request.promptTokens());
        Varints.put(out, request.cachedTokens());
        Varints.put(out, request.computedTokens());
        Varints.put(out, request.drawnTokens());
        Varints.put(out, request.scheduledTokens());
    }

    private static PoolRequest getRequest(ByteBuffer in) {
        byte[] id = new byte[Varints.getCount(in, MAX_ID_BYTES, "bytes of request id", 1)];
        in.get(id);
        int choice = getInt(in);
        RequestState state = RequestState.ofCode(in.get());
        return new PoolRequest(new String(id, StandardCharsets.UTF_8), choice, state, getInt(in), getInt(in),
                getInt(in), getInt(in), getInt(in));
    }

    private static int getInt(ByteBuffer in) {
        long value = getCounter(in);
        if (value > Integer.MAX_VALUE) {
            throw new EventFormatException("the number " + value + " is above " + Integer.MAX_VALUE);
        }
        return (int) value;
    }

    private static long getCounter(ByteBuffer in) {
        long value = Varints.get(in);
        if (value < 0) {
            throw new EventFormatException(
                    "the number " + Long.toUnsignedString(value) + " is above " + Long.MAX_VALUE);
        }
        return value;
    }
}
