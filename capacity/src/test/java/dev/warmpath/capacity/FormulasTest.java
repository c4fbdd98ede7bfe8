package dev.warmpath.capacity;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.within;

import dev.warmpath.capacity.LowHitRate.Facts;
import org.junit.jupiter.api.Test;

class FormulasTest {

    /** Of a model with 32 layers, 8 key-value heads of 128 numbers, in bfloat16. */
    private static final BlockShape LLAMA = new BlockShape(16, 32, 8, 128, 2);

    @Test
    void a_block_of_16_tokens_takes_2_097_152_bytes_and_56_gigabytes_are_26_702_blocks() {
        assertThat(LLAMA.bytesPerBlock()).isEqualTo(2_097_152);
        assertThat(LLAMA.bytesPerToken()).isEqualTo(131_072);
        assertThat(BlockPool.of(56_000_000_000L, LLAMA)).isEqualTo(new BlockPool(26_702, 427_232));
    }

    @Test
    void of_70_billion_parameters_45_gigabytes_are_8_583_blocks_and_what_does_not_fit_is_none() {
        var large = new BlockShape(16, 80, 8, 128, 2);
        assertThat(large.bytesPerBlock()).isEqualTo(5_242_880);
        assertThat(BlockPool.of(45_000_000_000L, large).blocks()).isEqualTo(8_583);
        assertThat(BlockPool.of(BlockPool.availableBytes(80L << 30, 0.9, 141_000_000_000L, 1L << 30), large).blocks())
                .isZero();
        assertThat(BlockPool.availableBytes(100, 0.9, 20, 10)).isEqualTo(60);
    }

    @Test
    void a_pool_of_100_blocks_holds_14_sequences_of_100_tokens() {
        assertThat(new BlockPool(100, 1_600).sequences(100, LLAMA)).as("seven blocks each").isEqualTo(14);
    }

    @Test
    void a_budget_is_the_working_set_and_a_fifth_rounded_up() {
        assertThat(CacheBudget.withHeadroom(100)).isEqualTo(120);
        assertThat(CacheBudget.withHeadroom(1)).isEqualTo(2);
        assertThat(CacheBudget.withHeadroom(0)).isZero();
        assertThat(CacheBudget.blocks(/* prefixes */ 50, /* tokens */ 1_000, 16)).as("63 blocks each").isEqualTo(3_780);
    }

    @Test
    void windows_of_a_thousand_queries_count_alike_and_the_running_one_by_how_full_it_is() {
        var rate = new HitRate();
        assertThat(rate.rate()).isZero();
        rate.add(500, 1_000);
        rate.add(1_000, 1_000);
        assertThat(rate.rate()).isEqualTo(0.75);
        rate.add(0, 500);
        assertThat(rate.rate()).as("1.5 of 2.5 windows").isCloseTo(0.6, within(1e-12));
        assertThat(HitRate.of(3, 4)).isEqualTo(0.75);
        assertThat(HitRate.of(0, 0)).isZero();
        assertThatIllegalArgumentException().isThrownBy(() -> rate.add(2, 1));
    }

    @Test
    void prefixes_used_5_3_and_1_times_save_6_of_9_uses() {
        assertThat(PrefixSharing.reusable(5, 3, 1)).isEqualTo(6);
        assertThat(PrefixSharing.saved(5, 3, 1)).isCloseTo(6 / 9.0, within(1e-12));
        assertThat(PrefixSharing.saved()).isZero();
        assertThat(PrefixSharing.lostTokens(530, 16)).isEqualTo(2);
        assertThat(PrefixSharing.firstTokenSaved(0.9, 0.95)).isCloseTo(0.855, within(1e-12));
    }

    @Test
    void a_pool_works_best_from_85_to_90_percent() {
        assertThat(WorkingPoint.of(0.5, 0, 0)).isEqualTo(WorkingPoint.ROOM);
        assertThat(WorkingPoint.of(0.5, 0, 3)).isEqualTo(WorkingPoint.WAITS_WITH_ROOM);
        assertThat(WorkingPoint.of(0.87, 0, 3)).isEqualTo(WorkingPoint.GOOD);
        assertThat(WorkingPoint.of(0.95, 0, 0)).isEqualTo(WorkingPoint.TIGHT);
        assertThat(WorkingPoint.of(0.5, 1, 0)).isEqualTo(WorkingPoint.PREEMPTS);
    }

    @Test
    void a_load_is_told_by_its_hit_rate() {
        assertThat(KindOfLoad.describe(0.95)).isEqualTo(
                "a chatbot with one system prompt (92 to 97 %), or conversations of several turns (80 to 95 %)");
        assertThat(KindOfLoad.describe(0.5)).isEqualTo("no kind of load that is known by its hit rate");
    }

    @Test
    void each_cause_of_a_low_hit_rate_is_told_with_its_numbers() {
        assertThat(LowHitRate.causes(Facts.of(16).withPrefixCaching(false))).singleElement().asString()
                .startsWith("prefix caching is off: set warmpath.kv.prefix-caching=true");
        assertThat(LowHitRate.causes(Facts.of(16).withRates(0, 0.01))).singleElement().asString()
                .contains("even an endless cache would find 1.0 %");
        assertThat(LowHitRate.causes(Facts.of(16).withPrompts(530, 700))).singleElement().asString()
                .contains("530 tokens").contains("2 of them are computed for every request; lengthen it by 14");
        assertThat(LowHitRate.causes(Facts.of(64).withPrompts(0, 40))).singleElement().asString()
                .contains("half of the prompts have 40 tokens or fewer, and a block has 64");
        assertThat(LowHitRate.causes(Facts.of(16).withCache(1_000, 2_000, 500))).singleElement().asString()
                .contains("it has 1,000 blocks, and what is reused needs 2,400");
        assertThat(LowHitRate.causes(Facts.of(16).withCache(1_000, 500, 1_500))).singleElement().asString()
                .contains("1,500 others are used in between, and the cache has 1,000");
        assertThat(LowHitRate.causes(Facts.of(16).withRates(0.3, 0.8))).singleElement().asString()
                .contains("30.0 % were found, and 80.0 % could be");
    }

    @Test
    void of_a_load_that_finds_what_it_can_nothing_is_said() {
        assertThat(LowHitRate.causes(Facts.of(16).withRates(0.78, 0.8).withPrompts(512, 700).withPrefixCaching(true)
                .withCache(10_000, 2_000, 500))).isEmpty();
        assertThat(LowHitRate.causes(Facts.of(16))).as("nothing is known").isEmpty();
    }
}
