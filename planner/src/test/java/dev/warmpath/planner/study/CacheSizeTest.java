package dev.warmpath.planner.study;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import dev.warmpath.planner.load.Survey;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class CacheSizeTest {

    /** 1,000 different blocks of 16 tokens. */
    private static final Survey SURVEY = new Survey(10, 16_000, 1_000, 1_000, 100, 16,
            new Survey.Uses(new int[0], new int[0], new int[0], 1_000));

    @Test
    void ten_percent_of_a_thousand_blocks_are_25_at_each_of_four_workers() {
        assertThat(CacheSize.of("10%").blocks(SURVEY, 4)).isEqualTo(25);
        assertThat(CacheSize.of("10%").text()).isEqualTo("10%");
        assertThat(CacheSize.of("0.01%").blocks(SURVEY, 4)).as("never none").isEqualTo(1);
    }

    @Test
    void tokens_are_of_each_worker_however_many_there_are() {
        assertThat(CacheSize.of("400k").blocks(SURVEY, 1)).isEqualTo(25_000);
        assertThat(CacheSize.of("1.5M").blocks(SURVEY, 8)).isEqualTo(93_750);
        assertThat(CacheSize.of("65536")).isEqualTo(new CacheSize.Tokens(65_536));
        assertThat(CacheSize.of("1.5M").text()).isEqualTo("1500k");
    }

    @Test
    void a_pool_that_reuses_nothing_holds_at_least_the_longest_request() {
        assertThat(CacheSize.of("off").reuses()).isFalse();
        assertThat(CacheSize.of("off").blocks(SURVEY, 4)).isEqualTo(25_000);
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "x", "-1", "0", "0%", "10 GB", "1e9", "2000%", "1k%", "NaN", "99999999999999"})
    void what_is_no_size_is_refused_in_a_sentence(String text) {
        assertThatIllegalArgumentException().isThrownBy(() -> CacheSize.of(text))
                .withMessageContaining("such as 400k").withMessageEndingWith("not '" + text + "'");
    }
}
