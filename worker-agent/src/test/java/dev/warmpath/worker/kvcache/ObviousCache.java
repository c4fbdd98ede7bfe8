package dev.warmpath.worker.kvcache;

import dev.warmpath.worker.kvcache.CacheGroup.FullAttention;
import dev.warmpath.worker.kvcache.CacheGroup.SlidingWindow;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * What the cache should do, written with lists and maps and no thought for speed. A full block is known by its text: a
 * number that stands for its group, its salt and all tokens up to its end.
 */
final class ObviousCache {

    static final int NULL_BLOCK = 0;
    static final long NO_TEXT = 0;

    /** A sequence as the model knows it. */
    static final class Holder {
        /** The texts of its full blocks, unmixed: index 0 is that of tokens 0 to blockSize - 1. */
        final long[] texts;
        final List<List<Integer>> tables = new ArrayList<>();
        int known;
        int computed;
        int settled;
        int keyed;
        int settledBlocks;
        int awaited;
        int swapped;
        final List<List<Integer>> hostBlocks = new ArrayList<>();

        Holder(long[] texts, int groupCount) {
            this.texts = texts;
            for (int group = 0; group < groupCount; group++) {
                tables.add(new ArrayList<>());
                hostBlocks.add(new ArrayList<>());
            }
        }

        boolean holdsBlocks() {
            return !tables.getFirst().isEmpty();
        }
    }

    /** Blocks of a hit, by group. */
    record Hit(int blockCount, List<List<Integer>> blocks) {}

    final KvCacheSettings settings;
    private final int blockSize;
    private final int groupCount;
    final List<Integer> queue = new ArrayList<>();
    final int[] references;
    final long[] textOf;
    final Map<Long, List<Integer>> blocksByText = new HashMap<>();
    private final List<Integer> freeHost = new ArrayList<>();

    ObviousCache(KvCacheSettings settings) {
        this.settings = settings;
        blockSize = settings.blockSize();
        groupCount = settings.groups().size();
        references = new int[settings.blockCount()];
        textOf = new long[settings.blockCount()];
        for (int block = 1; block < settings.blockCount(); block++) {
            queue.add(block);
        }
        for (int block = 0; block < settings.hostBlockCount(); block++) {
            freeHost.add(block);
        }
    }

    static long inGroup(long text, int group) {
        return text + group * 0x51_7c_c1_b7_27_22_0a_95L;
    }

    int freeHostBlocks() {
        return freeHost.size();
    }

    /** The longest prefix of which every group has what a token after it sees. */
    Hit match(Holder holder) {
        int length = (holder.known - 1) / blockSize;
        while (length > 0 && !isCached(holder, length)) {
            length--;
        }
        var blocks = new ArrayList<List<Integer>>();
        for (int group = 0; group < groupCount; group++) {
            var row = new ArrayList<Integer>();
            for (int index = 0; index < length; index++) {
                row.add(index < length - run(group, length)
                        ? NULL_BLOCK : blocksByText.get(inGroup(holder.texts[index], group)).getFirst());
            }
            blocks.add(row);
        }
        return new Hit(length, blocks);
    }

    boolean admit(Holder holder, Hit hit, Admission admission) {
        int cached = Math.max(hit.blockCount() * blockSize, holder.swapped);
        int present = cached + (admission.delayKeys() ? 0 : admission.externalTokens());
        int computed = cached + admission.externalTokens() + admission.tokenCount();
        int blocks = blocks(Math.min(computed + admission.lookahead(), settings.maxLength()));
        int wanted = 0;
        int wantedInAll = 0;
        for (int group = 0; group < groupCount; group++) {
            int kept = 0;
            int leaving = 0;
            for (int index = unseenBlocks(group, present); index < hit.blockCount(); index++) {
                int block = hit.blocks().get(group).get(index);
                kept++;
                leaving += queue.contains(block) ? 1 : 0;
            }
            wanted += blocks - Math.max(unseenBlocks(group, present), hit.blockCount()) + leaving;
            int whole = blocks(Math.min(holder.known, settings.maxLength()));
            if (settings.groups().get(group) instanceof SlidingWindow(int window)) {
                whole = Math.min(whole, blocks(window - 1 + computed - cached + admission.lookahead()) + 1);
            }
            wantedInAll += Math.max(whole - kept, 0) + leaving;
        }
        int free = queue.size() - (admission.othersRun() ? settings.watermarkBlocks() : 0);
        if (wanted > free || admission.wholeSequence() && wantedInAll > free) {
            return false;
        }
        for (int group = 0; group < groupCount; group++) {
            for (int index = 0; index < Math.max(unseenBlocks(group, present), hit.blockCount()); index++) {
                int block = index < unseenBlocks(group, present) ? NULL_BLOCK : hit.blocks().get(group).get(index);
                hold(block);
                holder.tables.get(group).add(block);
            }
        }
        for (int group = 0; group < groupCount; group++) {
            lengthen(holder.tables.get(group), blocks);
        }
        holder.settled = hit.blockCount() * blockSize;
        holder.keyed = holder.settledBlocks = hit.blockCount();
        holder.awaited = admission.delayKeys() ? admission.externalTokens() : 0;
        dropSwapped(holder);
        compute(holder, computed);
        return true;
    }

