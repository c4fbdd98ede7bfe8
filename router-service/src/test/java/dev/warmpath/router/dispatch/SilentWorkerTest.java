package dev.warmpath.router.dispatch;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.protocol.generate.FinishReason;
import dev.warmpath.router.FakeWorker;
import dev.warmpath.router.RunningRouter;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.springframework.test.context.TestPropertySource;

/**
 * Workers that accept and never answer. The longest deadline is an hour and a client waits ten minutes: whoever is
 * answered here was not held up by it.
 */
@TestPropertySource(properties = "warmpath.dispatch.least-first-token-timeout=500ms")
class SilentWorkerTest extends RunningRouter {

    private static final FakeWorker.Script ANSWER = FakeWorker.finishing(FinishReason.LENGTH, 0, ids("fine"));
    private static final int[] PROMPT = {10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22};

    @Test
    void a_silent_worker_s_request_is_answered_by_another_one() {
        FakeWorker silent = join("silent").doing(FakeWorker.hangingAfter());
        announce(silent, PROMPT, 3);
        for (int i = 0; i < 8; i++) {
            registered(silent).health().firstToken(0, 1_000_000);
        }
        FakeWorker other = join("other").doing(ANSWER);

        assertThat(post("/v1/completions", "{'model':'tiny','prompt':" + list(PROMPT) + "}").statusCode())
                .isEqualTo(200);
        assertThat(silent.requests()).hasSize(1);
        assertThat(other.requests()).hasSize(1);
        assertThat(registered(silent).health().failureShare(System.nanoTime())).isPositive();
    }

    /** Its fair share would be 25. */
    @Test
    void one_of_four_that_falls_silent_gets_nine_of_a_hundred_requests_and_none_fails() {
        List<FakeWorker> workers = IntStream.range(0, 4).mapToObj(i -> join("w" + i).doing(ANSWER)).toList();
        while (workers.stream().anyMatch(each -> registered(each).health().expectedFirstTokenNanos(0) < 0)) {
            assertThat(ask()).isEqualTo(200);
        }
        FakeWorker silent = workers.get(1);
        int before = silent.requests().size();
        silent.doing(FakeWorker.hangingAfter());

        assertThat(IntStream.range(0, 100).map(_ -> ask())).containsOnly(200);
        assertThat(silent.requests().size() - before).isBetween(1, 9);
    }

    /** Nothing is known of it, but how long the other revision takes. Its fair share would be 100 of 400. */
    @Test
    void a_new_revision_whose_only_worker_never_says_a_word_costs_a_wait_and_no_answer() {
        List<FakeWorker> workers = IntStream.range(0, 3).mapToObj(i -> join("w" + i).doing(ANSWER)).toList();
        FakeWorker silent = join("newer", "f".repeat(64)).doing(FakeWorker.hangingAfter());
        while (workers.stream().anyMatch(each -> registered(each).health().expectedFirstTokenNanos(0) < 0)) {
            workers.forEach(each -> registered(each).health().firstToken(0, 1_000_000));
        }
        eventually(() -> registered(silent).health().expectedFirstTokenNanos(0) >= 0);

        assertThat(IntStream.range(0, 400).map(_ -> ask())).containsOnly(200);
        assertThat(silent.requests()).hasSizeBetween(1, 15);
    }

    /** A prompt of twelve tokens that nobody holds. */
    private int ask() {
        int[] prompt = ThreadLocalRandom.current().ints(12, 10, 400).toArray();
        return post("/v1/completions", "{'model':'tiny','prompt':" + list(prompt) + "}").statusCode();
    }

    private static List<Integer> list(int[] ids) {
        return IntStream.of(ids).boxed().toList();
    }
}
