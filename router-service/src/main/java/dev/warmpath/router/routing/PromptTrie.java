package dev.warmpath.router.routing;

import dev.warmpath.protocol.block.BlockHashChain;
import dev.warmpath.protocol.event.KeySetDigest;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The prompts of all requests of one revision that this router has placed and not done with, at all workers, as a trie:
 * a new prompt learns by one walk what it shares with whom, in as many steps as others part from it.
 *
 * <pre>
 *   blocks 0 … 40       41 … 63        64 …
 *   system prompt --+-- tools ---+---- somebody's conversation     each node: the requests that have all of it,
 *                   |            '---- another one's               counted by worker
 *                   '-- a short question
 * </pre>
 * A node is a stretch of blocks that the same requests have, so a prompt of thousands of blocks takes one or two. Keys
 * are chained: a block's key stands for all blocks before it. Hence one table finds every node by its first key, two
 * stretches that end in the same key are equal throughout, and where two part is found by halving.
 *
 * <p>Nodes point into the chains of the prompts that made them and copy nothing. There are at most two for each
 * request: a node without requests goes, and one whose requests all go on into its only child becomes part of that.
 *
 * <p>The books' monitor guards it.
 */
final class PromptTrie {

    /** Deeper ones are not looked at: a client that lets prompts part at every block holds nobody up. */
    private static final int MOST_STEPS = 128;
    private static final long DEPTH = 0x9e3779b97f4a7c15L;

    private final Map<Long, Node> byFirstKey = new HashMap<>();

    /** A stretch of blocks that the same requests have. */
    static final class Node {
        /** Of a prompt that has all of it. */
        private BlockHashChain chain;
        private int from;
        private final int to;
        /** Null for one that begins with a first block. */
        private @Nullable Node parent;
        private int placeInParent;
        private final List<Node> children = new ArrayList<>(0);
        private final WorkerCounts counts;
        /** Of all workers. */
        private int running;
        private int promised;

        private Node(BlockHashChain chain, int from, int to, WorkerCounts counts) {
            this.chain = chain;
            this.from = from;
            this.to = to;
            this.counts = counts;
        }

        private void adopt(Node child) {
            child.parent = this;
            child.placeInParent = children.size();
            children.add(child);
        }

        private void disown(Node child) {
            Node last = children.removeLast();
            if (last != child) {
                children.set(child.placeInParent, last);
                last.placeInParent = child.placeInParent;
            }
        }

        private void replace(Node child, Node by) {
            children.set(child.placeInParent, by);
            by.placeInParent = child.placeInParent;
            by.parent = this;
        }

        /** Whether nobody's prompt ends here: all go on into the one child. */
        private boolean isPartOfItsChild() {
            return children.size() == 1 && children.getFirst().running == running
                    && children.getFirst().promised == promised;
        }
    }

    /**
     * Makes room for a prompt, which counts for nothing yet.
     *
     * @param chain of its full blocks, at least one; not written any more as long as the prompt is here
     * @return where it ends
     */
    private Node place(BlockHashChain chain) {
        int count = chain.blockCount();
        Node above = null;
        int at = 0;
        while (at < count) {
            Node node = byFirstKey.get(name(chain, at));
            if (node == null) {
                return append(new Node(chain, at, count, new WorkerCounts()), above);
            }
            int common = LeadingBlocks.common(chain, node.chain, at + 1, Math.min(count, node.to));
            above = common < node.to ? split(node, common) : node;
            at = common;
        }
        if (above == null) {
            throw new IllegalArgumentException("a prompt without a full block shares nothing");
        }
        return above;
    }

    /** Of the node that begins at a block: of that depth, for keys can be made to be equal, if not on one way. */
    private static long name(BlockHashChain chain, int block) {
        return KeySetDigest.mix(chain.key(block) + block * DEPTH);
    }

    private static long name(Node node) {
        return name(node.chain, node.from);
    }

    private Node append(Node node, @Nullable Node parent) {
        byFirstKey.put(name(node), node);
        if (parent != null) {
            parent.adopt(node);
        }
        return node;
    }

    /** Prompts that end in the node still do. @return the new node before it */
    private Node split(Node node, int at) {
        var upper = new Node(node.chain, node.from, at, node.counts.copy());
        upper.running = node.running;
        upper.promised = node.promised;
        byFirstKey.put(name(upper), upper);
        if (node.parent != null) {
            node.parent.replace(node, upper);
        }
        node.from = at;
        append(node, upper);
        return upper;
    }

    /**
     * A request is there from now on, running and promised.
     *
     * @param chain of its prompt's full blocks, at least one; not written as long as it is here
     * @param slot  of its worker
     * @return what to name it by
     */
    Node add(BlockHashChain chain, int slot) {
        Node end = place(chain);
        end.chain = chain;                                         // that is as long as the node is deep, and no longer
        change(end, slot, 1, 1);
        return end;
    }

    /** The index knows the blocks of a running request no more. */
    void promise(Node end, int slot) {
        change(end, slot, 0, 1);
    }

    /** A request runs no more, or the index knows its blocks; one that is neither running nor promised is gone. */
    void drop(Node end, int slot, boolean isRunning, boolean isPromised) {
        Node lowest = change(end, slot, isRunning ? -1 : 0, isPromised ? -1 : 0);
        if (lowest != null && lowest.isPartOfItsChild()) {
            join(lowest, lowest.children.getFirst());
        }
    }

    /** @return the lowest node that is left on the way from the end to the first block, or null */
    private @Nullable Node change(Node end, int slot, int running, int promised) {
        BlockHashChain chain = end.chain;
        Node lowest = null;
        for (Node node = end; node != null; node = node.parent) {
            node.counts.add(slot, running, promised);
            node.running += running;
            node.promised += promised;
            if (node.running == 0 && node.promised == 0) {
                byFirstKey.remove(name(node));
                if (node.parent != null) {
                    node.parent.disown(node);
                }
            } else {
                lowest = lowest == null ? node : lowest;
                if (node.chain == chain && !node.children.isEmpty()) {
                    node.chain = node.children.getFirst().chain;   // whose prompt may be gone: nobody else keeps that
                }
            }
        }
        return lowest;
    }

    private void join(Node upper, Node lower) {
        byFirstKey.remove(name(lower));
        lower.from = upper.from;
        lower.parent = upper.parent;
        byFirstKey.put(name(lower), lower);
        if (upper.parent != null) {
            upper.parent.replace(upper, lower);
        }
    }

    /** Blocks of a running request that no other running one of its worker has. */
    int ownBlocks(Node end, int slot) {
        int blocks = 0;
        for (Node node = end; node != null; node = node.parent) {
            blocks += node.counts.running(slot) == 1 ? node.to - node.from : 0;
        }
        return blocks;
    }

    /** Notes what a prompt shares with whom. @param limit blocks to look at, at most the chain's */
    void walk(BlockHashChain chain, int limit, SharedPrefixes into) {
        int at = 0;
        for (int step = 0; at < limit && step < MOST_STEPS; step++) {
            Node node = byFirstKey.get(name(chain, at));
            if (node == null) {
                return;
            }
            int common = LeadingBlocks.common(chain, node.chain, at + 1, Math.min(limit, node.to));
            node.counts.reach(common, into.running(), into.promised());
            into.add(common, node.running);
            if (common < node.to) {
                return;
            }
            at = common;
        }
    }

    /** Nodes, for tests. */
    int size() {
        return byFirstKey.size();
    }
}
