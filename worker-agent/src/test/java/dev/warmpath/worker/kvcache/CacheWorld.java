package dev.warmpath.worker.kvcache;

import dev.warmpath.protocol.block.ExtraKeys;
import dev.warmpath.protocol.block.HashSettings;
import dev.warmpath.worker.kvcache.CacheGroup.FullAttention;
import dev.warmpath.worker.kvcache.CacheGroup.SlidingWindow;
import dev.warmpath.worker.kvcache.ObviousCache.Holder;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;

/**
 * A cache, an {@link ObviousCache} beside it, a {@link SimulatedDevice}, an {@link AnnouncementReplica}, and somebody
 * who does with all of them, at random, what a scheduler may do: steps are made while at most one other is in flight, and
 * settled in order or failed. A step writes what it computes and must find right what it sees.
 */
final class CacheWorld {

    private static final int MAX_LIVE = 6;
    private static final int MAX_WAITING = 6;
    private static final int MAX_TOKENS = 30;

    /** A sequence, what it is going to say, and where it stands. */
    private final class Live {
        final TokenSequence sequence;
        final Holder holder;
        final int salt;
        /** All tokens, those yet to be drawn among them. */
        final int[] future;
        /** [MAX_TOKENS]; what the slot of a position holds, unmixed. */
        final long[] contents;
        /** Leading positions that hold their content by now, not only once the step being made is submitted. */
        int ready;
        int unsettledSteps;
        boolean inStep;
        boolean cancelled;

        Live(int salt, int[] future, int known, boolean skipsCacheRead) {
            this.salt = salt;
            this.future = future;
            this.contents = contentsOf(salt, future);
            var extraKeys = salt == 0 ? ExtraKeys.NONE : ExtraKeys.ofSalt("salt " + salt);
            sequence = new TokenSequence(HashSettings.ofBlockSize(blockSize), extraKeys,
                    Arrays.copyOf(future, known), skipsCacheRead);
            holder = new Holder(textsOf(contents), groupCount);
            holder.known = known;
            holder.skipsCacheRead = skipsCacheRead;
        }

        Live(Live parent, int[] future) {
            this.salt = parent.salt;
            this.future = future;
            this.contents = contentsOf(salt, future);
            sequence = parent.sequence.fork();
            holder = new Holder(textsOf(contents), groupCount);
            holder.known = parent.holder.known;
            holder.skipsCacheRead = parent.holder.skipsCacheRead;
        }

        void append() {
            sequence.append(future[holder.known++]);
        }

        /** Nobody may take its blocks: a step reads or writes them. */
        boolean isBusy() {
            return inStep || unsettledSteps > 0;
        }
    }

    /**
     * @param from     first position that is written, external ones among them
     * @param computed first position that is computed
     * @param written  the blocks of these positions, and those that come back from swap space with this step
     */
    private record Entry(Live live, int from, int computed, int to, int draws, Set<Integer> written) {}

    private static final class Step {
        final List<Entry> entries = new ArrayList<>();
        final List<Integer> copiedTo = new ArrayList<>();
        final List<Live> swappedOut = new ArrayList<>();
        boolean admitted;
        long eventCount;
    }

    private final SplittableRandom random;
    private final KvCacheSettings settings;
    private final int blockSize;
    private final int groupCount;
    private final boolean async;
    private final KvCacheManager cache;
    private final ObviousCache model;
    private final SimulatedDevice device;
    private final AnnouncementReplica replica = new AnnouncementReplica();
    private final List<Live> live = new ArrayList<>();
    private final List<Live> waiting = new ArrayList<>();
    private final ArrayDeque<Step> inFlight = new ArrayDeque<>();
    private final List<int[]> said = new ArrayList<>();
    private Step step = new Step();
    /** Keys were taken back while steps are in flight: what is announced before would name them. */
    private boolean withheld;

    private final Map<Long, Integer> copiesByEntry = new HashMap<>();
    private long countedEvents;

    long hits;
    long refusals;
    long swapsIn;
    long copiesOnWrite;
    long forks;
    long loads;
    long evictions;
    long invalidations;

