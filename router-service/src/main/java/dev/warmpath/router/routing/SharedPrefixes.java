package dev.warmpath.router.routing;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** What one prompt shares with the requests of each worker, by {@link PromptTrie#walk}. Used again and again. */
final class SharedPrefixes {

    /** Depths that are told apart; a system prompt, a conversation's past and a few of its branches are fewer. */
    private static final int MOST_TOLD = 16;

    /** By slot. */
    private int[] running = {};
    private int[] promised = {};
    /** In blocks, ascending, and how many running requests go as deep. */
    private int[] depths = new int[MOST_TOLD];
    private int[] users = new int[MOST_TOLD];
    private int count;

    /** Forgets all. @param slots more than any worker's slot */
    void clear(int slots) {
        count = 0;
        if (running.length < slots) {
            running = new int[slots];
            promised = new int[slots];
        } else {
            Arrays.fill(running, 0, slots, 0);
            Arrays.fill(promised, 0, slots, 0);
        }
    }

    /** Leading blocks that running requests hold, by slot; to be written by the trie. */
    int[] running() {
        return running;
    }

    /** Leading blocks of those that the index is not known to have, running or ended, by slot; likewise. */
    int[] promised() {
        return promised;
    }

    /** Leading blocks that running requests of the worker hold. */
    int running(int slot) {
        return slot < running.length ? running[slot] : 0;
    }

    /** Leading blocks that the worker has promised and the index is not known to have. */
    int promised(int slot) {
        return slot < promised.length ? promised[slot] : 0;
    }

    /** @param blocks more than before. @param requests that run and have as many, at most as many as before */
    void add(int blocks, int requests) {
        if (count == depths.length) {
            depths = Arrays.copyOf(depths, 2 * count);
            users = Arrays.copyOf(users, 2 * count);
        }
        depths[count] = blocks;
        users[count] = requests;
        count++;
    }

    /** Deepest first, each depth at which somebody's share ends; of too many to be told apart the deepest. */
    List<PrefixUse> uses() {
        List<PrefixUse> uses = new ArrayList<>(Math.min(count, MOST_TOLD));
        int deeper = 0;
        for (int i = count - 1; i >= 0 && uses.size() < MOST_TOLD; i--) {
            if (users[i] > deeper) {
                uses.add(new PrefixUse(depths[i], users[i]));
                deeper = users[i];
            }
        }
        return uses;
    }
}
