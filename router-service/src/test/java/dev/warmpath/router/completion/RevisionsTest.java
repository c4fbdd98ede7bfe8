package dev.warmpath.router.completion;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.protocol.generate.FailureReason;
import dev.warmpath.protocol.generate.FinishReason;
import dev.warmpath.router.FakeWorker;
import dev.warmpath.router.RunningRouter;
import java.net.http.HttpResponse;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** Two revisions of one model, a worker each. */
class RevisionsTest extends RunningRouter {

    private static final String OTHER_WEIGHTS = "b".repeat(64);

    @Test
    void new_chats_are_shared_and_each_stays_where_it_began() {
        join("old").doing(FakeWorker.finishing(FinishReason.LENGTH, 0, 12));
        join("new", OTHER_WEIGHTS).doing(FakeWorker.finishing(FinishReason.LENGTH, 0, 12));

        Set<String> workers = new HashSet<>();
        for (int chat = 0; chat < 40; chat++) {
            String worker = answeredBy(prompt(chat));
            assertThat(answeredBy(prompt(chat))).isEqualTo(worker);
            workers.add(worker);
        }
        assertThat(workers).containsExactlyInAnyOrder("old", "new");
    }

    @Test
    void a_broken_newcomer_fails_nobody_while_another_revision_is_well() {
        join("old").doing(FakeWorker.finishing(FinishReason.LENGTH, 0, 12));
        FakeWorker broken = join("new", OTHER_WEIGHTS)
                .doing(FakeWorker.refusing(500, FailureReason.ENGINE_FAILURE, "broken"));

        for (int chat = 0; chat < 40; chat++) {
            assertThat(answeredBy(prompt(chat))).isEqualTo("old");
        }
        assertThat(broken.requests()).as("it had its share of them at first").isNotEmpty();
    }

    /** Its two workers have half of the fleet's places; who else could do what both failed is of the other revision. */
    @Test
    void a_revision_that_is_broken_as_a_whole_is_left_out() {
        FakeWorker.Script refusing = FakeWorker.refusing(500, FailureReason.ENGINE_FAILURE, "broken");
        List<FakeWorker> broken = List.of(join("new1", OTHER_WEIGHTS).doing(refusing),
                join("new2", OTHER_WEIGHTS).doing(refusing));
        for (String old : List.of("old1", "old2")) {
            join(old).doing(FakeWorker.finishing(FinishReason.LENGTH, 0, 12));
        }
        int chat = 0;
        // workers are held against each other four times a second: how many chats that takes, depends on the machine
        while (broken.stream().anyMatch(each -> registered(each).health().problem() == null)) {
            assertThat(answeredBy(prompt(chat++))).startsWith("old");
            assertThat(chat).isLessThan(10_000);
        }
        broken.forEach(each -> each.requests().clear());

        for (int i = 0; i < 200; i++) {
            assertThat(answeredBy(prompt(chat++))).startsWith("old");
        }
        assertThat(broken.stream().mapToInt(each -> each.requests().size()).sum()).isLessThanOrEqualTo(4);
    }

    @Test
    void a_revision_whose_only_worker_cannot_be_reached_fails_nobody() {
        join("old").doing(FakeWorker.finishing(FinishReason.LENGTH, 0, 12));
        join("new", OTHER_WEIGHTS).close();                        // its lease runs on, its address refuses

        for (int chat = 0; chat < 40; chat++) {
            assertThat(answeredBy(prompt(chat))).isEqualTo("old");
        }
    }

    @Test
    void a_request_whose_revision_loses_its_last_worker_meanwhile_is_tokenized_for_another_one() {
        join("old").doing(FakeWorker.finishing(FinishReason.LENGTH, 0, 12));
        FakeWorker leaving = join("new", OTHER_WEIGHTS);
        leaving.doing((request, response) -> {
            loseLease(leaving);                                    // when the request is there, tokenized and routed
            return FakeWorker.refusing(503, FailureReason.SHUTTING_DOWN, "too late").answer(request, response);
        });

        for (int chat = 0; chat < 40; chat++) {
            assertThat(answeredBy(prompt(chat))).isEqualTo("old");
        }
        assertThat(leaving.requests()).as("its revision has had no worker since").hasSize(1);
    }

    private String answeredBy(String body) {
        HttpResponse<String> answer = post("/v1/completions", body);
        assertThat(answer.statusCode()).as(answer.body()).isEqualTo(200);
        return answer.headers().firstValue("x-warmpath-worker").orElse("");
    }

    private static String prompt(int number) {
        return "{'model':'tiny','prompt':[" + (20 + number) + "],'max_tokens':1}";
    }
}
