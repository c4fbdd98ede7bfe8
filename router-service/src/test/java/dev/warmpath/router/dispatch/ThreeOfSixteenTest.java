package dev.warmpath.router.dispatch;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.protocol.generate.FinishReason;
import dev.warmpath.router.FakeWorker;
import dev.warmpath.router.RunningRouter;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.springframework.test.context.TestPropertySource;

/**
 * Sixteen workers that take 20 ms for a first token, three of them broken, each in its own way; 32 clients, each with
 * one request at a time. The retry budget is the ordinary one.
 */
@Tag("full")
@TestPropertySource(properties = {
    "warmpath.admission.max-in-flight=128",
    "warmpath.dispatch.least-retries=30",
})
class ThreeOfSixteenTest extends RunningRouter {

    private static final int CLIENTS = 32;
    private final AtomicInteger failed = new AtomicInteger();

    @Test
    void three_broken_workers_of_sixteen_fail_nothing_that_had_no_first_byte_and_get_one_request_in_a_hundred() {
        FakeWorker refusing = join("refusing").doing(FakeWorker.answering(500, ""));
        FakeWorker rambling = join("rambling").doing(FakeWorker.answering(200, "<html>\n"));
        FakeWorker cutting = join("cutting").doing(FakeWorker.dyingAfter(ids("abc")));
        for (int i = 0; i < 13; i++) {
            join("well" + i).doing(FakeWorker.after(Duration.ofMillis(20),
                    FakeWorker.finishing(FinishReason.LENGTH, 0, ids("fine"))));
        }
        List<FakeWorker> broken = List.of(refusing, rambling, cutting);

        ask(1_000);
        int first = drain(broken);
        assertThat(first).isLessThan(1_000 / 5);

        ask(3_000);
        int later = drain(broken);
        assertThat(failed).as("whole answers, of which no byte was sent before they were cut").hasValue(0);
        assertThat(later).isLessThanOrEqualTo(3_000 / 100 + 3);
    }

    private static int drain(List<FakeWorker> workers) {
        int requests = workers.stream().mapToInt(each -> each.requests().size()).sum();
        workers.forEach(each -> each.requests().clear());
        return requests;
    }

    private void ask(int requests) {
        var left = new AtomicInteger(requests);
        List<Thread> clients = IntStream.range(0, CLIENTS).mapToObj(_ -> Thread.ofVirtual().start(() -> {
            while (left.getAndDecrement() > 0) {
                List<Integer> prompt = ThreadLocalRandom.current().ints(12, 10, 400).boxed().toList();
                int status = post("/v1/completions", "{'model':'tiny','prompt':" + prompt + "}").statusCode();
                failed.addAndGet(status == 200 ? 0 : 1);
            }
        })).toList();
        for (Thread client : clients) {
            try {
                client.join();
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        }
    }
}
