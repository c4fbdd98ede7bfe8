package dev.warmpath.worker.foreign.event;

import dev.warmpath.protocol.block.HashSettings;
import java.io.IOException;
import java.lang.ref.Reference;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Random;
import org.msgpack.core.MessageBufferPacker;
import org.msgpack.core.MessagePack;

/**
 * What it costs to follow an engine: processor time for each block that is stored, and bytes of heap for each that is
 * held. Batches are as vLLM 0.32 sends them: a prompt of 64 blocks of 16 tokens, token ids evenly below 128,000, and,
 * once the pool is full, 64 blocks removed before it, in an event each, the end of the oldest prompt first. All have
 * hashes of 32 bytes, or integers. Best of seven rounds, each with books of its own.
 * <pre>
 *   java -Xmx3g -XX:+UseSerialGC -Dmsgpack.universal-buffer=true \
 *        -cp benchmarks/target/classes:$(cat benchmarks/target/classpath) \
 *        dev.warmpath.worker.foreign.event.EngineEventsCost
 * </pre>
 */
public final class EngineEventsCost {

    private static final int BLOCK_SIZE = 16;
    private static final int PROMPT_BLOCKS = 64;
    private static final int BATCHES = 2_000;
    private static final int POOL_PROMPTS = 500;
    private static final int VOCABULARY = 128_000;
    private static final int ROUNDS = 7;

    private EngineEventsCost() {}

    public static void main(String[] args) throws IOException {
        for (boolean bytes : new boolean[] {true, false}) {
            List<byte[]> payloads = payloads(bytes);
            System.out.printf(Locale.ROOT, "hashes as %s, %d bytes a block%n", bytes ? "32 bytes" : "integers",
                    payloads.stream().mapToLong(payload -> payload.length).sum() / (BATCHES * PROMPT_BLOCKS));
            report("decoded", payloads, false);
            report("decoded, hashed, announced", payloads, true);
        }
        for (int blocks : new int[] {10_000, 100_000, 1_000_000}) {
            System.out.printf(Locale.ROOT, "%,d blocks held: %.1f bytes a block%n",
                    blocks, (double) heldBytes(blocks) / blocks);
        }
    }

    private static void report(String what, List<byte[]> payloads, boolean announce) {
        long best = Long.MAX_VALUE;
        for (int round = 0; round < ROUNDS; round++) {
            var blocks = new EngineBlocks(HashSettings.ofBlockSize(BLOCK_SIZE), 1 << 20);
            long before = System.nanoTime();
            for (byte[] payload : payloads) {
                EngineBatch batch = EngineEventDecoder.decode(payload);
                if (announce) {
                    blocks.apply(batch.events());
                }
            }
            best = Math.min(best, System.nanoTime() - before);
        }
        double nanos = (double) best / (BATCHES * PROMPT_BLOCKS);
        System.out.printf(Locale.ROOT, "  %s: %.0f ns a block, %,.0f blocks/s%n", what, nanos, 1e9 / nanos);
    }

    private static List<byte[]> payloads(boolean bytes) throws IOException {
        var random = new Random(1);
        var payloads = new ArrayList<byte[]>(BATCHES);
        var prompts = new ArrayList<long[]>(BATCHES);
        for (int i = 0; i < BATCHES; i++) {
            long[] handles = random.longs(PROMPT_BLOCKS).toArray();
            prompts.add(handles);
            long[] evicted = i < POOL_PROMPTS ? new long[0] : prompts.get(i - POOL_PROMPTS);
            payloads.add(payload(random, handles, evicted, bytes));
        }
        return payloads;
    }

    private static byte[] payload(Random random, long[] stored, long[] removed, boolean bytes) throws IOException {
        try (MessageBufferPacker out = MessagePack.newDefaultBufferPacker()) {
            out.packArrayHeader(3).packDouble(1.5).packArrayHeader(removed.length + 1);
            for (int i = removed.length - 1; i >= 0; i--) {
                out.packMapHeader(4).packString("type").packString("BlockRemoved");
                packHandles(out, new long[] {removed[i]}, bytes);
                out.packString("medium").packString("GPU").packString("group_idx").packInt(0);
            }
            out.packMapHeader(11).packString("type").packString("BlockStored");
            packHandles(out, stored, bytes);
            out.packString("parent_block_hash").packNil().packString("token_ids");
            out.packArrayHeader(stored.length * BLOCK_SIZE);
            for (int i = 0; i < stored.length * BLOCK_SIZE; i++) {
                out.packInt(random.nextInt(VOCABULARY));
            }
            out.packString("block_size").packInt(BLOCK_SIZE).packString("lora_id").packNil();
            out.packString("medium").packString("GPU").packString("lora_name").packNil();
            out.packString("extra_keys").packArrayHeader(stored.length);
            for (int i = 0; i < stored.length; i++) {
                out.packNil();
            }
            out.packString("group_idx").packInt(0).packString("kv_cache_spec_kind").packString("full_attention");
            out.packInt(0);
            return out.toByteArray();
        }
    }

    private static void packHandles(MessageBufferPacker out, long[] handles, boolean bytes) throws IOException {
        out.packString("block_hashes").packArrayHeader(handles.length);
        for (long handle : handles) {
            if (bytes) {
                out.packBinaryHeader(32).writePayload(
                        ByteBuffer.allocate(32).putLong(24, handle).array());
            } else {
                out.packBigInteger(new BigInteger(Long.toUnsignedString(handle)));
            }
        }
    }

    private static long heldBytes(int blocks) {
        long before = usedBytes();
        var tree = new BlockTree();
        long[] hash = new long[4];
        var random = new Random(2);
        int parent = BlockTree.NONE;
        for (int i = 0; i < blocks; i++) {
            hash[3] = random.nextLong();
            parent = tree.add(random.nextLong(), i % PROMPT_BLOCKS == 0 ? BlockTree.NONE : parent, hash);
        }
        long held = usedBytes() - before;
        Reference.reachabilityFence(tree);
        return held;
    }

    private static long usedBytes() {
        Runtime runtime = Runtime.getRuntime();
        long used = Long.MAX_VALUE;
        for (int i = 0; i < 4; i++) {
            System.gc();
            used = Math.min(used, runtime.totalMemory() - runtime.freeMemory());
        }
        return used;
    }
}
