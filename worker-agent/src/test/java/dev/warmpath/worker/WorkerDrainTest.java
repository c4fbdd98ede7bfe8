package dev.warmpath.worker;

import static dev.warmpath.protocol.generate.StopConditions.pastTheEnd;
import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.protocol.generate.FailureReason;
import dev.warmpath.protocol.generate.FinishReason;
import dev.warmpath.protocol.generate.GenerateEvent;
import dev.warmpath.protocol.generate.GenerateEvent.Failed;
import dev.warmpath.protocol.generate.GenerateEvent.Finished;
import dev.warmpath.protocol.generate.GenerateRequest;
import dev.warmpath.protocol.generate.SamplingParameters;
import dev.warmpath.worker.engine.Engine;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.BooleanSupplier;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.http.MediaType;
import org.springframework.http.client.reactive.ReactorClientHttpConnector;
import org.springframework.web.reactive.function.client.WebClient;
import reactor.netty.http.client.HttpClient;
import reactor.netty.resources.ConnectionProvider;
import reactor.netty.resources.LoopResources;
import tools.jackson.databind.json.JsonMapper;

/** A whole worker that computes one request at a time, and is told to stop while it has several. */
class WorkerDrainTest {

    /** Not the worker's own loops and connections, which end with it. */
    private static final ReactorClientHttpConnector CLIENT = new ReactorClientHttpConnector(
            HttpClient.create(ConnectionProvider.create("test")).runOn(LoopResources.create("test", 1, true)));
    private static final JsonMapper JSON = JsonMapper.builder().build();

    private ConfigurableApplicationContext worker;

    @AfterEach
    void stop() {
        worker.close();
    }

    @Test
    void a_worker_that_is_told_to_stop_finishes_running_and_queued_requests_and_refuses_others() {
        start("--warmpath.drain.timeout=10m");
        List<CompletableFuture<List<GenerateEvent>>> taken = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            taken.add(generate(1_900));
        }
        until(() -> engine().snapshot().load().running() == 1 && engine().snapshot().load().waiting() == 3);

        Thread stopping = Thread.ofPlatform().start(worker::close);
        until(() -> refusal(post(5_000)).contains("\"shutting_down\""));    // before, it is refused as too long
        assertThat(engine().snapshot().load().waiting()).as("refused while others still wait").isPositive();

        for (CompletableFuture<List<GenerateEvent>> each : taken) {
            assertThat(each.join().getLast()).isInstanceOfSatisfying(Finished.class, finished -> {
                assertThat(finished.reason()).isEqualTo(FinishReason.LENGTH);
                assertThat(finished.usage().completionTokens()).isEqualTo(1_900);
            });
        }
        join(stopping);
    }

    @Test
    void what_has_not_ended_within_the_bound_is_ended_with_its_reason() {
        start("--warmpath.drain.timeout=1ms");
        CompletableFuture<List<GenerateEvent>> running = generate(1_900);
        CompletableFuture<List<GenerateEvent>> queued = generate(1_900);
        until(() -> engine().snapshot().load().running() == 1 && engine().snapshot().load().waiting() == 1);

        worker.close();

        for (CompletableFuture<List<GenerateEvent>> each : List.of(running, queued)) {
            assertThat(each.join().getLast())
                    .isEqualTo(new Failed(FailureReason.SHUTTING_DOWN, "this worker is going away"));
        }
    }

    private void start(String setting) {
        worker = new SpringApplicationBuilder(WorkerApplication.class).run("--server.port=0",
                "--management.server.port=0", "--warmpath.worker.id=w", "--warmpath.worker.base-url=http://127.0.0.1:1",
                "--warmpath.model.directory=../models/warmpath-tiny", "--warmpath.compute.backend=vector",
                "--warmpath.compute.threads=1", "--warmpath.compute.warm-up=0s", "--warmpath.kv.block-count=512",
                "--warmpath.scheduler.max-num-seqs=1", setting);
    }

    private Engine engine() {
        return worker.getBean(Engine.class);
    }

    private CompletableFuture<List<GenerateEvent>> generate(int tokens) {
        return post(tokens).retrieve().bodyToFlux(GenerateEvent.class).collectList().toFuture();
    }

    private static String refusal(WebClient.RequestHeadersSpec<?> request) {
        return request.exchangeToMono(answer -> answer.bodyToMono(String.class)).blockOptional().orElse("");
    }

    private WebClient.RequestHeadersSpec<?> post(int tokens) {
        GenerateRequest request = GenerateRequest.of("r", IntStream.range(0, 20).toArray(), SamplingParameters.GREEDY,
                pastTheEnd(tokens));
        String address = "http://127.0.0.1:" + worker.getEnvironment().getProperty("local.server.port");
        return WebClient.builder().clientConnector(CLIENT).baseUrl(address).build()
                .post().uri("/v1/generate").contentType(MediaType.APPLICATION_JSON)
                .bodyValue(JSON.writeValueAsString(request));
    }

    private static void until(BooleanSupplier condition) {
        while (!condition.getAsBoolean()) {
            Thread.onSpinWait();
        }
    }

    private static void join(Thread thread) {
        try {
            thread.join();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }
}
