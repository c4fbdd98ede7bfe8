package dev.warmpath.worker.kvcache;

import dev.warmpath.worker.kvcache.CacheGroup.FullAttention;
import dev.warmpath.worker.kvcache.CacheGroup.SlidingWindow;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.BiPredicate;

/**
 * What the cache should do, written with lists and maps and no thought for speed. A full block is known by its text: a
 * number that stands for its group, its salt and all tokens up to its end.
 */
final class ObviousCache {

    static final int NULL_BLOCK = 0;
    static final long NO_TEXT = 0;

    /** A sequence as the model knows it. */
    static final class Holder {
        /** [groups]; the texts of its full blocks, unmixed: index 0 is that of the first block's tokens. */
        final long[][] texts;
        final List<List<Integer>> tables = new ArrayList<>();
        int known;
        int computed;
        int settled;
        /** Tokens within which full blocks have keys. */
        int keyed;
        int awaited;
        int swapped;
        /** Leading tokens whose blocks may get keys. */
        int keyable = Integer.MAX_VALUE;
        boolean skipsCacheRead;
        boolean admittedBefore;
        int cachedTokens;
        final List<List<Integer>> hostBlocks = new ArrayList<>();

        Holder(long[][] texts, int groupCount) {
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
    record Hit(int tokenCount, List<List<Integer>> blocks) {}

    final KvCacheSettings settings;
    private final int groupCount;
    final List<Integer> queue = new ArrayList<>();
    final int[] references;
    final long[] textOf;
    final Map<Long, List<Integer>> blocksByText = new HashMap<>();
    /** Of texts in a group, the same texts in none; of those, what stands before them. */
    private final Map<Long, Long> unmixed = new HashMap<>();
    private final Map<Long, Long> parents = new HashMap<>();
    private boolean keysSuspended;
    private final List<Integer> freeHost = new ArrayList<>();
    private final List<Holder> swappedOut = new ArrayList<>();
    private long requests;
    private long queriedTokens;
    private long hitTokens;
    private long queriedBlocks;
    private long hitBlocks;
    private long resumptions;
    private long resumedTokens;
    private long resumedHitTokens;
    private long evictions;
    private long resets;

    ObviousCache(KvCacheSettings settings) {
        this.settings = settings;
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

    PrefixCacheStats stats() {
        return new PrefixCacheStats(requests, queriedTokens, hitTokens, queriedBlocks, hitBlocks,
                resumptions, resumedTokens, resumedHitTokens, 0, evictions, resets);
    }

    /**
     * The longest prefix of which every group has what a token after it sees.
     *
     * @param inTheMaking blocks that a step is still to compute, or computes now: taken only if there are no others
     */
    Hit match(Holder holder, Set<Integer> inTheMaking) {
        int length = holder.known - 1;
        while (length > 0 && !isCached(holder, length)) {
            length--;
        }
        var blocks = new ArrayList<List<Integer>>();
        for (int group = 0; group < groupCount; group++) {
            var row = new ArrayList<Integer>();
            int count = length / size(group);
            for (int index = 0; index < count; index++) {
                row.add(index < count - run(group, count)
                        ? NULL_BLOCK : eldest(inGroup(holder.texts[group][index], group), inTheMaking));
            }
            blocks.add(row);
        }
        return new Hit(length, blocks);
    }

    /** @param inTheMaking as in {@link #match} */
    boolean admit(Holder holder, Hit hit, Admission admission, Set<Integer> inTheMaking) {
        int cached = Math.max(hit.tokenCount(), holder.swapped);
        int present = cached + (admission.delayKeys() ? 0 : admission.externalTokens());
        int computed = cached + admission.externalTokens() + admission.tokenCount();
        int places = Math.min(computed + admission.lookahead(), settings.maxLength());
        var begun = new ArrayList<List<Integer>>();
        for (int group = 0; group < groupCount; group++) {
            var table = new ArrayList<Integer>(Collections.nCopies(unseenBlocks(group, present), NULL_BLOCK));
            for (int index = table.size(); index < hit.tokenCount() / size(group); index++) {
                table.add(hit.blocks().get(group).get(index));
            }
            begun.add(table);
        }
        boolean unsettled = hit.blocks().stream().anyMatch(row -> row.stream().anyMatch(inTheMaking::contains));
        if (!suffices(begun, places, present, holder, admission) || admission.delayKeys() && unsettled) {
            return false;
        }
        begin(holder, begun);
        for (int group = 0; group < groupCount; group++) {
            lengthen(holder.tables.get(group), blocks(group, places));
        }
        holder.settled = hit.tokenCount();
        holder.keyed = hit.tokenCount();
        holder.keyable = holder.swapped > holder.settled ? Math.max(holder.keyable, holder.keyed) : Integer.MAX_VALUE;
        holder.awaited = admission.delayKeys() ? admission.externalTokens() : 0;
        dropSwapped(holder);
        count(holder, holder.settled);
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
        int places = Math.min(holder.computed + tokenCount + lookahead, settings.maxLength());
        if (!lasts(new ArrayList<>(queue), holder.tables, places, holder.computed)) {
            return false;
        }
        own(holder, places, holder.computed);
        compute(holder, holder.computed + tokenCount);
        return true;
    }

    /** Tokens that a child need not compute. */
    int shareable(Holder parent, Holder child) {
        int tokens = Math.min(Math.min(parent.computed, parent.known), child.known - 1);
        return parent.awaited > 0 || !covers(parent, tokens) ? 0 : tokens;
    }

    boolean fork(Holder parent, Holder child, Admission admission) {
        int shared = shareable(parent, child);
        if (shared == 0) {
            return false;
        }
        int computed = shared + admission.tokenCount();
        int places = Math.min(computed + admission.lookahead(), settings.maxLength());
        var begun = new ArrayList<List<Integer>>();
        for (int group = 0; group < groupCount; group++) {
            var table = new ArrayList<Integer>(Collections.nCopies(unseenBlocks(group, shared), NULL_BLOCK));
            for (int index = table.size(); index < blocks(group, shared); index++) {
                table.add(parent.tables.get(group).get(index));
            }
            begun.add(table);
        }
        begin(child, begun);
        if (!suffices(child.tables, places, shared, child, admission)) {
            releaseAll(child);
            return false;
        }
        compute(parent, parent.computed);
        dropSwapped(child);
        child.settled = shared;
        child.keyable = parent.keyable < shared ? parent.keyable : Integer.MAX_VALUE;
        child.keyed = Math.min(Math.min(parent.keyed, shared), child.keyable);
        own(child, places, shared);
        count(child, shared);
        compute(child, computed);
        return true;
    }

    void loaded(Holder holder, int externalTokens) {
        int start = holder.computed - holder.awaited;
        holder.awaited = 0;
        compute(holder, Math.min(start + externalTokens, holder.known - 1));
        holder.settled = holder.computed;
    }

    /**
     * Steps failed, or are given back.
     *
     * @param right   leading tokens that are in the cache all the same
     * @param isRight of a group and the index of a block: a key stays just if its block holds what it says
     */
    void withdraw(Holder holder, int right, BiPredicate<Integer, Integer> isRight) {
        for (int group = 0; group < groupCount; group++) {
            for (int index = 0; index < holder.keyed / size(group); index++) {
                if (!isRight.test(group, index)) {
                    forget(holder.tables.get(group).get(index));
                }
            }
        }
        holder.keyed = Math.min(holder.keyed, right);
        holder.computed = right;
        holder.awaited = 0;
    }

    /** Blocks lose their keys, and so does all that was built on them; who holds such a block gives no key any more. */
    int evict(Set<Integer> blocks, List<Holder> holders) {
        var gone = new HashSet<Long>();
        for (int block : blocks) {
            if (textOf[block] != NO_TEXT) {
                gone.add(unmixed.get(textOf[block]));
            }
        }
        int evicted = takeKeys(gone, holders);
        var all = new ArrayList<>(holders);
        all.addAll(swappedOut);
        for (Holder holder : all) {
            int count = holder.swapped > 0 ? holder.swapped : holder.keyed;
            int left = tokensBefore(gone, holder, count);
            if (left < count) {
                holder.keyable = Math.min(holder.keyable, left);
                holder.keyed = Math.min(holder.keyed, left);
            }
        }
        return evicted;
    }

    /** The keys of all that begins as this one does go, and of what stands behind nothing; none are given from here on. */
    void invalidate(Holder invalid, List<Holder> holders) {
        if (invalid.keyed > 0) {
            var carried = new HashSet<Long>();
            blocksByText.keySet().forEach(text -> carried.add(unmixed.get(text)));
            var gone = new HashSet<Long>();
            for (int group = 0; group < groupCount; group++) {
                if (invalid.keyed >= size(group)) {
                    gone.add(invalid.texts[group][0]);
                }
            }
            carried.stream().filter(text -> parents.get(text) != NO_TEXT && !carried.contains(parents.get(text)))
                    .forEach(gone::add);
            takeKeys(gone, holders);
            holders.forEach(holder -> holder.keyed = tokensBefore(gone, holder, holder.keyed));
        }
        invalid.keyed = 0;
        keysSuspended = true;
    }

    void resumeKeys(List<Holder> holders) {
        keysSuspended = false;
        holders.forEach(holder -> compute(holder, holder.computed));
    }

    /** @param gone grows by everything that has a key and stands behind what is gone */
    private int forgetBuiltOn(Set<Long> gone) {
        int before = -1;
        while (gone.size() > before) {
            before = gone.size();
            blocksByText.keySet().stream().map(unmixed::get).filter(text -> gone.contains(parents.get(text)))
                    .forEach(gone::add);
        }
        int forgotten = 0;
        for (int block = 0; block < textOf.length; block++) {
            if (textOf[block] != NO_TEXT && gone.contains(unmixed.get(textOf[block]))) {
                forget(block);
                forgotten++;
            }
        }
        return forgotten;
    }

    /** What a holder has behind what is gone goes in groups of other block sizes, too. */
    private int takeKeys(Set<Long> gone, List<Holder> holders) {
        int taken = 0;
        int before = -1;
        while (gone.size() > before) {
            before = gone.size();
            taken += forgetBuiltOn(gone);
            for (Holder holder : holders) {
                int left = tokensBefore(gone, holder, holder.keyed);
                for (int group = 0; left < holder.keyed && group < groupCount; group++) {
                    for (int index = left / size(group); index < holder.keyed / size(group); index++) {
                        gone.add(holder.texts[group][index]);
                    }
                }
            }
        }
        return taken;
    }

    private int tokensBefore(Set<Long> gone, Holder holder, int tokenCount) {
        int left = tokenCount;
        for (int group = 0; group < groupCount; group++) {
            for (int index = 0; (index + 1) * size(group) <= left; index++) {
                left = gone.contains(holder.texts[group][index]) ? index * size(group) : left;
            }
        }
        return left;
    }

    boolean swapOut(Holder holder) {
        int tokens = Math.min(holder.computed, holder.known - 1);
        int wanted = 0;
        for (int group = 0; group < groupCount; group++) {
            wanted += blocks(group, tokens) - unseenBlocks(group, tokens);
        }
        if (holder.awaited > 0 || wanted == 0 || wanted > freeHost.size() || !covers(holder, tokens)) {
            return false;
        }
        for (int group = 0; group < groupCount; group++) {
            for (int index = unseenBlocks(group, tokens); index < blocks(group, tokens); index++) {
                holder.hostBlocks.get(group).add(freeHost.removeFirst());
            }
        }
        holder.swapped = tokens;
        swappedOut.add(holder);
        releaseAll(holder);
        return true;
    }

    void dropSwapped(Holder holder) {
        for (List<Integer> blocks : holder.hostBlocks) {
            freeHost.addAll(0, blocks);
            blocks.clear();
        }
        holder.swapped = 0;
        swappedOut.remove(holder);
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
        List.copyOf(swappedOut).forEach(this::dropSwapped);
        resets++;
        return true;
    }

    int forgetUnheld() {
        int forgotten = 0;
        for (int block : queue) {
            forgotten += textOf[block] == NO_TEXT ? 0 : 1;
            forget(block);
        }
        return forgotten;
    }

    int unseenTokens(int group, int tokenCount) {
        return switch (settings.groups().get(group)) {
            case FullAttention() -> 0;
            case SlidingWindow(int window, _) -> Math.max(0, tokenCount - window + 1);
        };
    }

    /**
     * Takes from a copy of the free blocks what an admission takes, and sees whether it runs out.
     *
     * @param begun the tables as they begin
     */
    private boolean suffices(List<List<Integer>> begun, int places, int written, Holder holder, Admission admission) {
        var left = new ArrayList<>(queue);
        begun.forEach(left::removeAll);
        var whole = new ArrayList<>(left);
        boolean suffices = lasts(left, begun, places, written) && leavesWatermark(left, admission);
        if (!admission.wholeSequence()) {
            return suffices;
        }
        // the same again, for as many blocks as the sequence will ever hold at once
        for (int group = 0; group < groupCount; group++) {
            int own = 0;
            for (int index = 0; index < Math.min(written / size(group), begun.get(group).size()); index++) {
                own += begun.get(group).get(index) == NULL_BLOCK ? 0 : 1;
            }
            for (int held = own; held < mostBlocks(group, holder.known, admission); held++) {
                if (whole.isEmpty()) {
                    return false;
                }
                whole.removeFirst();
            }
        }
        return suffices && leavesWatermark(whole, admission);
    }

    /** True if so many more than what lies below the watermark are left that the watermark is not touched. */
    private boolean leavesWatermark(List<Integer> left, Admission admission) {
        return !admission.othersRun() || left.size() + 1 > settings.watermark() * settings.blockCount();
    }

    /** Of a sequence in steps like this admission (spec 5.3). */
    private int mostBlocks(int group, int known, Admission admission) {
        int whole = blocks(group, Math.min(known, settings.maxLength()));
        int step = admission.externalTokens() + admission.tokenCount() + admission.lookahead();
        return switch (settings.groups().get(group)) {
            case FullAttention() -> whole;
            case SlidingWindow(int window, _) -> Math.min(whole, blocks(group, window - 1 + step) + 1);
        };
    }

    /**
     * Takes the blocks for tables of so many places, and the copies of what may not be written; false if they run out.
     */
    private boolean lasts(List<Integer> left, List<List<Integer>> tables, int places, int written) {
        for (int group = 0; group < groupCount; group++) {
            List<Integer> table = tables.get(group);
            int taken = Math.max(blocks(group, places) - table.size(), 0)
                    + (mustCopy(table, written / size(group)) ? 1 : 0);
            for (int i = 0; i < taken; i++) {
                if (left.isEmpty()) {
                    return false;
                }
                left.removeFirst();
            }
        }
        return true;
    }

    private void begin(Holder holder, List<List<Integer>> begun) {
        for (int group = 0; group < groupCount; group++) {
            begun.get(group).forEach(this::hold);
            holder.tables.get(group).addAll(begun.get(group));
        }
    }

    /** Makes tables of so many places, and the block that is written first the holder's own. */
    private void own(Holder holder, int places, int written) {
        for (int group = 0; group < groupCount; group++) {
            List<Integer> table = holder.tables.get(group);
            int index = written / size(group);
            if (mustCopy(table, index)) {
                int shared = table.get(index);
                table.set(index, allocate());
                release(List.of(shared));
            }
            lengthen(table, blocks(group, places));
        }
    }

    private void count(Holder holder, int cached) {
        boolean first = !holder.admittedBefore;
        holder.admittedBefore = true;
        holder.cachedTokens = first ? cached : holder.cachedTokens;
        if (!settings.prefixCaching() || holder.skipsCacheRead) {
            return;
        }
        if (first) {
            requests++;
            queriedTokens += holder.known;
            hitTokens += cached;
            queriedBlocks += holder.known / settings.blockSize();
            hitBlocks += cached / settings.blockSize();
        } else {
            resumptions++;
            resumedTokens += holder.known;
            resumedHitTokens += cached;
        }
    }

    private int unseenBlocks(int group, int tokenCount) {
        return unseenTokens(group, tokenCount) / size(group);
    }

    private int size(int group) {
        return settings.groups().get(group) instanceof SlidingWindow(_, int own) && own > 0 ? own : settings.blockSize();
    }

    private int blocks(int group, int tokenCount) {
        return (tokenCount + size(group) - 1) / size(group);
    }

    private int eldest(long text, Set<Integer> inTheMaking) {
        List<Integer> copies = blocksByText.get(text);
        return copies.stream().filter(block -> !inTheMaking.contains(block)).findFirst().orElse(copies.getFirst());
    }

    private boolean isCached(Holder holder, int length) {
        for (int group = 0; group < groupCount; group++) {
            int count = length / size(group);
            if (length % size(group) > 0) {
                return false;
            }
            for (int index = count - run(group, count); index < count; index++) {
                if (!blocksByText.containsKey(inGroup(holder.texts[group][index], group))) {
                    return false;
                }
            }
        }
        return true;
    }

    private int run(int group, int length) {
        return switch (settings.groups().get(group)) {
            case FullAttention() -> length;
            case SlidingWindow(int window, _) -> Math.min(length, blocks(group, window - 1));
        };
    }

    private boolean covers(Holder holder, int tokens) {
        for (int group = 0; group < groupCount; group++) {
            for (int index = unseenBlocks(group, tokens); index < blocks(group, tokens); index++) {
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
        int keyable = Math.min(Math.min(computed, holder.known), holder.keyable);
        if (!settings.prefixCaching() || holder.awaited > 0 || keyable <= holder.keyed || keysSuspended) {
            return;
        }
        for (int group = 0; group < groupCount; group++) {
            for (int index = holder.keyed / size(group); index < keyable / size(group); index++) {
                int block = holder.tables.get(group).get(index);
                if (block != NULL_BLOCK && textOf[block] == NO_TEXT) {
                    long[] texts = holder.texts[group];
                    textOf[block] = inGroup(texts[index], group);
                    unmixed.put(textOf[block], texts[index]);
                    parents.put(texts[index], index == 0 ? NO_TEXT : texts[index - 1]);
                    blocksByText.computeIfAbsent(textOf[block], text -> new ArrayList<>()).add(block);
                }
            }
        }
        holder.keyed = keyable;
    }

    private void releaseAll(Holder holder) {
        if (holder.holdsBlocks()) {
            compute(holder, holder.computed);
        }
        for (List<Integer> table : holder.tables) {
            release(table);
            table.clear();
        }
        holder.computed = holder.settled = holder.keyed = 0;
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
        evictions += textOf[block] == NO_TEXT ? 0 : 1;
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
