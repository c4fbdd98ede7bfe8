package dev.warmpath.router.routing;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** Counts requests by how many leading blocks of one prompt they hold, for one decision. */
final class PrefixDepths {

    /** Depths that are told apart; a system prompt, a conversation's past and a few of its branches are fewer. */
    private static final int MOST_TOLD = 16;

    private int[] requests = new int[64];
    private int deepest;

    /** @param blocks 0: it shares nothing, and is not counted */
    void add(int blocks) {
        if (blocks == 0) {
            return;
        }
        if (blocks >= requests.length) {
            requests = Arrays.copyOf(requests, Math.max(2 * requests.length, blocks + 1));
        }
        requests[blocks]++;
        deepest = Math.max(deepest, blocks);
    }

    /** Deepest first; of more depths than are told apart, those that are deepest. */
    List<PrefixUse> uses() {
        if (deepest == 0) {
            return List.of();
        }
        List<PrefixUse> uses = new ArrayList<>(4);
        int users = 0;
        for (int blocks = deepest; blocks > 0; blocks--) {
            users += requests[blocks];
            if (requests[blocks] > 0 && uses.size() < MOST_TOLD) {
                uses.add(new PrefixUse(blocks, users));
            }
        }
        return List.copyOf(uses);
    }
}
