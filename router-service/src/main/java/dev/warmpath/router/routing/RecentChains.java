package dev.warmpath.router.routing;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import dev.warmpath.protocol.block.BlockHashChain;
import dev.warmpath.protocol.block.ExtraKeys;
import dev.warmpath.router.models.ServedModel;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * The chains of long prompts that came lately, the last one of each conversation: its next turn begins with all of those
 * tokens, and only what is new has to be hashed. Tokens are compared one by one, so nothing is ever taken for what it is
 * not; a conversation is but where to look. Bounded by bytes. Safe for use by several threads.
 */
public final class RecentChains {

    /** Shorter prompts are hashed in some ten microseconds. */
    private static final int LEAST_BLOCKS = 32;
    private static final long MAX_BYTES = 32 << 20;
    private static final int BYTES_PER_BLOCK = BlockHashChain.WORDS_PER_HASH * Long.BYTES;
    /** Of a chain's own fields, and of the entry. */
    private static final int OVERHEAD_BYTES = 1_024;

    private record Key(String revision, long conversation) {}

    /** @param tokens the request's own; nobody writes to it any more */
    private record Known(int[] tokens, BlockHashChain chain) {
        int bytes() {
            return OVERHEAD_BYTES + Integer.BYTES * tokens.length + BYTES_PER_BLOCK * chain.blockCount();
        }
    }

    // its upkeep takes less time than waking another thread for it
    private final Cache<Key, Known> last = Caffeine.newBuilder().maximumWeight(MAX_BYTES)
            .weigher((Key _, Known known) -> known.bytes()).executor(Runnable::run).build();

    /**
     * The prompt with its chain.
     *
     * @param tokens       at least one; nobody writes to it any more
     * @param conversation key of what the turns of one conversation have in common
     */
    public TokenizedPrompt prompt(ServedModel model, int[] tokens, long conversation) {
        if (tokens.length < LEAST_BLOCKS * model.hashSettings().blockSize()) {
            return TokenizedPrompt.of(model, tokens, conversation);
        }
        var key = new Key(model.revision(), conversation);
        BlockHashChain chain = chain(model, tokens, last.getIfPresent(key));
        last.put(key, new Known(tokens, chain));
        return new TokenizedPrompt(model, tokens, chain, conversation);
    }

    private static BlockHashChain chain(ServedModel model, int[] tokens, @Nullable Known before) {
        if (before == null) {
            return BlockHashChain.of(model.hashSettings(), ExtraKeys.NONE, tokens);
        }
        int parting = Arrays.mismatch(before.tokens, tokens);
        int common = parting < 0 ? tokens.length : parting;
        BlockHashChain chain = before.chain.fork(common / model.hashSettings().blockSize());
        chain.extend(tokens, tokens.length);
        return chain;
    }
}