    boolean extend(Holder holder, int tokenCount, int lookahead) {
        for (int group = 0; group < groupCount; group++) {
            List<Integer> table = holder.tables.get(group);
            List<Integer> unseen = table.subList(0, unseenBlocks(group, holder.settled));
            release(unseen);
            Collections.fill(unseen, NULL_BLOCK);
        }
        int blocks = blocks(Math.min(holder.computed + tokenCount + lookahead, settings.maxLength()));
        int written = holder.computed / blockSize;
        int wanted = 0;
        for (List<Integer> table : holder.tables) {
            wanted += Math.max(blocks - table.size(), 0) + (mustCopy(table, written) ? 1 : 0);
        }
        if (wanted > queue.size()) {
            return false;
        }
        for (List<Integer> table : holder.tables) {
            if (mustCopy(table, written)) {
                int shared = table.get(written);
                table.set(written, allocate());
                release(List.of(shared));
            }
            lengthen(table, blocks);
        }
        compute(holder, holder.computed + tokenCount);
        return true;
    }

    void loaded(Holder holder, int externalTokens) {
        int start = holder.computed - holder.awaited;
        holder.awaited = 0;
        compute(holder, Math.min(start + externalTokens, holder.known - 1));
        holder.settled = holder.computed;
        holder.settledBlocks = holder.keyed;
    }

    void withdraw(Holder holder) {
        for (int index = holder.settledBlocks; index < holder.keyed; index++) {
            for (List<Integer> table : holder.tables) {
                forget(table.get(index));
            }
        }
        holder.keyed = holder.settledBlocks;
        holder.computed = holder.settled;
    }

    boolean fork(Holder parent, Holder child) {
        int tokens = Math.min(Math.min(parent.computed, parent.known), child.known - 1);
        if (tokens == 0 || parent.awaited > 0 || !covers(parent, tokens)) {
            return false;
        }
        compute(parent, parent.computed);
        dropSwapped(child);
        for (int group = 0; group < groupCount; group++) {
            for (int index = 0; index < blocks(tokens); index++) {
                int block = index < unseenBlocks(group, tokens) ? NULL_BLOCK : parent.tables.get(group).get(index);
                hold(block);
                child.tables.get(group).add(block);
            }
        }
        child.settled = tokens;
        child.keyed = child.settledBlocks = Math.min(parent.keyed, tokens / blockSize);
        child.computed = tokens;
        return true;
    }

    boolean swapOut(Holder holder) {
        int tokens = Math.min(holder.computed, holder.known - 1);
        int wanted = 0;
        for (int group = 0; group < groupCount; group++) {
            wanted += blocks(tokens) - unseenBlocks(group, tokens);
        }
        if (holder.awaited > 0 || wanted == 0 || wanted > freeHost.size() || !covers(holder, tokens)) {
            return false;
        }
        for (int group = 0; group < groupCount; group++) {
            for (int index = unseenBlocks(group, tokens); index < blocks(tokens); index++) {
                holder.hostBlocks.get(group).add(freeHost.removeFirst());
            }
        }
        holder.swapped = tokens;
        releaseAll(holder);
        return true;
    }

