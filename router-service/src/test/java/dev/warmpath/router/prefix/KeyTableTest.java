package dev.warmpath.router.prefix;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.Arrays;
import java.util.BitSet;
import java.util.HashMap;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

class KeyTableTest {

    private static final int ORDINALS = 150;

    private final KeyTable table = new KeyTable();
    /** What the table must say: the ordinals of every key that has any. */
    private final Map<Long, BitSet> model = new HashMap<>();

    @Test
    void a_key_has_the_ordinals_that_were_added_and_not_removed() {
        assertThat(table.add(7, 0)).isTrue();
        assertThat(table.add(7, 0)).isFalse();
        assertThat(table.add(7, 149)).isTrue();
        assertThat(holders(7)).isEqualTo(bits(0, 149));

        assertThat(table.remove(7, 0)).isTrue();
        assertThat(table.remove(7, 0)).isFalse();
        assertThat(holders(7)).isEqualTo(bits(149));
        assertThat(table.remove(7, 149)).isTrue();
        assertThat(holders(7)).isEqualTo(bits());
        assertThat(table.size()).isZero();
    }

    @Test
    void the_key_whose_bits_are_all_zero_is_a_key_like_any_other() {
        assertThat(holders(0)).isEqualTo(bits());
        table.add(0, 3);
        table.add(1, 4);

        assertThat(holders(0)).isEqualTo(bits(3));
        assertThat(table.remove(0, 3)).isTrue();
        assertThat(holders(1)).isEqualTo(bits(4));
    }

    @Test
    void keys_with_equal_workers_share_one_set_and_it_goes_with_the_last_of_them() {
        for (long key = 0; key < 10; key++) {
            table.add(key << 40, 1);
            table.add(key << 40, 2);
        }
        assertThat(table.holderSets()).isEqualTo(1);
        for (long key = 0; key < 9; key++) {
            table.remove(key << 40, 2);
        }
        assertThat(table.holderSets()).isEqualTo(1);
        table.remove(9L << 40, 1);
        assertThat(table.holderSets()).isZero();
    }

    @Test
    void a_thousand_keys_with_one_home_at_the_very_end_of_a_shard_are_all_found() {
        for (long i = 0; i < 1_000; i++) {
            table.add(-1 - i, 5);
        }
        for (long i = 0; i < 1_000; i++) {
            assertThat(holders(-1 - i)).isEqualTo(bits(5));
        }
        for (long i = 0; i < 1_000; i++) {
            assertThat(table.remove(-1 - i, 5)).isTrue();
        }
        assertThat(table.size()).isZero();
    }

    @Test
    void a_table_that_was_full_and_is_empty_again_has_given_its_memory_back() {
        long empty = table.bytes();
        var random = new Random(1);
        long[] keys = random.longs(200_000).toArray();
        for (long key : keys) {
            table.add(key, 1);
        }
        long full = table.bytes() - empty;
        assertThat(full).isBetween(200_000L * 12, 200_000L * 24);
        for (long key : keys) {
            table.remove(key, 1);
        }
        assertThat(table.bytes()).isEqualTo(empty);
    }

    /** Who holds the old one would otherwise read, and believe, what nobody changes any more. */
    @Test
    void a_shard_that_was_replaced_is_never_believed_again() {
        Shard first = table.shard(0);
        int version = first.version();
        long key = 0;
        while (table.shard(0) == first) {
            table.add(key++, 1);
        }
        assertThat(first.isStill(version)).isFalse();
        assertThat(first.version()).isOdd();

        Shard larger = table.shard(0);
        while (table.shard(0) == larger) {
            table.remove(--key, 1);
        }
        assertThat(larger.version()).isOdd();
        assertThat(table.shard(0).version()).isEven();
    }

