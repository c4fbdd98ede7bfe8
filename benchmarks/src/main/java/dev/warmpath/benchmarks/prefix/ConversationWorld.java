package dev.warmpath.benchmarks.prefix;

import dev.warmpath.protocol.block.BlockHashChain;
import dev.warmpath.protocol.block.ExtraKeys;
import dev.warmpath.protocol.block.HashSettings;
import java.io.BufferedOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.stream.IntStream;

/**
 * A fleet in conversation: every worker holds the system prompts, and the turns of each conversation are held by one
 * worker (60 %), by two (30 %) or by four (10 %), until all workers are full. Seeded: equal worlds in every run.
 */
final class ConversationWorld {

    static final int SYSTEM_PROMPTS = 8;
    static final int SYSTEM_BLOCKS = 64;

    private static final int TOKENS_PER_BLOCK = 4;
    private static final int VOCABULARY = 1 << 20;
    private static final HashSettings HASHES = HashSettings.ofBlockSize(TOKENS_PER_BLOCK);

    /** How many workers there are, what each holds and how long a conversation's chain is, system prompt included. */
    enum Shape {
        HUNDRED(100, 100_000, 256),
        HUNDRED_LONG(100, 100_000, 6_250),
        THOUSAND(1_000, 10_000, 256),
        TEN(10, 100_000, 256);

        final int workers;
        final int blocksPerWorker;
        final int chainBlocks;

        Shape(int workers, int blocksPerWorker, int chainBlocks) {
            this.workers = workers;
            this.blocksPerWorker = blocksPerWorker;
            this.chainBlocks = chainBlocks;
        }

        int turnBlocks() {
            return chainBlocks - SYSTEM_BLOCKS;
        }
    }

    /** What a chain that is asked for has in common with what is held; all are of the same length. */
    enum Asked { WHOLE, HALF, SYSTEM, NOTHING }

    /**
     * Blocks that follow each other.
     *
     * @param parent key of the block before them, 0 if they begin a chain
     */
    record Segment(long parent, int[] holders, long[] keys) {}

    final Shape shape;
    /** In the order in which they are stored: parents first. */
    final List<Segment> segments = new ArrayList<>();
    /** Chains to ask for, one of each kind for each conversation. */
    final Map<Asked, BlockHashChain[]> asked = new EnumMap<>(Asked.class);

    private final SplittableRandom random = new SplittableRandom(20261127);
    private final int[][] systemTokens;
    private final BlockHashChain[] systemPrompts;
    private final int[] room;

    ConversationWorld(Shape shape) {
        this.shape = shape;
        room = new int[shape.workers];
        Arrays.fill(room, shape.blocksPerWorker);
        systemTokens = new int[SYSTEM_PROMPTS][];
        systemPrompts = new BlockHashChain[SYSTEM_PROMPTS];
        for (int prompt = 0; prompt < SYSTEM_PROMPTS; prompt++) {
            systemTokens[prompt] = tokens(random, SYSTEM_BLOCKS);
            systemPrompts[prompt] = BlockHashChain.of(HASHES, ExtraKeys.NONE, systemTokens[prompt]);
            hold(IntStream.range(0, shape.workers).toArray(), systemPrompts[prompt], 0, SYSTEM_BLOCKS);
        }
        List<int[]> holders = drawHolders();
        for (Asked kind : Asked.values()) {
            asked.put(kind, new BlockHashChain[holders.size()]);
        }
        IntStream.range(0, holders.size()).parallel().forEach(this::makeChains);
        for (int i = 0; i < holders.size(); i++) {
            hold(holders.get(i), chains(Asked.WHOLE)[i], SYSTEM_BLOCKS, shape.chainBlocks);
        }
        fillUp();
    }

    BlockHashChain[] chains(Asked kind) {
        return asked.getOrDefault(kind, new BlockHashChain[0]);
    }

    /** Key of a system prompt's last block. */
    long lastKeyOfSystemPrompt(int prompt) {
        return systemPrompts[prompt].key(SYSTEM_BLOCKS - 1);
    }

    long pairs() {
        return (long) shape.workers * shape.blocksPerWorker;
    }

    /** Everything that one worker holds; parents first. */
    long[] keysOf(int worker) {
        long[] keys = new long[shape.blocksPerWorker];
        int count = 0;
        for (Segment segment : segments) {
            if (Arrays.stream(segment.holders).anyMatch(holder -> holder == worker)) {
                System.arraycopy(segment.keys, 0, keys, count, segment.keys.length);
                count += segment.keys.length;
            }
        }
        return Arrays.copyOf(keys, count);
    }

