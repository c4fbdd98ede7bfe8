package dev.warmpath.router.routing;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.protocol.block.BlockHashChain;
import dev.warmpath.protocol.block.ExtraKeys;
import dev.warmpath.protocol.block.HashSettings;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Blocks of 4 tokens. */
class PromptTrieTest {

    private static final int BLOCK_SIZE = 4;

    private final PromptTrie trie = new PromptTrie();
    private final SharedPrefixes shared = new SharedPrefixes();

    @Test
    void a_prompt_of_ten_thousand_blocks_is_one_node_and_two_that_part_are_three() {
        BlockHashChain one = chain(10_000, 10_000, 0);
        BlockHashChain other = chain(10_000, 7_000, 1);
        PromptTrie.Node first = trie.add(one, 0);
        assertThat(trie.size()).isEqualTo(1);
        PromptTrie.Node second = trie.add(other, 1);
        assertThat(trie.size()).isEqualTo(3);

        walk(chain(10_000, 8_000, 2), 10_000);
        assertThat(shared.running(0)).isEqualTo(8_000);
        assertThat(shared.running(1)).isEqualTo(7_000);
        assertThat(shared.uses()).containsExactly(new PrefixUse(8_000, 1), new PrefixUse(7_000, 2));

        trie.drop(second, 1, true, true);
        assertThat(trie.size()).as("what is left is one stretch again").isEqualTo(1);
        trie.drop(first, 0, true, true);
        assertThat(trie.size()).isZero();
    }

    @Test
    void a_prompt_that_is_the_beginning_of_another_ends_in_its_midst() {
        PromptTrie.Node whole = trie.add(chain(8, 8, 0), 0);
        PromptTrie.Node beginning = trie.add(chain(5, 5, 0), 0);

        assertThat(trie.ownBlocks(whole, 0)).isEqualTo(3);
        assertThat(trie.ownBlocks(beginning, 0)).isZero();
        walk(chain(8, 8, 0), 4);
        assertThat(shared.running(0)).as("no more than asked for").isEqualTo(4);
        assertThat(shared.uses()).containsExactly(new PrefixUse(4, 2));
        trie.drop(whole, 0, true, true);
        assertThat(trie.ownBlocks(beginning, 0)).isEqualTo(5);
        assertThat(trie.size()).isEqualTo(1);
    }

    @Test
    void what_runs_and_what_is_promised_are_counted_apart() {
        PromptTrie.Node end = trie.add(chain(6, 6, 0), 3);
        trie.drop(end, 3, /* running */ false, /* promised */ true);
        walk(chain(6, 6, 0), 6);
        assertThat(shared.running(3)).isEqualTo(6);
        assertThat(shared.promised(3)).isZero();

        PromptTrie.Node promised = trie.add(chain(6, 4, 1), 3);
        trie.drop(promised, 3, /* running */ true, /* promised */ false);
        walk(chain(6, 4, 1), 6);
        assertThat(shared.running(3)).isEqualTo(4);
        assertThat(shared.promised(3)).isEqualTo(6);
    }

