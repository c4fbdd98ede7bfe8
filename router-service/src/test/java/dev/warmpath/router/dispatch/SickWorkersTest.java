package dev.warmpath.router.dispatch;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.protocol.generate.FailureReason;
import dev.warmpath.protocol.generate.FinishReason;
import dev.warmpath.router.FakeWorker;
import dev.warmpath.router.FakeWorker.Script;
import dev.warmpath.router.RunningRouter;
import java.net.http.HttpHeaders;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import tools.jackson.databind.JsonNode;

/** Workers that breathe and are broken, among others that are well; two clients, each with one request at a time. */
class SickWorkersTest extends RunningRouter {

    private static final int CLIENTS = 2;

    static Stream<Arguments> faults() {
        return Stream.of(
                Arguments.of("answers 500", FakeWorker.answering(500, "")),
                Arguments.of("talks garbage", FakeWorker.answering(200, "<html>\n")),
                Arguments.of("fails", FakeWorker.failingAfter(FailureReason.ENGINE_FAILURE, "device lost")),
                Arguments.of("ends early", FakeWorker.endingEarlyAfter()),
                Arguments.of("is always full", FakeWorker.refusing(503, FailureReason.QUEUE_FULL, "full")));
    }

    /** One of four: a quarter of the requests is its fair share, and more is what an idle one attracts. */
    @ParameterizedTest(name = "{0}")
    @MethodSource("faults")
    void a_worker_that_fails_before_its_first_token_is_seldom_asked_and_never_noticed(String what, Script fault) {
        List<FakeWorker> well = wellWorkers(3);
        FakeWorker sick = join("sick").doing(fault);

        assertThat(failuresOf(ask(150))).isZero();
        assertThat(sick.requests()).hasSizeBetween(1, 9);
        assertThat(well).allMatch(each -> registered(each).health().failureShare(System.nanoTime()) == 0);
    }

    @Test
    void a_worker_that_cuts_its_answers_gets_few_and_is_not_noticed_in_whole_ones() {
        wellWorkers(3);
        FakeWorker sick = join("sick").doing(FakeWorker.dyingAfter(ids("abc")));

        assertThat(failuresOf(ask(150))).isZero();
        assertThat(sick.requests()).hasSizeBetween(1, 9);
    }

    @Test
    void an_ejected_worker_is_visible_as_such_and_gets_one_request_in_a_hundred() {
        wellWorkers(3);
        assertThat(failuresOf(ask(60))).isZero();                  // they are the measure, once they were compared
        FakeWorker sick = join("sick").doing(FakeWorker.answering(500, ""));
        eventually(() -> {
            registered(sick).health().failed("worker_lost", System.nanoTime(), System.nanoTime());
            return registered(sick).health().problem() != null;
        });

        // its first pause ends after a second, which may pass between two lines of a test: then it is on trial
        JsonNode workers = json(management("/actuator/workers")).path("workers");
        assertThat(String.join(" ", workers.findValuesAsString("health")))
                .matches("healthy healthy healthy (ejected|on_trial)");
        assertThat(workers.path(3).path("healthProblem").asString())
                .isEqualTo("failed most of its last requests: worker_lost");
        assertThat(String.join(" ", json(post("/v1/route", body())).path("candidates").findValuesAsString("health")))
                .matches("healthy healthy healthy (ejected|on_trial)");
        assertThat(management("/actuator/prometheus").body()).contains("warmpath_workers{health=\"healthy\"} 3.0")
                .containsPattern("warmpath_workers\\{health=\"(ejected|on_trial)\"} 1\\.0");
        assertThat(failuresOf(ask(150))).isZero();
        assertThat(sick.requests()).hasSizeLessThanOrEqualTo(2);
    }

