package dev.warmpath.router.routing;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.protocol.block.ExtraKeys;
import java.util.Arrays;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Blocks of 16 tokens. */
class RecentChainsTest extends TwoWorkers {

    private final RecentChains chains = new RecentChains(1 << 20);
    private final SplittableRandom random = new SplittableRandom(3);

    @Test
    void a_turn_that_goes_on_has_the_chain_that_hashing_it_gives() {
        int[] tokens = random.ints(5_000, 0, 40_000).toArray();
        for (int length : new int[] {1_000, 1_001, 1_024, 4_000, 5_000, 5_000}) {
            assertSame(Arrays.copyOf(tokens, length), /* conversation */ 1);
        }
        assertThat(chains.hashedBlocks()).as("each block once").isEqualTo(5_000 / 16);
        assertThat(chains.continuedBlocks()).isEqualTo(62 + 62 + 64 + 250 + 312);
    }

    @Test
    void where_no_memory_is_given_each_turn_is_hashed_whole() {
        var none = new RecentChains(0);
        int[] tokens = random.ints(1_600, 0, 40_000).toArray();
        none.prompt(model, tokens, /* conversation */ 1, ExtraKeys.NONE);
        none.prompt(model, tokens, /* conversation */ 1, ExtraKeys.NONE);

        assertThat(none.hashedBlocks()).isEqualTo(200);
        assertThat(none.bytes()).isZero();
    }

    @Test
    void one_that_parts_anywhere_has_its_own() {
        int[] tokens = random.ints(2_000, 0, 40_000).toArray();
        assertSame(tokens, /* conversation */ 1);
        for (int at = 0; at < tokens.length; at += 37) {
            int[] other = tokens.clone();
            other[at]++;
            assertSame(other, /* conversation */ 1);
            assertSame(Arrays.copyOf(tokens, Math.max(1, at)), /* conversation */ 1);
        }
    }

    /** A hundred thousand tokens each: 64 of them are more than is kept. */
    @Test
    void what_was_forgotten_is_hashed_anew() {
        for (int i = 0; i < 64; i++) {
            assertSame(IntStream.range(i, i + 100_000).toArray(), /* conversation */ i);
        }
        assertSame(IntStream.range(0, 100_100).toArray(), /* conversation */ 0);
    }

    @Test
    void one_with_another_salt_has_its_own() {
        int[] tokens = random.ints(1_600, 0, 40_000).toArray();
        assertSame(tokens, /* conversation */ 1);
        for (String salt : new String[] {"s:a", "s:b", "s:a"}) {
            var extraKeys = ExtraKeys.ofSalt(salt);

            TokenizedPrompt salted = chains.prompt(model, tokens, /* conversation */ 1, extraKeys);

            assertThat(salted.hash()).isEqualTo(TokenizedPrompt.of(model, tokens, 1, extraKeys).hash())
                    .isNotEqualTo(TokenizedPrompt.of(model, tokens).hash());
        }
        assertThat(chains.continuedBlocks()).as("the second a's").isEqualTo(100);
    }

    private void assertSame(int[] tokens, long conversation) {
        TokenizedPrompt prompt = chains.prompt(model, tokens, conversation, ExtraKeys.NONE);
        TokenizedPrompt alone = TokenizedPrompt.of(model, tokens);

        assertThat(prompt.chain().blockCount()).isEqualTo(tokens.length / 16);
        assertThat(prompt.hash()).isEqualTo(alone.hash());
        for (int i = 0; i < alone.chain().blockCount(); i++) {
            if (prompt.chain().key(i) != alone.chain().key(i)) {
                throw new AssertionError("block " + i + " of " + tokens.length + " tokens has another key");
            }
        }
    }
}
