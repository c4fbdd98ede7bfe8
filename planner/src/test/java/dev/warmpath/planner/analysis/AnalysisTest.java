package dev.warmpath.planner.analysis;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.planner.output.Provenance;
import dev.warmpath.planner.trace.Arrival;
import dev.warmpath.workload.Prompt;
import dev.warmpath.workload.Turn;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

class AnalysisTest {

    private static final int BLOCK = 16;

    private final Analysis analysis = new Analysis();
    private long line;

    @Test
    void of_two_chats_and_a_stranger_nine_blocks_are_three_times_two_that_can_be_used_again() {
        add(0, 1, 2, 3);
        add(10, 1, 2, 4);
        add(20, 7, 8, 9);
        AnalysisView view = result();

        assertThat(view.blocks()).isEqualTo(new AnalysisView.Blocks(9, 7, 2, /* a token is computed */ 6, 2, 2 / 9.0,
                32, 32 / 144.0));
        assertThat(view.sharedNone()).isEqualTo(2 / 3.0);
        assertThat(view.mostShared()).containsExactly(new AnalysisView.Shared(32, 2, 2 / 3.0));
        assertThat(view.workingSet().blocks()).as("3, 2 and 1 were used last").isEqualTo(2);
        assertThat(view.cacheBudget().blocks()).isEqualTo(3);
        assertThat(view.cacheBudget().bytes()).isEqualTo(3 * BLOCK * 1_000);
        assertThat(view.spanSeconds()).isEqualTo(20);
    }

    @Test
    void a_beginning_is_told_once_as_long_as_nearly_all_have_it() {
        for (int i = 0; i < 100; i++) {
            add(i, 1, 2, 3, 100 + i % 10, 1_000 + i);
        }
        List<AnalysisView.Shared> shared = result().mostShared();

        assertThat(shared.getFirst()).isEqualTo(new AnalysisView.Shared(48, 100, 1));
        assertThat(shared.get(1)).isEqualTo(new AnalysisView.Shared(64, 10, 0.1));
        assertThat(shared).hasSize(10);
    }

    @Test
    void prompts_with_nothing_in_common_are_told_so_and_windows_are_of_a_thousand() {
        for (int i = 0; i < 2_500; i++) {
            add(i, 1 + 10 * i, 2 + 10 * i);
        }
        AnalysisView view = result();

        assertThat(view.causes()).singleElement().asString().contains("next to nothing in common");
        assertThat(view.windowHitRates()).containsExactly(0.0, 0.0, 0.0);
        assertThat(view.text()).contains("2,500 requests", "prompts with nothing in common (0 to 2 %)");
    }

    @Test
    void windows_stay_few_however_many_requests_there_are() {
        var random = new SplittableRandom(1);
        for (int i = 0; i < 300_000; i++) {
            add(i, 1 + random.nextInt(50));
        }
        assertThat(result().windowRequests()).isEqualTo(4_000);
        assertThat(result().windowHitRates()).hasSize(75);
    }

    @Test
    void an_empty_or_interrupted_analysis_has_a_result_too() {
        assertThat(analysis.result(Provenance.of(1, List.of()), "none", true, null, null).text())
                .contains("interrupted: this is the file's begin");
    }

    private void add(long seconds, long... pieces) {
        long[] with = new long[pieces.length];
        System.arraycopy(pieces, 0, with, 0, pieces.length);
        analysis.add(new Arrival(seconds * 1_000_000, new Turn(new Prompt(with, BLOCK, with.length * BLOCK), 5),
                ++line));
    }

    private AnalysisView result() {
        return analysis.result(Provenance.of(1, List.of()), "test", false, 1_000L, null);
    }
}