    CacheWorld(long seed) {
        random = new SplittableRandom(seed);
        blockSize = 1 + random.nextInt(4);
        List<CacheGroup> groups = switch (random.nextInt(8)) {
            case 0 -> List.of(window(0));
            case 1 -> List.of(new FullAttention(), window(0));
            case 2 -> List.of(new FullAttention(), window(0), window(0));
            case 3 -> List.of(new FullAttention(), window(ownBlockSize()));
            case 4 -> random.nextBoolean() ? List.of(new FullAttention(), window(ownBlockSize()), window(0))
                    : List.of(window(ownBlockSize()), window(ownBlockSize()));
            default -> List.of(new FullAttention());
        };
        groupCount = groups.size();
        int blockCount = 6 + random.nextInt(random.nextBoolean() ? 16 : 59);
        settings = KvCacheSettings.of(blockCount, blockSize).withGroups(groups)
                .withMaxLength(random.nextBoolean() ? MAX_TOKENS : Integer.MAX_VALUE)
                .withPrefixCaching(random.nextInt(6) > 0)
                .withVerifyTokens(random.nextBoolean())
                .withFreeOrder(random.nextInt(3) == 0 ? FreeOrder.RELEASE_ORDER : FreeOrder.UNKEYED_FIRST)
                .withWatermark(random.nextBoolean() ? 0 : 0.1)
                .withHostBlockCount(random.nextInt(3) * 8);
        async = random.nextBoolean();
        cache = new KvCacheManager(settings);
        model = new ObviousCache(settings);
        device = new SimulatedDevice(settings);
    }

    void operate() {
        int known = step.entries.size();
        int dice = random.nextInt(100);
        if (dice < 22) {
            admit();
        } else if (dice < 58) {
            extend();
        } else if (dice < 63) {
            fork();
        } else if (dice < 68) {
            preempt();
        } else if (dice < 74) {
            end();
        } else if (dice < 77) {
            loaded();
        } else if (dice < 89) {
            submit();
        } else if (dice < 94) {
            settle();
        } else if (dice < 95) {
            evict();
        } else if (dice < 96) {
            invalidate();
        } else if (dice < 97) {
            fail();
        } else if (dice < 98) {
            reset();
        } else {
            replica.apply(cache.drainChanges());
            replica.checkAnnounced(announces() ? model.blocksByText.keySet() : Set.of());
            requireEqual("announced", replica.count(), cache.announcedCount());
        }
        int made = step.entries.size();
        copy();
        for (int i = known; i < made; i++) {
            // what lies there from earlier may be the very same thing: it is not to pass for computed
            Entry entry = step.entries.get(i);
            device.spoil(entry.live.sequence, entry.from, entry.to);
        }
    }

    /** All that must hold after every operation. */
    void check() {
        requireEqual("free queue", ints(model.queue), cache.pool().freeListing());
        for (int block = 1; block < settings.blockCount(); block++) {
            requireEqual("references", model.references[block], cache.pool().references(block));
            requireEqual("text of block " + block, model.textOf[block], textOf(block));
        }
        require(model.stats().equals(cache.stats()), "statistics: " + model.stats() + ", " + cache.stats());
        requireEqual("free host blocks", model.freeHostBlocks(), cache.freeHostBlocks());
        live.forEach(this::checkLive);
        cache.checkIntegrity(holders());
        countEvents();
        checkReachable();
    }

    private long textOf(int block) {
        return cache.pool().isKeyed(block)
                ? ObviousCache.inGroup(replica.textOf(cache.pool().keys().key(block)), cache.pool().keys().group(block))
                : ObviousCache.NO_TEXT;
    }

    private void checkLive(Live each) {
        requireEqual("computed", each.holder.computed, each.sequence.computedTokens());
        requireEqual("cached", each.holder.cachedTokens, each.sequence.cachedTokens());
        requireEqual("keyed", each.holder.keyed, each.sequence.holding().keyedTokens());
        for (int group = 0; group < groupCount; group++) {
            requireEqual("table", ints(each.holder.tables.get(group)), each.sequence.table(group).toArray());
            device.check(each.sequence, each.contents, group, model.unseenTokens(group, each.ready), each.ready);
        }
    }

    private void checkReachable() {
        if (announces()) {
            requireEqual("cached keys", replica.checkReachable(model.blocksByText.keySet()), cache.pool().keyCount(0));
        }
    }

    private boolean announces() {
        return settings.announces();
    }

