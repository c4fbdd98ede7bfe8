package dev.warmpath.router.routing;

import dev.warmpath.protocol.block.BlockHashChain;
import dev.warmpath.protocol.event.KeySet;

/**
 * The prompts that this router has sent to one worker lately: a guess at what it holds, for the time that the index
 * cannot tell.
 *
 * <p>Two generations, each of at most half the worker's pool: what was not sent again while one generation filled up
 * goes with it, as it would from the worker's cache. A prompt's keys go in together and from its beginning, so each
 * generation holds unbroken runs of any chain; of a prompt longer than a generation, the blocks that fit.
 */
final class PromptHistory {

    private final int keysPerGeneration;
    private KeySet recent = new KeySet();
    private KeySet older = new KeySet();

    PromptHistory(int blockCount) {
        this.keysPerGeneration = blockCount / 2;
    }

    /** @param chain of a prompt's full blocks */
    void add(BlockHashChain chain) {
        int count = Math.min(chain.blockCount(), keysPerGeneration);
        int known = LeadingBlocks.count(count, block -> recent.contains(chain.key(block)));
        if (recent.size() + count - known > keysPerGeneration) {
            older = recent;
            recent = new KeySet();
        }
        for (int block = 0; block < count; block++) {
            recent.add(chain.key(block));
        }
    }

    void clear() {
        recent.clear();
        older.clear();
    }

    /** Leading blocks of the chain that one of the generations knows. */
    int match(BlockHashChain chain, int limit) {
        return Math.max(
                LeadingBlocks.count(limit, block -> recent.contains(chain.key(block))),
                LeadingBlocks.count(limit, block -> older.contains(chain.key(block))));
    }
}
