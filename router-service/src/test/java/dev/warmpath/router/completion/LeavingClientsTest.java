package dev.warmpath.router.completion;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.protocol.generate.FinishReason;
import dev.warmpath.router.FakeWorker;
import dev.warmpath.router.FakeWorker.Script;
import dev.warmpath.router.RunningRouter;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.Socket;
import java.net.http.HttpResponse;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.springframework.test.context.TestPropertySource;

/** Clients that leave at any moment, between others that stay, at three healthy workers. */
@TestPropertySource(properties = "warmpath.admission.max-in-flight=1000")
class LeavingClientsTest extends RunningRouter {

    private static final String BODY = "{'model':'tiny','prompt':'Hi','max_tokens':40,'stop':['STOP'],'stream':%s}";
    private static final int AT_ONCE = 32;
    /** A whole exchange takes about that long, so that clients leave at each point of it. */
    private static final int LATEST_LEAVE_MICROS = 4_000;

    @Test
    void of_300_that_leave_none_is_missed_and_none_of_the_others_is_hurt() throws Exception {
        leaveAndStay(300);
    }

    @Test
    @Tag("full")
    void of_10_000_that_leave_none_is_missed_and_none_of_the_others_is_hurt() throws Exception {
        leaveAndStay(10_000);
    }

    private void leaveAndStay(int leavers) throws Exception {
        Script toStop = FakeWorker.drawingUntilAskedToEnd(0, ids("one two STOP"));
        Script toEnd = FakeWorker.finishing(FinishReason.LENGTH, 0, ids("one two "));
        var turn = new AtomicInteger();
        List<FakeWorker> workers = Stream.of("w0", "w1", "w2").map(id -> join(id).doing((request, response) ->
                (turn.incrementAndGet() % 2 == 0 ? toStop : toEnd).answer(request, response))).toList();
        double before = meters("warmpath_dispatch_failures_total");
        var wrong = new AtomicInteger();

        try (ExecutorService clients = Executors.newFixedThreadPool(AT_ONCE)) {
            var random = new SplittableRandom(7);
            for (int i = 0; i < leavers; i++) {
                SplittableRandom own = random.split();
                boolean stream = i % 2 == 0;
                clients.execute(() -> leave(stream, own));
                if (i % 3 == 0) {
                    clients.execute(() -> stay(stream, wrong));
                }
            }
        }

        eventually(() -> inFlight() == 0);
        eventually(() -> workers.stream().allMatch(each -> each.generations() == 0));
        assertThat(wrong).as("answers that were not whole").hasValue(0);
        assertThat(meters("warmpath_dispatch_failures_total") - before).as("failed attempts").isZero();
    }

    private void leave(boolean stream, SplittableRandom random) {
        try (Socket client = rawClient(BODY.formatted(stream))) {
            if (random.nextBoolean()) {
                client.setSoLinger(true, 0);                       // leaves with a reset
            }
            Thread.sleep(0, 1_000 * (random.nextInt(LATEST_LEAVE_MICROS) % 1_000));
            Thread.sleep(random.nextInt(LATEST_LEAVE_MICROS) / 1_000);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    private void stay(boolean stream, AtomicInteger wrong) {
        HttpResponse<String> response = post("/v1/completions", BODY.formatted(stream));
        String text = stream
                ? events(response.body()).stream().filter(event -> !event.equals("[DONE]"))
                        .map(event -> text(JSON.readTree(event))).reduce("", String::concat)
                : text(json(response));
        if (response.statusCode() != 200 || !text.equals("one two ")) {
            wrong.incrementAndGet();
        }
    }

    private double meters(String name) {
        return management("/actuator/prometheus").body().lines().filter(line -> line.startsWith(name))
                .mapToDouble(line -> Double.parseDouble(line.substring(line.lastIndexOf(' ')))).sum();
    }
}