    /**
     * Forty keys that stay, between them forty that are never there, and before them forty that come and go: all with
     * one home, so that every search passes them and every change moves those that stay. A reader that believes what it
     * read during one soon says something wrong.
     */
    @Test
    void readers_are_right_about_what_stays_and_what_never_was_whatever_moves_around_it() throws Exception {
        var random = new Random(1);
        long[] staying = LongStream.range(0, 40).map(i -> 1_000 + 2 * i).toArray();
        long[] absent = LongStream.range(0, 40).map(i -> 1_001 + 2 * i).toArray();
        for (long key : staying) {
            table.add(key, 7);
            table.add(key, 70);
        }
        var quiet = new AtomicBoolean();
        try (var threads = Executors.newFixedThreadPool(2)) {
            Future<Long> sets = threads.submit(() -> wrongSets(staying, absent, quiet));
            Future<Long> singles = threads.submit(() -> wrongSingles(staying, absent, quiet));
            long end = System.nanoTime() + Duration.ofSeconds(1).toNanos();
            while (System.nanoTime() < end) {
                long key = random.nextInt(40);
                table.add(key, random.nextInt(4));
                table.add(key, random.nextInt(4));
                long other = random.nextInt(40);
                for (int ordinal = 0; ordinal < 4; ordinal++) {
                    table.remove(other, ordinal);
                }
            }
            quiet.set(true);
            assertThat(sets.get()).isZero();
            assertThat(singles.get()).isZero();
        }
        table.checkIntegrity(new WorkerKeys.Totals[ORDINALS]);
    }

    private long wrongSets(long[] staying, long[] absent, AtomicBoolean quiet) {
        long wrong = 0;
        long[] both = {1L << 7, 1L << 70};
        while (!quiet.get()) {
            table.touch(staying, 0, 40);
            for (int i = 0; i < 40; i++) {
                wrong += Arrays.equals(table.holders(staying[i]), both) ? 0 : 1;
                wrong += table.holders(absent[i]).length == 0 ? 0 : 1;
            }
        }
        return wrong;
    }

    private long wrongSingles(long[] staying, long[] absent, AtomicBoolean quiet) {
        long wrong = 0;
        while (!quiet.get()) {
            for (int i = 0; i < 40; i++) {
                wrong += HolderSets.isIn(table.holders(staying[i]), 7) ? 0 : 1;
                wrong += HolderSets.isIn(table.holders(staying[i]), 3) ? 1 : 0;
                wrong += table.mayBeHeld(staying[i]) ? 0 : 1;
                for (int ordinal = 0; ordinal < 4; ordinal++) {
                    wrong += HolderSets.isIn(table.holders(absent[i]), ordinal) ? 1 : 0;
                }
            }
        }
        return wrong;
    }

    /** Few homes, so that runs are long; both ends of shards; keys with one, few and many workers. */
    @Test
    void random_changes_and_sweeps_leave_what_an_obvious_model_holds() {
        var random = new Random(42);
        for (int round = 0; round < 20; round++) {
            int fill = 20 + random.nextInt(1_500);
            for (int step = 0; step < 3_000; step++) {
                change(random, fill, random.nextInt(10) < (round % 2 == 0 ? 7 : 3));
            }
            if (round % 4 == 3) {
                sweep(random);
            }
            table.checkIntegrity(new WorkerKeys.Totals[ORDINALS]);
            model.forEach((key, ordinals) -> assertThat(holders(key)).isEqualTo(ordinals));
            assertThat(table.size()).isEqualTo(model.size());
            assertThat(table.holderSets()).isEqualTo((int) model.values().stream()
                    .filter(ordinals -> ordinals.cardinality() > 1).distinct().count());
        }
    }

    private void change(Random random, int fill, boolean add) {
        long cluster = (long) random.nextInt(4) - 2 << 54 | (random.nextInt(4) * 0x15_5555_5555_5555L >>> 10);
        long key = cluster + (long) random.nextInt(fill) * (random.nextBoolean() ? 1 : 1L << 41);
        int ordinal = random.nextInt(5) > 0 ? random.nextInt(4) : random.nextInt(ORDINALS);
        BitSet ordinals = model.computeIfAbsent(key, _ -> new BitSet());
        assertThat(add ? table.add(key, ordinal) : table.remove(key, ordinal)).isEqualTo(ordinals.get(ordinal) != add);
        ordinals.set(ordinal, add);
        if (ordinals.isEmpty()) {
            model.remove(key);
        }
    }

    private void sweep(Random random) {
        BitSet dead = bits(random.nextInt(4), random.nextInt(ORDINALS));
        for (int shard = 0; shard < KeyTable.SHARDS; shard++) {
            table.sweep(shard, dead.toLongArray());
        }
        model.values().forEach(ordinals -> ordinals.andNot(dead));
        model.values().removeIf(BitSet::isEmpty);
    }

    private BitSet holders(long key) {
        BitSet found = BitSet.valueOf(table.holders(key));
        assertThat(found.isEmpty() || table.mayBeHeld(key)).isTrue();
        return found;
    }

    private static BitSet bits(int... ordinals) {
        var bits = new BitSet();
        for (int ordinal : ordinals) {
            bits.set(ordinal);
        }
        return bits;
    }
}
