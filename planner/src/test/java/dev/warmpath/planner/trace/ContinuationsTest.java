package dev.warmpath.planner.trace;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.planner.simulation.Policies;
import dev.warmpath.planner.simulation.Report;
import dev.warmpath.planner.simulation.ServiceModel;
import dev.warmpath.planner.simulation.SimulatedFleet;
import dev.warmpath.router.routing.PolicyName;
import dev.warmpath.workload.PooledCache;
import dev.warmpath.workload.Prompt;
import dev.warmpath.workload.Session;
import dev.warmpath.workload.Turn;
import java.util.List;
import org.junit.jupiter.api.Test;

class ContinuationsTest {

    private static final int BLOCK = 16;

    private final Continuations continuations = new Continuations();

    @Test
    void a_turn_that_goes_on_tells_what_was_answered_to_the_one_before() {
        // 40 tokens, two whole blocks; then 40 more are answered, and the next turn has 100 tokens
        Arrival first = arrival(1, new Prompt(new long[] {1, 2, 77}, BLOCK, 40), 40);
        Arrival second = arrival(2, new Prompt(new long[] {1, 2, 3, 4, 5, 6, 88}, BLOCK, 100), 10);
        continuations.add(first);
        continuations.add(second);

        Turn known = continuations.of(first);
        assertThat(known.continued()).as("of tokens 32 to 78").containsExactly(3, 4, 5);
        assertThat(known.prompt().pieces()).containsExactly(1, 2, 3);
        assertThat(continuations.of(second).continued()).isEmpty();
        // what a worker draws is what the next prompt has
        int[] next = second.turn().prompt().tokens();
        for (int position = 40; position < 80; position++) {
            assertThat(known.answerToken(position)).isEqualTo(next[position]);
        }
        assertThat(PooledCache.keys(known)).hasSize(4).startsWith(PooledCache.promptKeys(second.turn().prompt())[0]);
        assertThat(PooledCache.keys(known)[3]).isEqualTo(PooledCache.promptKeys(second.turn().prompt())[3]);
    }

    @Test
    void of_two_that_ask_behind_one_system_prompt_the_one_is_gone_on_with_whose_answer_fits() {
        Arrival brief = arrival(1, new Prompt(new long[] {1, 9}, BLOCK, 20), 13);
        Arrival verbose = arrival(2, new Prompt(new long[] {1, 8}, BLOCK, 20), 60);
        continuations.add(brief);
        continuations.add(verbose);
        continuations.add(arrival(3, new Prompt(new long[] {1, 2, 3, 4}, BLOCK, 50), 40));

        assertThat(continuations.of(verbose).continued()).as("80 tokens are not in 50").isEmpty();
        assertThat(continuations.of(brief).continued()).as("tokens 16 to 31, and the block of 32")
                .containsExactly(2, 3);
    }

    @Test
    void another_question_behind_the_same_system_prompt_goes_on_with_nobody() {
        Arrival first = arrival(1, new Prompt(new long[] {1, 9}, BLOCK, 20), 40);
        continuations.add(first);
        continuations.add(arrival(2, new Prompt(new long[] {1, 2, 8}, BLOCK, 40), 40));

        assertThat(continuations.of(first).continued()).as("60 tokens are not in 40").isEmpty();
    }

    @Test
    void blocks_of_an_answer_are_found_by_the_next_turn_of_a_simulated_fleet() {
        Arrival first = arrival(1, new Prompt(new long[] {1, 2, 77}, BLOCK, 40), 40);
        Arrival second = arrival(2, new Prompt(new long[] {1, 2, 3, 4, 5, 6, 88}, BLOCK, 100), 10);
        continuations.add(first);
        continuations.add(second);
        var settings = new SimulatedFleet.Settings(1, 1, BLOCK, 1_000, 4_096, 64, 65_536,
                new ServiceModel(1_000, 10, 0, 0, 0), 100, 1);

        Report report = SimulatedFleet.run(settings, Policies.of(PolicyName.EXPECTED_FIRST_TOKEN), List.of(
                Session.of(0, continuations.of(first)), Session.of(1_000_000, continuations.of(second))));

        assertThat(report.hitRate()).as("of 2 and 6 blocks, 4 that were computed for the first").isEqualTo(4 / 8.0);
    }

    private static Arrival arrival(long line, Prompt prompt, int answerTokens) {
        return new Arrival(line * 1_000_000, new Turn(prompt, answerTokens), line);
    }
}
