package dev.warmpath.worker;

import dev.warmpath.protocol.block.BlockHashChain;
import dev.warmpath.protocol.block.ExtraKeys;
import dev.warmpath.protocol.block.HashSettings;
import dev.warmpath.protocol.generate.GenerateRequest;
import dev.warmpath.worker.routerlink.KvEventPublisher;

/** How much of a prompt this worker has announced as held, which is what an engine that it stands beside will find. */
record HeldPrefix(KvEventPublisher announced, HashSettings hash) {

    /** @return tokens, whole blocks, fewer than the prompt has */
    int tokens(GenerateRequest request) {
        int[] prompt = request.promptTokens();
        BlockHashChain chain = BlockHashChain.of(hash, ExtraKeys.ofSalt(request.salt()), prompt);
        int most = hash.reusableBlocks(prompt.length);
        int held = 0;
        while (held < most && announced.holds(chain.key(held))) {
            held++;
        }
        return held * hash.blockSize();
    }
}
