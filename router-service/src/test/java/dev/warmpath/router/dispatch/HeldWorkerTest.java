package dev.warmpath.router.dispatch;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.protocol.fleet.Heartbeat;
import dev.warmpath.protocol.generate.FinishReason;
import dev.warmpath.router.FakeWorker;
import dev.warmpath.router.FakeWorker.Script;
import dev.warmpath.router.RunningRouter;
import dev.warmpath.router.health.WorkerHealth;
import java.net.http.HttpResponse;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.springframework.test.context.TestPropertySource;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Sinks;

/** Somebody holds a worker, to step it by hand, for longer than a worker may be silent. */
@TestPropertySource(properties = {
    "warmpath.dispatch.first-token-timeout=500ms", "warmpath.dispatch.inter-token-timeout=500ms"})
class HeldWorkerTest extends RunningRouter {

    private static final int A = ids("a")[0];

    private final Sinks.Empty<Void> goOn = Sinks.empty();
    private FakeWorker worker;

    @BeforeEach
    void begin() {
        worker = join("w0");
        joinWithModel("silent", "other").doing(FakeWorker.hangingAfter());
    }

    @Test
    void its_first_token_is_waited_for_and_the_wait_counts_for_nothing() throws Exception {
        worker.doing(after(FakeWorker.finishing(FinishReason.LENGTH, 0, A)));
        hold(true);
        CompletableFuture<HttpResponse<String>> answer = ask();
        letTwoDeadlinesPass();
        assertThat(answer).isNotDone();

        goOn.tryEmitEmpty();

        assertThat(text(json(answer.get()))).isEqualTo("a");
        WorkerHealth health = registered(worker).health();
        assertThat(health.failureShare(System.nanoTime())).isZero();
        assertThat(health.expectedFirstTokenNanos(0)).as("its pace is not known").isNegative();
    }

    @Test
    void its_next_token_is_waited_for() throws Exception {
        worker.doing(FakeWorker.pausingUntil(goOn.asMono(), A, A));
        hold(true);
        CompletableFuture<HttpResponse<String>> answer = ask();
        letTwoDeadlinesPass();
        assertThat(answer).isNotDone();

        goOn.tryEmitEmpty();

        assertThat(text(json(answer.get()))).isEqualTo("aa");
    }

    @Test
    void let_go_it_has_its_deadline_again() throws Exception {
        worker.doing(FakeWorker.hangingAfter());
        hold(true);
        CompletableFuture<HttpResponse<String>> answer = ask();
        letTwoDeadlinesPass();
        assertThat(answer).isNotDone();

        hold(false);

        assertThat(answer.get().statusCode()).isEqualTo(504);
        assertThat(answer.get().body()).contains("the worker 'w0' sent no token for 500 ms");
    }

    private CompletableFuture<HttpResponse<String>> ask() throws InterruptedException {
        var answer = CompletableFuture.supplyAsync(
                () -> post("/v1/completions", "{'model':'tiny','prompt':[10],'max_tokens':2}"));
        worker.requests().take();
        return answer;
    }

    private Script after(Script script) {
        return (request, response) -> goOn.asMono().thenMany(Flux.from(script.answer(request, response)));
    }

    private void hold(boolean held) {
        fleet.heartbeat(new Heartbeat("w0", 7, 0, 0, 100, 0, 0, 0, 0, false, 0, false, 0, null, 0, null, held));
    }

    /** As they do for a worker that nobody holds. */
    private void letTwoDeadlinesPass() {
        for (int i = 0; i < 2; i++) {
            assertThat(post("/v1/completions", "{'model':'other','prompt':[10]}").statusCode()).isEqualTo(504);
        }
    }
}
