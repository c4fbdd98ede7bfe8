package dev.warmpath.worker.scheduler;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.protocol.block.BlockHashChain;
import dev.warmpath.protocol.block.ExtraKeys;
import dev.warmpath.protocol.block.HashSettings;
import dev.warmpath.protocol.event.BlockChange;
import dev.warmpath.protocol.event.KeySet;
import dev.warmpath.worker.kvcache.CacheGroup;
import dev.warmpath.worker.kvcache.KvCacheManager;
import dev.warmpath.worker.kvcache.KvCacheSettings;
import dev.warmpath.worker.kvcache.TokenSequence;
import java.util.HashMap;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Who hears the announcements, and knows all that was ever asked: its set of keys must be the blocks that the device
 * has, that the cache finds, and that running sequences were left with. Hashes for itself, and looks at every block.
 */
final class Listener {

    private final KvCacheManager cache;
    private final FakeDevice device;
    private final HashSettings hashing;
    private final boolean announces;
    private final boolean fullAttentionOnly;
    private final KeySet announced = new KeySet();
    private final Map<TokenSequence, Known> known = new IdentityHashMap<>();
    private final Map<Long, Prefix> prefixes = new HashMap<>();
    private final Map<Long, Set<Long>> children = new HashMap<>();
    private long heard;

    /** The tokens of one sequence, written down again. */
    private record Known(TokenSequence probe, BlockHashChain chain) {}

    /** What a key stands for: so many full blocks from the first on. */
    private record Prefix(Known known, int blocks) {}

    Listener(KvCacheManager cache, KvCacheSettings settings, FakeDevice device) {
        this.cache = cache;
        this.device = device;
        this.hashing = HashSettings.ofBlockSize(settings.blockSize());
        boolean full = settings.groups().getFirst() instanceof CacheGroup.FullAttention;
        this.announces = full && settings.prefixCaching();
        this.fullAttentionOnly = full && settings.groups().size() == 1;
    }

    /** A new sequence. */
    void know(TokenSequence sequence) {
        int[] prompt = new int[sequence.promptLength()];
        System.arraycopy(sequence.tokens(), 0, prompt, 0, prompt.length);
        known.put(sequence, new Known(new TokenSequence(hashing, ExtraKeys.NONE, prompt),
                new BlockHashChain(hashing, ExtraKeys.NONE)));
        learn(sequence);
    }

    /** The sequence may have become longer. */
    void learn(TokenSequence sequence) {
        Known one = known.get(sequence);
        while (one.probe.tokenCount() < sequence.tokenCount()) {
            one.probe.append(sequence.token(one.probe.tokenCount()));
        }
        int before = one.chain.blockCount();
        one.chain.extend(one.probe.tokens(), one.probe.tokenCount());
        for (int index = before; index < one.chain.blockCount(); index++) {
            prefixes.putIfAbsent(one.chain.key(index), new Prefix(one, index + 1));
            if (index > 0) {
                children.computeIfAbsent(one.chain.key(index - 1), _ -> new HashSet<>()).add(one.chain.key(index));
            }
        }
    }

    /** Key by key: none goes before its children, none comes before its parent. */
    void hear(List<BlockChange> changes) {
        for (BlockChange change : changes) {
            switch (change) {
                case BlockChange.Cleared() -> announced.clear();
                case BlockChange.Removed(var _, var keys) -> {
                    for (long key : keys) {
                        remove(key);
                    }
                }
                case BlockChange.Stored(var _, var keys) -> {
                    for (long key : keys) {
                        assertThat(announced.add(key)).as("stored was not there").isTrue();
                        requireParent(key);
                    }
                }
            }
        }
        heard += changes.size();
        assertThat(announced.size()).as("announced keys").isEqualTo(cache.announcedCount());
        assertThat(announced.digest()).as("digest of announced keys").isEqualTo(cache.announcedDigest());
    }

    private void remove(long key) {
        assertThat(announced.remove(key)).as("removed was there").isTrue();
        for (long child : children.getOrDefault(key, Set.of())) {
            if (announced.contains(child)) {
                throw new AssertionError("removed while a child is announced: " + prefixes.get(child));
            }
        }
    }

    private void requireParent(long key) {
        Prefix prefix = prefixes.get(key);
        if (prefix == null || prefix.blocks > 1 && !announced.contains(prefix.known.chain.key(prefix.blocks - 2))) {
            throw new AssertionError("announced but not reachable: " + prefix);
        }
    }

    long heard() {
        return heard;
    }

    void requireNothing() {
        assertThat(announced.size()).as("announced after a reset").isZero();
    }

    /** Every announced key is known, and so is its parent. */
    void requireClosed() {
        assertThat(announces || announced.size() == 0).as("nothing to announce").isTrue();
        for (long key : announced.toArray()) {
            requireParent(key);
        }
    }

    /** Nothing is in flight: what is announced is there, and is what the cache finds. */
    void requirePresent() {
        for (long key : announced.toArray()) {
            Prefix prefix = prefixes.get(key);
            if (prefix == null
                    || !device.holds(prefix.known.probe.tokens(), prefix.blocks * hashing.blockSize())) {
                throw new AssertionError("announced but not on the device: " + prefix);
            }
        }
        for (Known one : known.values()) {
            int expected = 0;
            while (expected < hashing.reusableBlocks(one.probe.tokenCount())
                    && announced.contains(one.chain.key(expected))) {
                expected++;
            }
            int found = announces ? cache.match(one.probe).blockCount() : 0;
            if (fullAttentionOnly ? found != expected : found > expected) {
                throw new AssertionError(expected + " blocks are announced, " + found + " are found");
            }
        }
    }

    /** So many full blocks of the sequence are held by it, and were filled by steps that succeeded. */
    void requireAnnounced(TokenSequence sequence, int blocks) {
        BlockHashChain chain = known.get(sequence).chain;
        for (int index = 0; announces && index < blocks; index++) {
            if (!announced.contains(chain.key(index))) {
                throw new AssertionError("block " + index + " of " + blocks + " is held but not announced");
            }
        }
    }
}
