package dev.warmpath.router.routing;

import dev.warmpath.protocol.block.BlockHashChain;
import dev.warmpath.router.fleet.FleetWorker;
import dev.warmpath.router.prefix.PrefixIndex;
import org.jspecify.annotations.Nullable;

/** One request in the {@link Books}, whose monitor guards it. */
final class Booking {

    final FleetWorker worker;
    final WorkerLedger ledger;
    /** Of the prompt's full blocks; never written. */
    final BlockHashChain chain;
    final int promptTokens;
    /** Of the whole prompt, shared ones and the last, partial one included. */
    final int blocks;
    /** That draw its answers. */
    final int sequences;
    final long bookedNanos;
    /** Uncached tokens that had to be computed for its first token, its own included; 0 = also had to wait. */
    final long tokensToFirst;
    /** Of its revision. */
    final String revision;
    /** Its place among the prompts; null for one without a full block. */
    PromptTrie.@Nullable Node end;
    long pendingTokens;
    boolean hasFirstToken;
    boolean isRunning = true;
    /** Whether its blocks count though the index does not say so: that is not known to have them. */
    boolean isPromised;
    long closedNanos;

    Booking(FleetWorker worker, WorkerLedger ledger, TokenizedPrompt prompt, int cachedTokens, boolean hasSlot,
            long nowNanos) {
        this.worker = worker;
        this.ledger = ledger;
        this.chain = prompt.chain();
        this.revision = prompt.model().revision();
        this.promptTokens = prompt.length();
        this.blocks = Math.ceilDiv(promptTokens, prompt.blockSize());
        this.sequences = prompt.choices();
        this.bookedNanos = nowNanos;
        this.pendingTokens = promptTokens - cachedTokens;
        this.tokensToFirst = hasSlot ? ledger.booked().pendingTokens() + pendingTokens : 0;
    }

    long contextTokens() {
        return (long) promptTokens * sequences;
    }

    /** Whether the index has its blocks, in step with the worker: the last full one's key stands for all. */
    boolean isIn(PrefixIndex index, long nowNanos) {
        return chain.blockCount() > 0 && worker.indexAge(nowNanos).isInStep()
                && index.holds(worker.keys(), chain.key(chain.blockCount() - 1));
    }

    /** Leading blocks of the prompt that are this one's, too. @param limit at most the prompt's full ones */
    int commonBlocks(BlockHashChain prompt, int limit) {
        int most = Math.min(limit, chain.blockCount());
        return most == 0 || chain.key(0) != prompt.key(0) ? 0 : LeadingBlocks.common(chain, prompt, 1, most);
    }
}
