package dev.warmpath.tokenization.bpe;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class MergerTest {
    private static final int[] BYTE_IDS = IntStream.range(0, 256).toArray();
    private static final Alphabet ALPHABET = new Alphabet.Bytes(BYTE_IDS);

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.US_ASCII);
    }

    private static int[] merged(Merger merger, String word) {
        var ids = new TokenIds();
        merger.merge(bytes(word), 0, word.length(), ids);
        return ids.toArray();
    }

    @Test
    void the_least_rank_is_merged_first_and_of_equals_the_leftmost() {
        var merges = new MergeTable(3);
        merges.put('b', 'c', /* rank */ 0, /* id */ 300);
        merges.put('a', 'b', 1, 301);
        merges.put('a', 'a', 2, 302);
        assertThat(merged(new Merger(merges, ALPHABET), "abcab")).containsExactly('a', 300, 301);
        assertThat(merged(new Merger(merges, ALPHABET), "aaaaa")).containsExactly(302, 302, 'a');
        assertThat(merged(new Merger(merges, ALPHABET), "x")).containsExactly('x');
    }

    @Test
    void a_byte_that_the_vocabulary_lacks_is_left_out_before_neighbours_meet() {
        var merges = new MergeTable(1);
        merges.put('a', 'b', 0, 300);
        int[] lacking = BYTE_IDS.clone();
        lacking['x'] = Alphabet.DROPPED;
        var merger = new Merger(merges, new Alphabet.Bytes(lacking));
        assertThat(merged(merger, "axxb")).containsExactly(300);
        assertThat(merged(merger, "x".repeat(100))).isEmpty();
        assertThat(merged(merger, "x".repeat(100) + "ab")).containsExactly(300);
    }

    @Test
    void a_character_that_the_vocabulary_lacks_is_its_bytes_or_unknown() {
        byte[] text = "aé😀 b".getBytes(StandardCharsets.UTF_8);
        var withBytes = Alphabet.Characters.withBytes(BYTE_IDS);
        var withUnknown = Alphabet.Characters.withUnknown(/* unknownId */ 7, /* fused */ true);
        for (var alphabet : List.of(withBytes, withUnknown)) {
            alphabet.put('a', 1000);
            alphabet.put(' ', 1001);
            alphabet.put(0x1F600, 1002);
        }
        var ids = new TokenIds();
        new Merger(new MergeTable(1), withBytes).merge(text, 0, text.length, ids);
        assertThat(ids.toArray()).containsExactly(1000, 0xC3, 0xA9, 1002, 1001, 'b');
        ids.cutTo(0);
        new Merger(new MergeTable(1), withUnknown).merge(text, 0, text.length, ids);
        assertThat(ids.toArray()).containsExactly(1000, 7, 1002, 1001, 7);
    }

    @Test
    void unknown_neighbours_are_one_where_they_are_fused() {
        var ids = new TokenIds();
        ids.addAll(new int[] {7, 7, 1, 7, 7, 7, 2, 2, 7});
        ids.fuse(/* from */ 1, 7);
        assertThat(ids.toArray()).containsExactly(7, 7, 1, 7, 2, 2, 7);
    }

    /** The definition: look for the least rank of all, merge it where it comes first, begin again. */
    @Test
    void short_and_long_words_are_merged_as_defined() {
        for (int seed = 0; seed < 400; seed++) {
            var random = new Random(seed);
            MergeTable merges = randomMerges(random, 60);
            var merger = new Merger(merges, ALPHABET);
            for (int length : new int[] {1, 2, 7, 63, 64, 65, 66, 200}) {
                String word = letters(random, length);
                assertThat(merged(merger, word)).as("seed " + seed + ": " + word).isEqualTo(defined(merges, word));
            }
        }
    }

    private static int[] defined(MergeTable merges, String word) {
        List<Integer> ids = new ArrayList<>();
        word.chars().forEach(ids::add);
        while (true) {
            long least = MergeTable.NONE;
            int place = 0;
            for (int i = 0; i + 1 < ids.size(); i++) {
                long merge = merges.find(ids.get(i), ids.get(i + 1));
                if (merge < least) {
                    least = merge;
                    place = i;
                }
            }
            if (least == MergeTable.NONE) {
                return ids.stream().mapToInt(Integer::intValue).toArray();
            }
            ids.set(place, MergeTable.id(least));
            ids.remove(place + 1);
        }
    }

    private static MergeTable randomMerges(Random random, int count) {
        var merges = new MergeTable(count);
        List<Integer> ids = new ArrayList<>(IntStream.rangeClosed('a', 'd').boxed().toList());
        for (int rank = 0; rank < count; rank++) {
            int id = 300 + rank;
            int left = ids.get(random.nextInt(ids.size()));
            int right = ids.get(random.nextInt(ids.size()));
            if (merges.find(left, right) == MergeTable.NONE) {
                merges.put(left, right, rank, id);
                ids.add(id);
            }
        }
        return merges;
    }

    private static String letters(Random random, int length) {
        return random.ints(length, 'a', 'e').collect(
                StringBuilder::new, StringBuilder::appendCodePoint, StringBuilder::append).toString();
    }

    /** Each pair is looked at when it comes up and when it is merged: three times a byte at most. */
    @Test
    void a_word_of_a_megabyte_takes_twice_the_steps_of_half_of_it() {
        MergeTable merges = randomMerges(new Random(3), 60);
        String word = letters(new Random(4), 1 << 20);
        long half = steps(merges, word.substring(0, word.length() / 2));
        long whole = steps(merges, word);
        assertThat(half).isBetween(1L << 17, 3L << 19);
        assertThat(whole).isLessThan(2 * half + half / 50);
    }

    private static long steps(MergeTable merges, String word) {
        var merger = new Merger(merges, ALPHABET);
        merged(merger, word);
        return merger.steps();
    }
}
