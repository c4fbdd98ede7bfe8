package dev.warmpath.router.live;

import dev.warmpath.router.models.ServedModel;
import dev.warmpath.router.routing.TokenizedPrompt;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * What the last prompts have in common, as a tree: a node is a run of blocks that the same prompts go through, its hits
 * are how many. Of each prompt the first {@value #MAX_BLOCKS} blocks count, and no more than {@value #MAX_TOKENS}
 * tokens, so all of it takes a megabyte, and nine where tokens are kept, too. Safe for use by several threads.
 */
final class HotPrefixes {

    static final int MAX_PROMPTS = 256;
    static final int MAX_BLOCKS = 512;
    static final int MAX_TOKENS = 8_192;
    static final int MAX_NODES = 64;

    private final boolean keepsTokens;
    private final Deque<Seen> latest = new ArrayDeque<>();

    /** @param tokens of the whole blocks that count; none where they are not kept */
    private record Seen(ServedModel model, long[] keys, int[] tokens) {}

    /**
     * A node.
     *
     * @param model  whose prompts they are; blocks of another revision are others
     * @param key    of its last block, which stands for all blocks before
     * @param parent key of the node that it goes on from; null if it begins a prompt
     * @param depth  blocks from the beginning of the prompt to its end
     * @param blocks of this node alone
     * @param hits   prompts that go through it
     * @param tokens of this node alone; empty where they are not kept
     */
    record Prefix(ServedModel model, long key, @Nullable Long parent, int depth, int blocks, int hits, int[] tokens) {}

    /** @param keepsTokens whether nodes can be shown with their text */
    HotPrefixes(boolean keepsTokens) {
        this.keepsTokens = keepsTokens;
    }

    void add(TokenizedPrompt prompt) {
        int blocks = Math.min(Math.min(MAX_BLOCKS, MAX_TOKENS / prompt.blockSize()), prompt.chain().blockCount());
        long[] keys = new long[blocks];
        for (int block = 0; block < blocks; block++) {
            keys[block] = prompt.chain().key(block);
        }
        int[] tokens = keepsTokens ? Arrays.copyOf(prompt.tokens(), blocks * prompt.blockSize()) : new int[0];
        var seen = new Seen(prompt.model(), keys, tokens);
        synchronized (latest) {
            if (latest.size() == MAX_PROMPTS) {
                latest.removeFirst();
            }
            latest.addLast(seen);
        }
    }

    /** Prompts that count, at most {@value #MAX_PROMPTS}. */
    int prompts() {
        synchronized (latest) {
            return latest.size();
        }
    }

    /** The nodes with most hits, these first, and each behind its parent; at most {@value #MAX_NODES}. */
    List<Prefix> hottest() {
        List<Seen> all;
        synchronized (latest) {
            all = List.copyOf(latest);
        }
        List<Prefix> nodes = new ArrayList<>();
        all.stream().collect(Collectors.groupingBy(each -> each.model().revision(), LinkedHashMap::new,
                Collectors.toList())).values().forEach(prompts -> grow(prompts, 0, null, nodes));
        return nodes.stream()
                .sorted(Comparator.comparingInt(Prefix::hits).reversed().thenComparingInt(Prefix::depth))
                .limit(MAX_NODES).toList();
    }

    /** Adds what comes behind the first blocks, which all of these prompts have in common. */
    private void grow(List<Seen> prompts, int from, @Nullable Long parent, List<Prefix> nodes) {
        Map<Long, List<Seen>> branches = prompts.stream().filter(each -> each.keys().length > from)
                .collect(Collectors.groupingBy(each -> each.keys()[from], LinkedHashMap::new, Collectors.toList()));
        for (List<Seen> branch : branches.values()) {
            Seen first = branch.getFirst();
            int to = commonBlocks(branch, from);
            long key = first.keys()[to - 1];
            int blockSize = first.model().hashSettings().blockSize();
            nodes.add(new Prefix(first.model(), key, parent, to, to - from, branch.size(),
                    keepsTokens ? Arrays.copyOfRange(first.tokens(), from * blockSize, to * blockSize) : new int[0]));
            if (branch.size() > 1) {
                grow(branch, to, key, nodes);
            }
        }
    }

    /** How many leading blocks all have, more than {@code from}. A key stands for all before it: it can be searched. */
    private static int commonBlocks(List<Seen> prompts, int from) {
        long[] first = prompts.getFirst().keys();
        int common = first.length;
        for (Seen other : prompts) {
            int least = from + 1;
            int most = Math.min(common, other.keys().length);
            while (least < most) {
                int middle = (least + most + 1) / 2;
                if (first[middle - 1] == other.keys()[middle - 1]) {
                    least = middle;
                } else {
                    most = middle - 1;
                }
            }
            common = least;
        }
        return common;
    }
}
