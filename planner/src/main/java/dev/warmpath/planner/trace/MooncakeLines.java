package dev.warmpath.planner.trace;

import dev.warmpath.protocol.block.HashSettings;
import dev.warmpath.workload.MooncakeTrace;
import dev.warmpath.workload.Prompt;
import dev.warmpath.workload.Turn;
import java.util.Arrays;
import tools.jackson.databind.JsonNode;

/**
 * Lines as Mooncake's traces have them (Qin et al., FAST 2025): {@code timestamp} in milliseconds, {@code
 * input_length}, {@code output_length} and {@code hash_ids}, one for each 512 tokens of the prompt, the last, partial
 * ones among them or not. Others write such traces with smaller blocks: which ones is found by the first line, unless
 * it is set.
 */
final class MooncakeLines implements LineFormat {

    /** Beyond it JSON's numbers are no longer whole everywhere. */
    private static final long MOST_ID = 1L << 53;
    private static final int SMALLEST_BLOCK = 16;
    private static final int LARGEST_BLOCK = HashSettings.MAX_BLOCK_SIZE;

    private int blockTokens;
    private long alone = MOST_ID;

    /** @param blockTokens 0: by the first line */
    MooncakeLines(int blockTokens) {
        this.blockTokens = blockTokens;
    }

    @Override
    public String name() {
        return "mooncake";
    }

    @Override
    public boolean isOwn(JsonNode line) {
        return line.has("hash_ids");
    }

    @Override
    public RequestLine parse(JsonNode line) {
        double millis = Fields.millis(Fields.required(line, "timestamp"), "timestamp", 1);
        int length = Fields.count(line, "input_length", 1, Fields.MOST_TOKENS);
        int answer = Fields.count(line, "output_length", 0, Integer.MAX_VALUE);
        long[] ids = ids(Fields.required(line, "hash_ids"));
        if (blockTokens == 0) {
            blockTokens = found(length, ids.length);
        }
        return new RequestLine(millis, new Turn(new Prompt(whole(ids, length), blockTokens, length), Math.max(1,
                answer)));
    }

    private static long[] ids(JsonNode array) {
        if (!array.isArray() || array.size() > Fields.MOST_TOKENS) {
            throw new Fields.WrongException("hash_ids is an array of block ids, not " + Fields.shown(array));
        }
        long[] ids = new long[array.size()];
        for (int i = 0; i < ids.length; i++) {
            JsonNode id = array.get(i);
            if (!id.isIntegralNumber() || !id.canConvertToLong() || id.longValue() < 0 || id.longValue() >= MOST_ID) {
                throw new Fields.WrongException("hash_ids are whole numbers from 0 to 2^53, not " + Fields.shown(id));
            }
            ids[i] = id.longValue();
        }
        return ids;
    }

    /** The format's own if it fits, else the power of two that does. */
    private static int found(int length, int count) {
        if (fits(length, count, MooncakeTrace.BLOCK_TOKENS)) {
            return MooncakeTrace.BLOCK_TOKENS;
        }
        for (int tokens = SMALLEST_BLOCK; tokens <= LARGEST_BLOCK; tokens *= 2) {
            if (fits(length, count, tokens)) {
                return tokens;
            }
        }
        throw misfit(length, count, MooncakeTrace.BLOCK_TOKENS);
    }

    private static boolean fits(int length, int count, int tokens) {
        return count == Math.ceilDiv(length, tokens) || count == length / tokens;
    }

    private static Fields.WrongException misfit(int length, int count, int tokens) {
        return new Fields.WrongException("hash_ids has " + count + " ids for " + length + " tokens, and blocks of "
                + tokens + " would have " + Math.ceilDiv(length, tokens) + "; if blocks have another size, say it:"
                + " --block-tokens");
    }

    /** With a number that nobody else has for a partial block without an id. */
    private long[] whole(long[] ids, int length) {
        if (!fits(length, ids.length, blockTokens)) {
            throw misfit(length, ids.length, blockTokens);
        }
        if (ids.length == Math.ceilDiv(length, blockTokens)) {
            return ids;
        }
        long[] whole = Arrays.copyOf(ids, ids.length + 1);
        whole[ids.length] = alone++;
        return whole;
    }
}