    /** A prompt that no engine survives, 60 of 100 requests. */
    @Test
    void a_poisoned_prompt_ejects_nobody_and_others_are_served() {
        List<FakeWorker> workers = IntStream.range(0, 4).mapToObj(i -> join("w" + i).doing((request, response) ->
                (request.promptTokens()[0] == 66 ? FakeWorker.failingAfter(FailureReason.ENGINE_FAILURE, "boom")
                        : FakeWorker.finishing(FinishReason.LENGTH, 0, ids("ok"))).answer(request, response))).toList();
        for (int i = 0; i < 50; i++) {
            boolean poisoned = i % 5 < 3;
            int status = post("/v1/completions", "{'model':'tiny','prompt':[" + (poisoned ? 66 : 10) + "," + i + "]}")
                    .statusCode();
            assertThat(status).isEqualTo(poisoned ? 502 : 200);
        }
        assertThat(workers).allMatch(each -> registered(each).health().problem() == null);
    }

    /** The prompt's three blocks are announced by one worker only, which finds none of them. */
    @Test
    void a_worker_that_lies_about_its_cache_is_believed_seven_times() {
        int[] prompt = {10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22};
        FakeWorker liar = join("liar").doing(FakeWorker.finishing(FinishReason.LENGTH, 0, ids("fine")));
        announce(liar, prompt, 3);
        join("other").doing(FakeWorker.finishing(FinishReason.LENGTH, 0, ids("fine")));
        for (int i = 0; i < 60; i++) {
            HttpHeaders answer = post("/v1/completions", "{'model':'tiny','prompt':" + list(prompt) + "}").headers();
            boolean toLiar = answer.firstValue("x-warmpath-worker").equals(Optional.of("liar"));
            boolean byPromise = !answer.firstValue("x-warmpath-cached-tokens").equals(Optional.of("0"));
            assertThat(toLiar && byPromise).as("request %d is sent to the liar for what it promises", i)
                    .isEqualTo(i < 7);
        }
        // on a slow machine, where the other one's part of the prompt is forgotten meanwhile, they take turns
        assertThat(liar.requests()).hasSizeBetween(7, 7 + 53 / 2 + 1);
        assertThat(registered(liar).health().credit()).isZero();
        JsonNode candidates = json(post("/v1/route", "{'model':'tiny','prompt':" + list(prompt) + "}"))
                .path("candidates");
        assertThat(candidates.path(0).path("promised_blocks").asInt()).isEqualTo(3);
    }

    private static List<Integer> list(int[] ids) {
        return Arrays.stream(ids).boxed().toList();
    }

    @Test
    void an_invalid_request_says_nothing_about_the_worker() {
        FakeWorker worker = join("w").doing(FakeWorker.refusing(400, FailureReason.INVALID_REQUEST, "no"));
        join("other");
        for (int i = 0; i < 50; i++) {
            post("/v1/completions", body());
        }
        assertThat(registered(worker).health().failureShare(System.nanoTime())).isZero();
    }

    private List<FakeWorker> wellWorkers(int count) {
        return IntStream.range(0, count).mapToObj(i -> join("well" + i)
                .doing(FakeWorker.finishing(FinishReason.LENGTH, 0, ids("fine")))).toList();
    }

    /** Sends so many requests over all clients; their statuses. */
    private List<Integer> ask(int requests) {
        var left = new AtomicInteger(requests);
        var statuses = Collections.synchronizedList(new ArrayList<Integer>());
        List<Thread> clients = IntStream.range(0, CLIENTS).mapToObj(_ -> Thread.ofVirtual().start(() -> {
            while (left.getAndDecrement() > 0) {
                statuses.add(post("/v1/completions", body()).statusCode());
            }
        })).toList();
        for (Thread client : clients) {
            try {
                client.join();
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        }
        assertThat(statuses).hasSize(requests);
        return statuses;
    }

    private static int failuresOf(List<Integer> statuses) {
        return (int) statuses.stream().filter(status -> status != 200).count();
    }

    /** A prompt of twelve tokens that nobody holds. */
    private static String body() {
        var random = ThreadLocalRandom.current();
        return "{'model':'tiny','prompt':" + random.ints(12, 10, 400).boxed().toList() + "}";
    }
}