    /** Stored minus removed entries of a key are the blocks that carry it (I7); after each, parents are there (D9). */
    private void countEvents() {
        if (cache.eventCount() == countedEvents) {
            return;
        }
        for (KvEventLog.Entry entry : cache.log().entries()) {
            if (entry.number() < countedEvents) {
                continue;
            }
            if (entry.kind() == KvEventLog.Kind.CLEARED) {
                copiesByEntry.clear();
                continue;
            }
            long text = ObviousCache.inGroup(replica.textOf(entry.key()), entry.group());
            copiesByEntry.merge(text, entry.kind() == KvEventLog.Kind.STORED ? 1 : -1, Integer::sum);
            copiesByEntry.remove(text, 0);
            if (announces() && entry.group() == 0) {
                replica.checkOrder(text, copiesByEntry.keySet());
            }
        }
        countedEvents = cache.eventCount();
        requireEqual("keys by the log", copiesByEntry.size(), model.blocksByText.size());
        model.blocksByText.forEach((text, blocks) ->
                requireEqual("copies by the log", copiesByEntry.getOrDefault(text, 0), blocks.size()));
    }

    private void admit() {
        if (live.size() == MAX_LIVE) {
            return;
        }
        boolean resumed = !waiting.isEmpty() && (waiting.size() == MAX_WAITING || random.nextBoolean());
        Live each = resumed ? waiting.getLast() : newcomer();
        remember(each);
        PrefixHit hit = cache.match(each.sequence);
        ObviousCache.Hit expected = each.sequence.skipsCacheRead() || !settings.prefixCaching()
                ? new ObviousCache.Hit(0, List.of()) : model.match(each.holder, inTheMaking());
        requireEqual("hit", expected.tokenCount(), hit.tokenCount());
        for (int group = 0; group < expected.blocks().size(); group++) {
            requireEqual("hit", ints(expected.blocks().get(group)), hit.toArray(group));
        }
        int cached = cache.resumableTokens(each.sequence, hit);
        requireEqual("resumable", Math.max(hit.tokenCount(), each.holder.swapped), cached);
        int swapped = each.holder.swapped;
        Admission admission = admission(each.holder.known - cached, swapped == 0);
        boolean admitted = cache.admit(each.sequence, hit, admission);
        require(admitted == model.admit(each.holder, expected, admission, inTheMaking()), "admission");
        if (!admitted) {
            refusals++;
            return;
        }
        waiting.remove(each);
        live.add(each);
        hits += expected.tokenCount() / blockSize;
        swapsIn += swapped > 0 ? 1 : 0;
        if (admission.delayKeys()) {
            each.ready = cached;                                      // in no step: it waits for its load
            loads++;
            return;
        }
        step.admitted = true;
        each.ready = 0;
        schedule(each, expected.tokenCount(), cached, cached + admission.externalTokens(),
                each.holder.computed, 0);
    }

    private Admission admission(int uncomputed, boolean mayDelay) {
        int external = random.nextInt(8) == 0 ? random.nextInt(uncomputed) : 0;
        if (external > 0 && mayDelay && random.nextBoolean()) {
            return new Admission(0, 0, external, true, random.nextInt(4) == 0, random.nextBoolean());
        }
        int most = uncomputed - external;
        int tokens = random.nextBoolean() ? most : 1 + random.nextInt(most);
        int lookahead = random.nextInt(6) == 0 ? random.nextInt(5) : 0;
        return new Admission(tokens, lookahead, external, false, random.nextInt(4) == 0, random.nextBoolean());
    }

    /** Blocks that a step in flight writes, or the one being made is to write. */
    private Set<Integer> inTheMaking() {
        var blocks = new HashSet<Integer>();
        step.entries.forEach(entry -> blocks.addAll(entry.written));
        inFlight.forEach(each -> each.entries.forEach(entry -> blocks.addAll(entry.written)));
        blocks.remove(ObviousCache.NULL_BLOCK);
        return blocks;
    }

