package dev.warmpath.worker.scheduler;

import static dev.warmpath.worker.scheduler.Requests.prompt;
import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.protocol.block.ExtraKeys;
import dev.warmpath.protocol.block.HashSettings;
import dev.warmpath.protocol.fleet.RouterId;
import dev.warmpath.protocol.fleet.RouterLoad;
import dev.warmpath.protocol.generate.SamplingParameters;
import dev.warmpath.protocol.generate.StopConditions;
import dev.warmpath.worker.kvcache.TokenSequence;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Two are computed at a time, 12 tokens a step; blocks have 4 tokens, answers 3. */
class RouterTalliesTest {

    private static final RouterId A = new RouterId("a");
    private static final RouterId B = new RouterId("b");
    private final SchedulerWorld world = new SchedulerWorld(SchedulerSettings.of(12, 2, 200), 40, 4, 64);

    @Test
    void each_router_is_told_its_part_of_what_runs_and_waits() {
        world.submitAll(of(A, 0, 8), of(B, 1000, 10), of(A, 2000, 5), of(null, 3000, 6));
        assertThat(world.scheduler.load()).isEqualTo(new AliveLoad(4, 8 + 10 + 5 + 6,
                List.of(new RouterLoad(A, 2, 2, 8 + 5), new RouterLoad(B, 1, 1, 10))));

        world.step();                                              // all 8 of the first, 4 of the second
        assertThat(world.scheduler.load()).isEqualTo(new AliveLoad(3, 6 + 5 + 6,
                List.of(new RouterLoad(A, 2, 1, 5), new RouterLoad(B, 1, 1, 6))));
    }

    @Test
    void a_router_without_requests_is_not_told_and_comes_back_with_the_next() {
        Sequence only = of(A, 0, 8);
        world.submitAll(only, of(B, 1000, 4));
        world.scheduler.cancel(only);
        assertThat(world.scheduler.load().routers()).containsExactly(new RouterLoad(B, 1, 1, 4));

        world.submitAll(of(A, 2000, 3));
        assertThat(world.scheduler.load().routers())
                .containsExactly(new RouterLoad(B, 1, 1, 4), new RouterLoad(A, 1, 1, 3));
        world.runToEnd();
        assertThat(world.scheduler.load()).isEqualTo(new AliveLoad(0, 0, List.of()));
    }

    @Test
    void of_more_routers_than_64_the_others_are_part_of_the_whole_only() {
        for (int i = 0; i < 70; i++) {
            world.submitAll(of(new RouterId("r" + i), 100 * i, 2));
        }
        AliveLoad load = world.scheduler.load();
        assertThat(load.pendingPromptTokens()).isEqualTo(140);
        assertThat(load.routers()).hasSize(64).endsWith(new RouterLoad(new RouterId("r63"), 1, 1, 2));
    }

    @Test
    void while_nothing_changes_the_same_object_is_told() {
        world.submitAll(of(A, 0, 8), of(B, 1000, 3));
        world.step();
        AliveLoad decoding = world.scheduler.load();
        assertThat(decoding.pendingPromptTokens()).isZero();
        world.step();
        assertThat(world.scheduler.load()).isSameAs(decoding);
    }

    private static Sequence of(@Nullable RouterId router, int firstToken, int count) {
        var tokens = new TokenSequence(HashSettings.ofBlockSize(4), ExtraKeys.NONE, prompt(firstToken, count));
        return new Sequence("r", tokens, SamplingParameters.GREEDY, StopConditions.pastTheEnd(3), new int[0],
                Logprobs.NONE, 0, Sequence.NO_DEADLINE, router);
    }
}
