package dev.warmpath.router.routing;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import dev.warmpath.protocol.block.BlockHashChain;
import dev.warmpath.protocol.block.ExtraKeys;
import dev.warmpath.router.models.ServedModel;
import java.util.Arrays;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;

/**
 * The chains of long prompts that came lately, the last one of each conversation: its next turn begins with all of those
 * tokens, and only what is new has to be hashed. Tokens are compared one by one, so nothing is ever taken for what it is
 * not; a conversation is but where to look. Bounded by bytes. Safe for use by several threads.
 */
public final class RecentChains {

    /** Shorter prompts are hashed in some ten microseconds. */
    private static final int LEAST_BLOCKS = 32;
    private static final int BYTES_PER_BLOCK = BlockHashChain.WORDS_PER_HASH * Long.BYTES;
    /** Of a chain's own fields, and of the entry. */
    private static final int OVERHEAD_BYTES = 1_024;

    private record Key(String revision, long conversation, ExtraKeys extraKeys) {}

    /** @param tokens the request's own; nobody writes to it any more */
    private record Known(int[] tokens, BlockHashChain chain) {
        int bytes() {
            return OVERHEAD_BYTES + Integer.BYTES * tokens.length + BYTES_PER_BLOCK * chain.blockCount();
        }
    }

    private final Cache<Key, Known> last;
    private final LongAdder continuedBlocks = new LongAdder();
    private final LongAdder hashedBlocks = new LongAdder();

    /** @param maxBytes 0: nothing is kept */
    public RecentChains(long maxBytes) {
        // its upkeep takes less time than waking another thread for it
        last = Caffeine.newBuilder().maximumWeight(maxBytes)
                .weigher((Key _, Known known) -> known.bytes()).executor(Runnable::run).build();
    }

    /**
     * The prompt with its chain.
     *
     * @param tokens       at least one; nobody writes to it any more
     * @param conversation key of what the turns of one conversation have in common
     * @param extraKeys    what else tells equal tokens apart
     */
    public TokenizedPrompt prompt(ServedModel model, int[] tokens, long conversation, ExtraKeys extraKeys) {
        if (tokens.length < LEAST_BLOCKS * model.hashSettings().blockSize()) {
            return TokenizedPrompt.of(model, tokens, conversation, extraKeys);
        }
        var key = new Key(model.revision(), conversation, extraKeys);
        BlockHashChain chain = chain(model, tokens, extraKeys, last.getIfPresent(key));
        last.put(key, new Known(tokens, chain));
        return new TokenizedPrompt(model, tokens, chain, conversation);
    }

    private BlockHashChain chain(ServedModel model, int[] tokens, ExtraKeys extraKeys, @Nullable Known before) {
        BlockHashChain chain = before == null ? new BlockHashChain(model.hashSettings(), extraKeys)
                : before.chain.fork(commonTokens(before.tokens, tokens) / model.hashSettings().blockSize());
        int known = chain.blockCount();
        chain.extend(tokens, tokens.length);
        continuedBlocks.add(known);
        hashedBlocks.add(chain.blockCount() - known);
        return chain;
    }

    private static int commonTokens(int[] one, int[] other) {
        int parting = Arrays.mismatch(one, other);
        return parting < 0 ? other.length : parting;
    }

    /** Of long prompts, those that a turn before had, since the start. */
    public long continuedBlocks() {
        return continuedBlocks.sum();
    }

    /** Of long prompts, the others. */
    public long hashedBlocks() {
        return hashedBlocks.sum();
    }

    /** In use. */
    public long bytes() {
        last.cleanUp();
        return last.policy().eviction().orElseThrow().weightedSize().orElse(0);
    }
}