    private List<int[]> drawHolders() {
        List<int[]> drawn = new ArrayList<>();
        int[] left = room.clone();
        int[] open = IntStream.range(0, left.length).toArray();
        while (open.length > 0) {
            int percent = random.nextInt(100);
            int count = Math.min(open.length, percent < 60 ? 1 : percent < 90 ? 2 : 4);
            int[] holders = new int[count];
            for (int i = 0; i < count; i++) {
                int at = random.nextInt(i, open.length);
                holders[i] = open[at];
                open[at] = open[i];
                open[i] = holders[i];
                left[holders[i]] -= shape.turnBlocks();
            }
            drawn.add(holders);
            open = Arrays.stream(open).filter(worker -> left[worker] >= shape.turnBlocks()).toArray();
        }
        return drawn;
    }

    private void makeChains(int conversation) {
        var own = new SplittableRandom(conversation);
        int prompt = conversation % SYSTEM_PROMPTS;
        int[] tokens = tokens(own, shape.chainBlocks);
        System.arraycopy(systemTokens[prompt], 0, tokens, 0, systemTokens[prompt].length);
        BlockHashChain whole = systemPrompts[prompt].fork();
        whole.extend(tokens, tokens.length);
        chains(Asked.WHOLE)[conversation] = whole;
        chains(Asked.HALF)[conversation] = otherwise(whole.fork(shape.chainBlocks / 2), own);
        chains(Asked.SYSTEM)[conversation] = otherwise(systemPrompts[prompt].fork(), own);
        chains(Asked.NOTHING)[conversation] = otherwise(systemPrompts[prompt].fork(0), own);
    }

    /** Continues a chain with blocks that nobody holds. */
    private BlockHashChain otherwise(BlockHashChain chain, SplittableRandom own) {
        int[] tokens = tokens(own, shape.chainBlocks);
        chain.extend(tokens, tokens.length);
        return chain;
    }

    private void hold(int[] holders, BlockHashChain chain, int from, int to) {
        long[] keys = IntStream.range(from, to).mapToLong(chain::key).toArray();
        segments.add(new Segment(from == 0 ? 0 : chain.key(from - 1), holders, keys));
        for (int holder : holders) {
            room[holder] -= keys.length;
        }
    }

    /** What is left of each worker's room is too small for a conversation: it gets the beginning of one. */
    private void fillUp() {
        for (int worker = 0; worker < room.length; worker++) {
            if (room[worker] > 0) {
                BlockHashChain chain = otherwise(systemPrompts[worker % SYSTEM_PROMPTS].fork(), random);
                hold(new int[] {worker}, chain, SYSTEM_BLOCKS, SYSTEM_BLOCKS + room[worker]);
            }
        }
    }

    private static int[] tokens(SplittableRandom random, int blocks) {
        return random.ints((long) TOKENS_PER_BLOCK * blocks, 0, VOCABULARY).toArray();
    }

    /**
     * Writes the world for programs in other languages; all numbers are big-endian.
     * <pre>
     *   int  workers, segments, kinds of questions, questions of each kind, blocks of a question
     *   for each segment:   long parent; int holders; int blocks; int[holders]; long[blocks]
     *   for each kind, WHOLE to NOTHING:   for each question: long[blocks of a question]
     * </pre>
     */
    void write(Path file) throws IOException {
        try (var out = new DataOutputStream(new BufferedOutputStream(Files.newOutputStream(file), 1 << 20))) {
            out.writeInt(shape.workers);
            out.writeInt(segments.size());
            out.writeInt(Asked.values().length);
            out.writeInt(chains(Asked.WHOLE).length);
            out.writeInt(shape.chainBlocks);
            for (Segment segment : segments) {
                write(segment, out);
            }
            for (Asked kind : Asked.values()) {
                for (BlockHashChain chain : chains(kind)) {
                    for (int block = 0; block < shape.chainBlocks; block++) {
                        out.writeLong(chain.key(block));
                    }
                }
            }
        }
    }

    private static void write(Segment segment, DataOutputStream out) throws IOException {
        out.writeLong(segment.parent);
        out.writeInt(segment.holders.length);
        out.writeInt(segment.keys.length);
        for (int holder : segment.holders) {
            out.writeInt(holder);
        }
        for (long key : segment.keys) {
            out.writeLong(key);
        }
    }
}