    void dropSwapped(Holder holder) {
        for (List<Integer> blocks : holder.hostBlocks) {
            freeHost.addAll(0, blocks);
            blocks.clear();
        }
        holder.swapped = 0;
    }

    void release(Holder holder) {
        dropSwapped(holder);
        releaseAll(holder);
    }

    boolean reset() {
        if (queue.size() < settings.blockCount() - 1) {
            return false;
        }
        blocksByText.clear();
        Arrays.fill(textOf, NO_TEXT);
        return true;
    }

    int unseenTokens(int group, int tokenCount) {
        return switch (settings.groups().get(group)) {
            case FullAttention() -> 0;
            case SlidingWindow(int window) -> Math.max(0, tokenCount - window + 1);
        };
    }

    private int unseenBlocks(int group, int tokenCount) {
        return unseenTokens(group, tokenCount) / blockSize;
    }

    private int blocks(int tokenCount) {
        return (tokenCount + blockSize - 1) / blockSize;
    }

    private boolean isCached(Holder holder, int length) {
        for (int group = 0; group < groupCount; group++) {
            for (int index = length - run(group, length); index < length; index++) {
                if (!blocksByText.containsKey(inGroup(holder.texts[index], group))) {
                    return false;
                }
            }
        }
        return true;
    }

    private int run(int group, int length) {
        return switch (settings.groups().get(group)) {
            case FullAttention() -> length;
            case SlidingWindow(int window) -> Math.min(length, blocks(window - 1));
        };
    }

    private boolean covers(Holder holder, int tokens) {
        for (int group = 0; group < groupCount; group++) {
            for (int index = unseenBlocks(group, tokens); index < blocks(tokens); index++) {
                if (holder.tables.get(group).get(index) == NULL_BLOCK) {
                    return false;
                }
            }
        }
        return true;
    }

    private boolean mustCopy(List<Integer> table, int index) {
        return index < table.size()
                && (references[table.get(index)] > 1 || textOf[table.get(index)] != NO_TEXT);
    }

    private void compute(Holder holder, int computed) {
        holder.computed = computed;
        int full = Math.min(computed, holder.known) / blockSize;
        if (!settings.prefixCaching() || holder.awaited > 0 || full <= holder.keyed) {
            return;
        }
        for (int group = 0; group < groupCount; group++) {
            for (int index = holder.keyed; index < full; index++) {
                int block = holder.tables.get(group).get(index);
                if (block != NULL_BLOCK) {
                    textOf[block] = inGroup(holder.texts[index], group);
                    blocksByText.computeIfAbsent(textOf[block], text -> new ArrayList<>()).add(block);
                }
            }
        }
        holder.keyed = full;
    }

    private void releaseAll(Holder holder) {
        if (holder.holdsBlocks()) {
            compute(holder, holder.computed);
        }
        for (List<Integer> table : holder.tables) {
            release(table);
            table.clear();
        }
        holder.computed = holder.settled = holder.keyed = holder.settledBlocks = 0;
        holder.awaited = 0;
    }

    private void release(List<Integer> blocks) {
        var toHead = new ArrayList<Integer>();
        for (int block : blocks.reversed()) {
            if (block == NULL_BLOCK || --references[block] > 0) {
                continue;
            }
            boolean late = settings.freeOrder() == FreeOrder.RELEASE_ORDER || textOf[block] != NO_TEXT;
            if (late && settings.prefixCaching()) {
                queue.add(block);
            } else {
                toHead.add(block);
            }
        }
        queue.addAll(0, toHead);
    }

    private void hold(int block) {
        if (block != NULL_BLOCK && references[block]++ == 0) {
            queue.remove((Integer) block);
        }
    }

    private void lengthen(List<Integer> table, int count) {
        while (table.size() < count) {
            table.add(allocate());
        }
    }

    private int allocate() {
        int block = queue.removeFirst();
        forget(block);
        references[block] = 1;
        return block;
    }

    private void forget(int block) {
        if (textOf[block] != NO_TEXT) {
            List<Integer> copies = blocksByText.get(textOf[block]);
            copies.remove((Integer) block);
            if (copies.isEmpty()) {
                blocksByText.remove(textOf[block]);
            }
            textOf[block] = NO_TEXT;
        }
    }
}
