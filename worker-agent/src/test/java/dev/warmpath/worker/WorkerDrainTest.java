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
import dev.warmpath.worker.engine.EngineSnapshot;
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
import org.springframework.web.reactive.function.client.WebClientRequestException;
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
        while (!finishesWhatItHasAndRefusesOthersMeanwhile()) {
            // the test was held up until all had ended: nothing was seen meanwhile
        }
    }

    private boolean finishesWhatItHasAndRefusesOthersMeanwhile() {
        start("--warmpath.drain.timeout=10m");
        List<CompletableFuture<List<GenerateEvent>>> taken = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            taken.add(generate(1_900));
        }
        until(() -> alive() == 4 || isAnyDone(taken));
        if (alive() < 4) {
            taken.forEach(CompletableFuture::join);
            worker.close();
            return false;
        }

        Engine engine = engine();
        Thread stopping = Thread.ofPlatform().start(worker::close);
        // before, it is refused as too long; afterwards nobody answers
        until(() -> refusal(post(5_000)).matches("(?s).*\"shutting_down\".*|gone"));
        boolean othersWait = engine.snapshot().load().waiting() > 0;

        for (CompletableFuture<List<GenerateEvent>> each : taken) {
            assertThat(each.join().getLast()).isInstanceOfSatisfying(Finished.class, finished -> {
                assertThat(finished.reason()).isEqualTo(FinishReason.LENGTH);
                assertThat(finished.usage().completionTokens()).isEqualTo(1_900);
            });
        }
        join(stopping);
        return othersWait;
    }

    @Test
    void what_has_not_ended_within_the_bound_is_ended_with_its_reason() {
        List<GenerateEvent> ends;
        do {
            start("--warmpath.drain.timeout=1ms");
            List<CompletableFuture<List<GenerateEvent>>> taken = List.of(generate(1_900), generate(1_900));
            until(() -> alive() == 2 || isAnyDone(taken));

            worker.close();

            ends = taken.stream().map(each -> each.join().getLast()).toList();
        } while (ends.stream().anyMatch(Finished.class::isInstance));       // the test was held up for so long
        assertThat(ends).containsOnly(new Failed(FailureReason.SHUTTING_DOWN, "this worker is going away"));
    }

    /** Running and waiting. */
    private int alive() {
        EngineSnapshot.Load load = engine().snapshot().load();
        return load.running() + load.waiting();
    }

    private static boolean isAnyDone(List<CompletableFuture<List<GenerateEvent>>> answers) {
        return answers.stream().anyMatch(CompletableFuture::isDone);
    }

    private void start(String setting) {
        worker = new SpringApplicationBuilder(WorkerApplication.class).run("--server.port=0",
                "--management.server.port=0", "--warmpath.worker.id=w", "--warmpath.worker.base-url=http://127.0.0.1:1",
                "--warmpath.model.directory=../models/warmpath-tiny", "--warmpath.compute.backend=vector",
                "--warmpath.compute.longest-step=1h",
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
        return request.exchangeToMono(answer -> answer.bodyToMono(String.class))
                .onErrorReturn(WebClientRequestException.class, "gone").blockOptional().orElse("");
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