    /** 40 workers, prompts of up to 30 blocks that part anywhere; a list of them all says what the trie should. */
    @Test
    void twenty_thousand_random_comings_and_goings_agree_with_a_list_of_all_prompts() {
        record Request(BlockHashChain chain, int slot, PromptTrie.Node end, boolean[] is) {}
        var random = new Random(20);
        List<BlockHashChain> prompts = randomPrompts(random, 60, 30);
        List<Request> requests = new ArrayList<>();
        for (int step = 0; step < 20_000; step++) {
            if (requests.isEmpty() || random.nextInt(100) < (requests.size() < 150 ? 55 : 45)) {
                BlockHashChain chain = prompts.get(random.nextInt(prompts.size()));
                int slot = random.nextInt(random.nextBoolean() ? 40 : 3);
                requests.add(new Request(chain, slot, trie.add(chain, slot), new boolean[] {true, true}));
            } else {
                Request one = requests.get(random.nextInt(requests.size()));
                int which = random.nextInt(2);
                if (one.is[which]) {
                    trie.drop(one.end, one.slot, which == 0, which == 1);
                    one.is[which] = false;
                }
                requests.removeIf(each -> !each.is[0] && !each.is[1]);
            }
            if (step % 10 == 0) {
                BlockHashChain asked = prompts.get(random.nextInt(prompts.size()));
                int limit = random.nextInt(asked.blockCount() + 1);
                walk(asked, limit);
                int[][] expected = new int[2][40];
                Map<Integer, Integer> depths = new TreeMap<>();
                for (Request each : requests) {
                    int common = commonBlocks(each.chain, asked, limit);
                    for (int which = 0; which < 2; which++) {
                        expected[which][each.slot] = Math.max(expected[which][each.slot], each.is[which] ? common : 0);
                    }
                    if (each.is[0] && common > 0) {
                        depths.merge(common, 1, Integer::sum);
                    }
                }
                for (int slot = 0; slot < 40; slot++) {
                    assertThat(shared.running(slot)).as("step " + step).isEqualTo(expected[0][slot]);
                    assertThat(shared.promised(slot)).as("step " + step).isEqualTo(expected[1][slot]);
                }
                assertThat(shared.uses()).as("step " + step).isEqualTo(uses(depths));
                assertThat(trie.size()).isLessThanOrEqualTo(2 * requests.size());
            }
        }
        requests.forEach(each -> trie.drop(each.end, each.slot, each.is[0], each.is[1]));
        assertThat(trie.size()).isZero();
    }

    /** As many blocks as if every other prompt of the worker were compared one by one. */
    @Test
    void blocks_of_its_own_are_those_that_no_other_running_prompt_of_the_worker_has() {
        var random = new Random(4);
        List<BlockHashChain> prompts = randomPrompts(random, 30, 20);
        Map<BlockHashChain, PromptTrie.Node> ends = new HashMap<>();
        prompts.forEach(chain -> ends.put(chain, trie.add(chain, 0)));

        for (BlockHashChain chain : prompts) {
            int most = prompts.stream().filter(other -> other != chain)
                    .mapToInt(other -> commonBlocks(other, chain, chain.blockCount())).max().orElseThrow();
            assertThat(trie.ownBlocks(ends.get(chain), 0)).isEqualTo(chain.blockCount() - most);
        }
    }

    private static List<PrefixUse> uses(Map<Integer, Integer> depths) {
        List<PrefixUse> uses = new ArrayList<>();
        int users = 0;
        for (int blocks : depths.keySet().stream().sorted((one, other) -> other - one).toList()) {
            users += depths.get(blocks);
            if (uses.size() < 16) {
                uses.add(new PrefixUse(blocks, users));
            }
        }
        return uses;
    }

    private void walk(BlockHashChain chain, int limit) {
        shared.clear(40);
        trie.walk(chain, limit, shared);
    }

    private static int commonBlocks(BlockHashChain one, BlockHashChain other, int limit) {
        int common = 0;
        while (common < Math.min(limit, one.blockCount()) && one.key(common) == other.key(common)) {
            common++;
        }
        return common;
    }

    /** Each begins as an earlier one does. */
    private static List<BlockHashChain> randomPrompts(Random random, int count, int mostBlocks) {
        List<int[]> prompts = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            int[] prompt = random.ints((long) BLOCK_SIZE * (1 + random.nextInt(mostBlocks)), 0, 1 << 20).toArray();
            if (i > 0) {
                int[] earlier = prompts.get(random.nextInt(i));
                System.arraycopy(earlier, 0, prompt, 0, random.nextInt(Math.min(earlier.length, prompt.length) + 1));
            }
            prompts.add(prompt);
        }
        return prompts.stream().map(PromptTrieTest::of).toList();
    }

    /** Of so many blocks, the first of them as in all others, then those of that number. */
    private static BlockHashChain chain(int blocks, int common, int number) {
        return of(IntStream.range(0, blocks * BLOCK_SIZE)
                .map(i -> i < common * BLOCK_SIZE ? i : i + 1_000_000 * (number + 1)).toArray());
    }

    private static BlockHashChain of(int[] tokens) {
        return BlockHashChain.of(HashSettings.ofBlockSize(BLOCK_SIZE), ExtraKeys.NONE, tokens);
    }
}
