package dev.warmpath.worker;

import static dev.warmpath.protocol.generate.StopConditions.pastTheEnd;
import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.protocol.fleet.Protocol;
import dev.warmpath.protocol.generate.FailureReason;
import dev.warmpath.protocol.generate.FinishReason;
import dev.warmpath.protocol.generate.GenerateEvent;
import dev.warmpath.protocol.generate.GenerateEvent.Failed;
import dev.warmpath.protocol.generate.GenerateEvent.Finished;
import dev.warmpath.protocol.generate.GenerateRequest;
import dev.warmpath.protocol.generate.SamplingParameters;
import dev.warmpath.worker.engine.Engine;
import dev.warmpath.worker.engine.EngineSnapshot;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.BooleanSupplier;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.http.HttpMethod;
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
    private static final java.net.http.HttpClient OPERATOR = java.net.http.HttpClient.newHttpClient();
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
    void a_worker_that_is_held_to_be_stepped_by_hand_finishes_what_it_has_when_it_is_told_to_stop() {
        start("--warmpath.drain.timeout=10m");
        Engine engine = engine();
        assertThat(pool("PUT", Protocol.POOL_HOLD_PATH)).isEqualTo(204);
        long before = engine.snapshot().work().generatedTokens();  // the warm-up's
        CompletableFuture<List<GenerateEvent>> taken = generate(20);
        until(() -> engine.snapshot().load().waiting() == 1);
        assertThat(pool("POST", Protocol.POOL_STEP_PATH)).isEqualTo(200);
        assertThat(engine.snapshot().work().generatedTokens()).isEqualTo(before + 1);

        Thread stopping = Thread.ofPlatform().start(worker::close);

        assertThat(taken.join().getLast()).isInstanceOfSatisfying(Finished.class,
                finished -> assertThat(finished.usage().completionTokens()).isEqualTo(20));
        join(stopping);
    }

    /** What a router asks of the pool; the status. */
    private int pool(String method, String path) {
        return WebClient.builder().clientConnector(CLIENT).build().method(HttpMethod.valueOf(method))
                .uri("http://127.0.0.1:" + worker.getEnvironment().getProperty("local.server.port") + path)
                .headers(headers -> headers.setBearerAuth("hush"))
                .exchangeToMono(response -> response.releaseBody().thenReturn(response.statusCode().value())).block();
    }

    /** The queue is long enough that the test sees it, or it tries again. */
    @Test
    void an_operator_drains_a_worker_that_goes_on_with_what_it_has_and_stays() {
        List<CompletableFuture<List<GenerateEvent>>> taken = new ArrayList<>();
        String begun;
        do {
            if (worker != null) {
                worker.close();
            }
            taken.clear();
            start("--warmpath.fleet.token=hush", "--warmpath.management.token=boss");
            assertThat(operator("GET", "drain", "").body()).isEqualTo("{\"draining\":false,\"openRequests\":0}");
            for (int i = 0; i < 4; i++) {
                taken.add(generate(1_900));
            }
            until(() -> alive() == 4 || isAnyDone(taken));
            for (String wrong : List.of("", "hush", "Boss")) {
                assertThat(operator("POST", "drain", wrong).statusCode()).as(wrong).isEqualTo(401);
                assertThat(operator("POST", "%64rain", wrong).statusCode()).as(wrong).isEqualTo(401);
                assertThat(operator("POST", "reset-cache", wrong).statusCode()).as(wrong).isEqualTo(401);
            }
            assertThat(operator("POST", "reset-cache", "boss").statusCode()).isEqualTo(200);

            begun = operator("POST", "drain", "boss").body();
        } while (begun.endsWith(":0}"));                           // held up until all had ended

        assertThat(begun).matches("\\{\"draining\":true,\"openRequests\":[1-4]}");
        assertThat(operator("POST", "drain", "boss").body()).as("twice").startsWith("{\"draining\":true");
        assertThat(refusal(post(1))).contains("shutting_down");
        assertThat(operator("GET", "health/readiness", "").statusCode()).isEqualTo(503);
        assertThat(operator("GET", "health/liveness", "").statusCode()).isEqualTo(200);
        for (CompletableFuture<List<GenerateEvent>> each : taken) {
            assertThat(each.join().getLast()).isInstanceOfSatisfying(Finished.class,
                    finished -> assertThat(finished.usage().completionTokens()).isEqualTo(1_900));
        }
        until(() -> operator("GET", "drain", "").body().equals("{\"draining\":true,\"openRequests\":0}"));
        assertThat(operator("POST", "reset-cache", "boss").body()).isEqualTo("{\"all\":true}");
    }

    /** On its management port. */
    private HttpResponse<String> operator(String method, String path, String token) {
        var request = HttpRequest.newBuilder(URI.create("http://127.0.0.1:"
                        + worker.getEnvironment().getProperty("local.management.port") + "/actuator/" + path))
                .method(method, HttpRequest.BodyPublishers.noBody());
        if (!token.isEmpty()) {
            request.header("authorization", "Bearer " + token);
        }
        try {
            return OPERATOR.send(request.build(), HttpResponse.BodyHandlers.ofString());
        } catch (IOException | InterruptedException e) {
            throw new IllegalStateException(e);
        }
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

    private void start(String... settings) {
        worker = new SpringApplicationBuilder(WorkerApplication.class).run(arguments(settings));
    }

    private static String[] arguments(String... settings) {
        return Stream.concat(Stream.of("--server.port=0",
                "--management.server.port=0", "--warmpath.worker.id=w", "--warmpath.worker.base-url=http://127.0.0.1:1",
                "--warmpath.model.directory=../models/warmpath-tiny", "--warmpath.compute.backend=vector",
                "--warmpath.compute.longest-step=1h",
                "--warmpath.compute.threads=1", "--warmpath.compute.warm-up=0s", "--warmpath.kv.block-count=512",
                "--warmpath.scheduler.max-num-seqs=1"), Stream.of(settings)).toArray(String[]::new);
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
                .post().uri("/v1/generate").headers(headers -> headers.setBearerAuth("hush"))
                .contentType(MediaType.APPLICATION_JSON)
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