    private void extend() {
        Live each = any(live);
        if (each == null || each.inStep || each.cancelled || each.holder.awaited > 0 || isComplete(each)) {
            return;
        }
        int uncomputed = each.sequence.uncomputedTokens();
        int tokens = random.nextInt(3) == 0 ? 1 + random.nextInt(uncomputed) : uncomputed;
        int room = MAX_TOKENS - 1 - each.holder.computed - tokens;
        int more = tokens == uncomputed && random.nextInt(4) == 0 ? Math.min(random.nextInt(3), Math.max(room, 0)) : 0;
        int lookahead = more + (random.nextInt(6) == 0 ? random.nextInt(4) : 0);
        int from = each.holder.computed;
        boolean extended = cache.extend(each.sequence, tokens, lookahead);
        require(extended == model.extend(each.holder, tokens, lookahead), "extension");
        if (!extended) {
            refusals++;
            return;
        }
        if (more > 0) {
            // several steps for one decision: what they draw is computed before it is known
            each.sequence.expect(more);
            require(cache.extend(each.sequence, more), "room was looked ahead for");
            require(model.extend(each.holder, more, 0), "room was looked ahead for");
        }
        schedule(each, from, from, from, each.holder.computed, more);
    }

    private void fork() {
        Live parent = any(live);
        if (parent == null || live.size() == MAX_LIVE || parent.inStep || parent.cancelled || parent.ready == 0
                || parent.ready < parent.holder.computed) {
            return;
        }
        int[] future = parent.future.clone();
        for (int i = parent.holder.known; i < MAX_TOKENS; i++) {
            future[i] = random.nextInt(3);
        }
        boolean shorter = random.nextBoolean();
        Live child = shorter
                ? new Live(parent.salt, future, 1 + random.nextInt(parent.holder.known), false)
                : new Live(parent, future);
        if (!shorter && child.holder.known < MAX_TOKENS - 1 && random.nextBoolean()) {
            child.append();
        }
        remember(child);
        int shared = cache.shareableTokens(parent.sequence, child.sequence);
        requireEqual("shareable", model.shareable(parent.holder, child.holder), shared);
        int left = child.holder.known - shared;
        Admission admission = new Admission(random.nextBoolean() ? left : 1 + random.nextInt(left),
                random.nextInt(6) == 0 ? random.nextInt(5) : 0, 0, false,
                random.nextInt(4) == 0, random.nextInt(4) == 0);
        boolean forked = cache.fork(parent.sequence, child.sequence, admission);
        require(forked == model.fork(parent.holder, child.holder, admission), "fork");
        if (!forked) {
            refusals++;
            return;
        }
        live.add(child);
        step.admitted = true;
        child.ready = parent.unsettledSteps == 0 ? shared : 0;
        forks++;
        schedule(child, shared, shared, shared, child.holder.computed, 0);
    }

    /** Somebody gives his blocks up; what he was to do in the step being made is taken back. */
    private void preempt() {
        Live victim = any(live);
        if (victim == null || victim.unsettledSteps > 0 || victim.cancelled || waiting.size() == MAX_WAITING
                || victim.inStep && step.admitted) {
            return;
        }
        if (victim.inStep) {
            step.entries.removeIf(entry -> entry.live == victim);
            victim.inStep = false;
            withdraw(victim);
        }
        if (victim.sequence.pendingTokens() > 0) {
            release(victim);                                          // drawn for a step that is not made: it ends
            return;
        }
        boolean swapped = random.nextBoolean() && cache.swapOut(victim.sequence);
        if (swapped) {
            require(model.swapOut(victim.holder), "swap");
            step.swappedOut.add(victim);
        } else {
            cache.release(victim.sequence);
            model.release(victim.holder);
        }
        victim.ready = 0;
        live.remove(victim);
        waiting.add(victim);
    }

    private void end() {
        boolean running = random.nextInt(4) > 0;
        Live each = any(running ? live : waiting);
        if (each == null) {
            return;
        }
        if (each.isBusy()) {
            each.cancelled = true;                                    // its blocks go when its step is settled
        } else {
            release(each);
            cache.release(each.sequence);                             // once more: nothing happens
        }
    }

    private void loaded() {
        for (Live each : live) {
            if (each.holder.awaited > 0) {
                int awaited = each.holder.awaited;
                int arrived = random.nextInt(3) == 0 ? random.nextInt(awaited + 1) : awaited;
                int from = each.holder.computed - awaited;
                device.write(each.sequence, each.contents, from, from + arrived);
                cache.loaded(each.sequence, arrived);
                model.loaded(each.holder, arrived);
                each.ready = each.holder.computed;
                return;
            }
        }
    }

