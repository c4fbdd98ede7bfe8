package dev.warmpath.worker.foreign.event;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.protocol.block.BlockHashChain;
import dev.warmpath.protocol.block.ExtraKeys;
import dev.warmpath.protocol.block.HashSettings;
import dev.warmpath.protocol.event.BlockChange;
import dev.warmpath.protocol.event.KeySet;
import dev.warmpath.protocol.generate.GenerateRequest;
import dev.warmpath.protocol.generate.SamplingParameters;
import dev.warmpath.protocol.generate.StopConditions;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Blocks of 16 tokens, of which the engine is taken to hold 10. */
class AssumedBlocksTest {

    private static final HashSettings SETTINGS = HashSettings.ofBlockSize(16);

    private final KeySet announced = new KeySet();
    private final AssumedBlocks blocks = new AssumedBlocks(SETTINGS, 10, changes -> changes.forEach(this::apply));

    private void apply(BlockChange change) {
        int before = announced.size();
        announced.apply(change);
        int keys = switch (change) {
            case BlockChange.Stored(var _, long[] stored) -> stored.length;
            case BlockChange.Removed(var _, long[] removed) -> -removed.length;
            case BlockChange.Cleared() -> -before;
        };
        assertThat(announced.size()).as("each key is announced once, and withdrawn once").isEqualTo(before + keys);
    }

    private int send(GenerateRequest request) {
        int expected = blocks.expectedTokens(request);
        blocks.sent(request);
        return expected;
    }

    @Test
    void a_prompt_is_found_again_but_for_its_last_token() {
        assertThat(send(prompt(0, 70))).isZero();
        assertThat(announced.size()).isEqualTo(4);
        assertThat(send(prompt(0, 70))).isEqualTo(64);
        assertThat(send(prompt(0, 64))).as("one token is always computed").isEqualTo(48);
        assertThat(send(prompt(0, 100))).isEqualTo(64);
        assertThat(announced.size()).isEqualTo(6);
    }

    @Test
    void what_was_sent_least_lately_goes_first_from_the_end_of_its_chain() {
        blocks.sent(prompt(0, 6 * 16));
        blocks.sent(prompt(1, 4 * 16));
        blocks.sent(prompt(2, 2 * 16));

        assertThat(announced.size()).isEqualTo(10);
        assertThat(send(prompt(0, 6 * 16 + 1))).as("two blocks of six were given up").isEqualTo(4 * 16);
    }

    @Test
    void a_prompt_longer_than_all_that_is_held_is_held_as_far_as_that() {
        blocks.sent(prompt(0, 20 * 16));
        assertThat(announced.size()).isEqualTo(10);
        assertThat(send(prompt(0, 20 * 16))).isEqualTo(160);
    }

    @Test
    void an_engine_that_has_begun_anew_holds_nothing() {
        blocks.sent(prompt(0, 70));
        blocks.clear();
        assertThat(announced.size()).isZero();
        assertThat(send(prompt(0, 70))).isZero();
        assertThat(announced.size()).isEqualTo(4);
    }

    /** Chains of up to 12 blocks with beginnings in common, 2,000 of them. */
    @Test
    void what_is_announced_is_closed_under_parents() {
        var random = new Random(1);
        for (int i = 0; i < 2_000; i++) {
            int[] tokens = new int[random.nextInt(12 * 16)];
            for (int block = 0; block < tokens.length; block += 16) {
                tokens[block] = random.nextInt(2);
            }
            blocks.sent(request(tokens.length == 0 ? new int[1] : tokens));

            BlockHashChain chain = BlockHashChain.of(SETTINGS, ExtraKeys.ofSalt(null), tokens);
            int held = (int) IntStream.range(0, chain.blockCount())
                    .filter(block -> announced.contains(chain.key(block))).count();
            assertThat(IntStream.range(0, held).allMatch(b -> announced.contains(chain.key(b)))).isTrue();
            assertThat(announced.size()).isLessThanOrEqualTo(10);
        }
    }

    private static GenerateRequest prompt(int which, int length) {
        return request(IntStream.range(0, length).map(i -> which * 1_000 + i).toArray());
    }

    private static GenerateRequest request(int[] tokens) {
        return GenerateRequest.of("r", tokens, SamplingParameters.GREEDY, StopConditions.maxTokens(1));
    }
}