    private void submit() {
        if (inFlight.size() == (async ? 2 : 1)) {
            settle();
        }
        for (Entry entry : step.entries) {
            device.write(entry.live.sequence, entry.live.contents, entry.from, entry.to);
        }
        for (Entry entry : step.entries) {
            Live each = entry.live;
            for (int group = 0; group < groupCount; group++) {
                device.check(
                        each.sequence, each.contents, group, model.unseenTokens(group, entry.computed), entry.to);
            }
            each.ready = entry.to;
            each.inStep = false;
            each.unsettledSteps++;
        }
        step.eventCount = cache.eventCount();
        inFlight.add(step);
        step = new Step();
    }

    private void settle() {
        if (inFlight.isEmpty()) {
            return;
        }
        Step settled = inFlight.removeFirst();
        for (Entry entry : settled.entries) {
            Live each = entry.live;
            each.unsettledSteps--;
            for (int i = 0; i < entry.draws; i++) {
                each.append();
            }
            remember(each);
            int computed = entry.to;
            cache.settle(each.sequence, computed);
            each.holder.settled = computed;
            if (!each.isBusy() && (each.cancelled || isComplete(each))) {
                release(each);
            }
        }
        if (!withheld) {
            replica.apply(cache.drainChanges(settled.eventCount));
        }
    }

    /** Everything in flight fails, and with it the step that builds on it. */
    private void fail() {
        if (inFlight.isEmpty()) {
            return;
        }
        inFlight.add(step);
        step = new Step();
        var failed = new LinkedHashSet<Live>();
        inFlight.forEach(each -> each.entries.forEach(entry -> failed.add(entry.live)));
        while (!inFlight.isEmpty()) {
            Step last = inFlight.removeLast();
            last.copiedTo.forEach(device::spoilBlock);
            for (Entry entry : last.entries.reversed()) {
                device.spoil(entry.live.sequence, entry.from, entry.to);
            }
            for (Live each : last.swappedOut) {
                cache.dropSwapped(each.sequence);
                model.dropSwapped(each.holder);
            }
        }
        failed.reversed().forEach(this::withdraw);
        failed.reversed().forEach(this::release);
    }

    private void withdraw(Live each) {
        model.withdraw(each.holder, device.rightPositions(each.sequence, each.contents, each.holder.computed),
                (group, index) -> device.isRightBlock(each.sequence, each.contents, group, index));
        cache.withdraw(each.sequence);
    }

    private void evict() {
        var blocks = new HashSet<Integer>();
        for (int i = random.nextInt(4); i >= 0; i--) {
            blocks.add(random.nextInt(settings.blockCount()));
        }
        int evicted = cache.evict(ints(List.copyOf(blocks)), holders());
        requireEqual("evicted", model.evict(blocks, live.stream().map(each -> each.holder).toList()), evicted);
        evictions += evicted;
    }

    /** What one holds turns out to be unusable: it ends when nothing is in flight any more, and the others go on. */
    private void invalidate() {
        copy();
        submit();
        Live each = any(live);
        if (each == null || each.holder.awaited > 0) {
            return;
        }
        cache.invalidate(List.of(each.sequence), holders());
        model.invalidate(each.holder, live.stream().map(other -> other.holder).toList());
        withheld = true;
        check();
        while (!inFlight.isEmpty()) {
            settle();
        }
        if (live.contains(each)) {
            release(each);
        }
        cache.resumeKeys(holders());
        model.resumeKeys(live.stream().map(other -> other.holder).toList());
        withheld = false;
        invalidations++;
    }

    private List<TokenSequence> holders() {
        return live.stream().map(each -> each.sequence).toList();
    }

    private void reset() {
        boolean all = cache.resetPrefixCache();
        require(all == model.reset(), "reset");
        if (!all) {
            requireEqual("forgotten blocks", model.forgetUnheld(), cache.forgetUnheld());
        }
    }

    private void schedule(Live each, int found, int from, int computed, int to, int drawsBefore) {
        boolean draws = each.sequence.uncomputedTokens() == 0;
        if (draws) {
            each.sequence.expect(1);
        }
        each.inStep = true;
        var written = new HashSet<Integer>();
        for (int group = 0; group < groupCount; group++) {
            int size = settings.blockSize(group);
            written.addAll(each.holder.tables.get(group).subList(found / size, (to + size - 1) / size));
        }
        step.entries.add(new Entry(each, from, computed, to, draws ? drawsBefore + 1 : 0, written));
    }

    private void release(Live each) {
        cache.release(each.sequence);
        model.release(each.holder);
        live.remove(each);
        waiting.remove(each);
    }

    private boolean isComplete(Live each) {
        return each.holder.known + each.sequence.pendingTokens() >= MAX_TOKENS - 1;
    }

    /** Does the noted copies. Between the making of a step and its submission nothing else touches the device. */
    private void copy() {
        BlockCopies copies = cache.copies();
        for (int i = 0; i < copies.size(); i++) {
            copiesOnWrite += copies.direction(i) == BlockCopies.Direction.WITHIN_DEVICE ? 1 : 0;
        }
        device.copy(copies, step.copiedTo::add);
    }

    private void remember(Live each) {
        for (int group = 0; group < groupCount; group++) {
            replica.remember(each.sequence.chain(settings.blockSize(group)), each.holder.texts[group], group == 0);
        }
    }

    private Live newcomer() {
        int[] future;
        if (!said.isEmpty() && random.nextInt(3) > 0) {
            future = said.get(random.nextInt(said.size())).clone();
            for (int i = random.nextInt(MAX_TOKENS); i < MAX_TOKENS; i++) {
                future[i] = random.nextInt(3);
            }
        } else {
            future = random.ints(MAX_TOKENS, 0, 3).toArray();
        }
        if (said.size() < 12) {
            said.add(future);
        }
        int salt = random.nextInt(8) == 0 ? 1 : 0;
        return new Live(salt, future, 1 + random.nextInt(MAX_TOKENS - 8), random.nextInt(10) == 0);
    }

    private CacheGroup window(int ownBlockSize) {
        return new SlidingWindow(1 + random.nextInt(10), ownBlockSize);
    }

    private int ownBlockSize() {
        return 1 + random.nextInt(6);
    }

    private <T> T any(List<T> list) {
        return list.isEmpty() ? null : list.get(random.nextInt(list.size()));
    }

    private static long[] contentsOf(int salt, int[] tokens) {
        var contents = new long[tokens.length];
        long content = mix(salt + 1);
        for (int i = 0; i < tokens.length; i++) {
            content = mix(content + tokens[i] + 1);
            contents[i] = content;
        }
        return contents;
    }

    /** In each group: of blocks of another size, other texts, though they end with the same token. */
    private long[][] textsOf(long[] contents) {
        var texts = new long[groupCount][];
        for (int group = 0; group < groupCount; group++) {
            int size = settings.blockSize(group);
            texts[group] = new long[contents.length / size];
            for (int index = 0; index < texts[group].length; index++) {
                texts[group][index] = contents[(index + 1) * size - 1] + size * 0x2545_f491_4f6c_dd1dL;
            }
        }
        return texts;
    }

    /** The finalizer of splitmix64: different numbers stay different. */
    private static long mix(long value) {
        long mixed = value * 0x9e3779b97f4a7c15L;
        mixed = (mixed ^ (mixed >>> 30)) * 0xbf58476d1ce4e5b9L;
        mixed = (mixed ^ (mixed >>> 27)) * 0x94d049bb133111ebL;
        return mixed ^ (mixed >>> 31);
    }

    private static int[] ints(List<Integer> numbers) {
        var array = new int[numbers.size()];
        for (int i = 0; i < array.length; i++) {
            array[i] = numbers.get(i);
        }
        return array;
    }

    private static void require(boolean condition, String what) {
        if (!condition) {
            throw new AssertionError(what);
        }
    }

    private static void requireEqual(String what, long expected, long found) {
        if (expected != found) {
            throw new AssertionError(what + ": " + expected + " expected, " + found + " found");
        }
    }

    private static void requireEqual(String what, int[] expected, int[] found) {
        if (!Arrays.equals(expected, found)) {
            throw new AssertionError(
                    what + ": " + Arrays.toString(expected) + " expected, " + Arrays.toString(found) + " found");
        }
    }
}
