package dev.warmpath.worker.generate;

import static dev.warmpath.protocol.generate.StopConditions.pastTheEnd;
import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.protocol.generate.FinishReason;
import dev.warmpath.protocol.generate.GenerateEvent;
import dev.warmpath.protocol.generate.GenerateEvent.Finished;
import dev.warmpath.protocol.generate.GenerateEvent.Tokens;
import dev.warmpath.protocol.generate.GenerateEvent.Usage;
import dev.warmpath.protocol.generate.GenerateRequest;
import dev.warmpath.protocol.generate.PackedRequest;
import dev.warmpath.protocol.generate.SamplingParameters;
import dev.warmpath.protocol.generate.StopConditions;
import dev.warmpath.worker.engine.Engine;
import dev.warmpath.worker.model.Golden;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.boot.test.context.SpringBootTest.WebEnvironment;
import org.springframework.boot.test.web.server.LocalServerPort;
import org.springframework.http.HttpHeaders;
import org.springframework.http.MediaType;
import org.springframework.http.ResponseEntity;
import org.springframework.web.reactive.function.client.WebClient;
import org.springframework.web.reactive.function.client.WebClient.RequestHeadersSpec;
import reactor.core.scheduler.Schedulers;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** A whole worker over HTTP: the model that ships, no router, a fleet token. */
@SpringBootTest(webEnvironment = WebEnvironment.RANDOM_PORT, properties = {
    "warmpath.worker.id=w", "warmpath.worker.base-url=http://127.0.0.1:1", "warmpath.kv.block-count=256",
    "warmpath.model.directory=../models/warmpath-tiny", "warmpath.compute.backend=vector", "warmpath.compute.threads=1",
    "warmpath.compute.warm-up=0s",
    "warmpath.compute.longest-step=1h",
    "warmpath.routerlink.token=secret", "management.server.port=0",
})
class GenerateEndpointTest {

    private static final JsonMapper JSON = JsonMapper.builder().build();
    private static final Duration TIMEOUT = Duration.ofMinutes(10);

    @Autowired
    Engine engine;

    @LocalServerPort
    int port;

    @Test
    void golden_tokens_come_as_ndjson_and_end_with_the_usage() {
        Golden.Prompt prompt = Golden.read().prompts().getFirst();

        List<GenerateEvent> events = events(GenerateRequest.of("r", prompt.tokens(), SamplingParameters.GREEDY,
                pastTheEnd(prompt.greedy().length)));

        assertThat(ids(events)).isEqualTo(prompt.greedy());
        assertThat(events.getLast()).isInstanceOfSatisfying(Finished.class, finished -> assertThat(finished.usage())
                .isEqualTo(new Usage(prompt.tokens().length, 0, prompt.greedy().length)));
    }

    @Test
    void a_packed_request_is_the_same_request() {
        Golden.Prompt prompt = Golden.read().prompts().getFirst();
        GenerateRequest request = GenerateRequest.of("r", prompt.tokens(), SamplingParameters.GREEDY,
                pastTheEnd(prompt.greedy().length));

        assertThat(ids(postPacked(packed(request)).retrieve().bodyToFlux(GenerateEvent.class).collectList()
                .block(TIMEOUT))).isEqualTo(prompt.greedy());
    }

    @Test
    void a_reader_that_disconnects_frees_the_blocks() {
        GenerateRequest endless = GenerateRequest.of("endless", IntStream.range(0, 100).toArray(),
                SamplingParameters.GREEDY, pastTheEnd(1_900));

        post(endless).retrieve().bodyToFlux(GenerateEvent.class).take(3).blockLast(TIMEOUT);

        long deadline = System.nanoTime() + TIMEOUT.toNanos();
        while (engine.snapshot().pool().usedBlocks() > 0 && System.nanoTime() - deadline < 0) {
            Thread.onSpinWait();
        }
        assertThat(engine.snapshot().pool().usedBlocks()).isZero();
        assertThat(engine.snapshot().load().running()).isZero();
    }

    @Test
    void a_generation_that_is_ended_by_its_name_tells_its_usage_on_its_own_stream() {
        GenerateRequest endless = GenerateRequest.of("endless", IntStream.range(0, 100).toArray(),
                SamplingParameters.GREEDY, pastTheEnd(1_900)).forWorker(0, "h1", null);
        assertThat(delete("h1")).as("not begun").isEqualTo(404);
        List<Integer> answers = new ArrayList<>();
        List<GenerateEvent> events;
        do {                                                       // again if it had come to its end before
            answers.clear();
            events = post(endless).retrieve().bodyToFlux(GenerateEvent.class)
                    .publishOn(Schedulers.boundedElastic())
                    .doOnNext(event -> {
                        if (answers.isEmpty()) {
                            answers.add(delete("h1"));
                        }
                    })
                    .collectList().block(TIMEOUT);
        } while (ids(events).length == 1_900);

        int tokens = ids(events).length;
        assertThat(events.getLast()).isInstanceOfSatisfying(Finished.class, finished -> {
            assertThat(finished.reason()).isEqualTo(FinishReason.STOP);
            assertThat(finished.usage().completionTokens()).isEqualTo(tokens);
        });
        assertThat(answers).containsExactly(204);
        assertThat(delete("h1")).as("it is over").isEqualTo(404);
    }

    @Test
    void choices_come_on_one_stream_each_with_its_tokens_and_its_end_and_draw_as_requests_of_their_own() {
        var sampling = new SamplingParameters(1f, 0, 1f, 30);
        GenerateRequest request = GenerateRequest.of("r", IntStream.range(0, 40).toArray(), sampling, pastTheEnd(12));

        List<GenerateEvent> events = events(request.withChoices(3));

        for (int choice = 0; choice < 3; choice++) {
            List<GenerateEvent> own = ofChoice(events, choice);
            GenerateRequest alone = GenerateRequest.of("r", IntStream.range(0, 40).toArray(),
                    sampling.withSeed(30 + choice), pastTheEnd(12));
            assertThat(ids(own)).isEqualTo(ids(events(alone)));
            assertThat(own.getLast()).isEqualTo(new Finished(choice, FinishReason.LENGTH, new Usage(40, 0, 12)));
        }
        assertThat(events).filteredOn(Finished.class::isInstance).hasSize(3);
    }

    @Test
    void one_choice_ends_by_its_number_while_the_others_go_on_and_then_all_of_them() {
        GenerateRequest endless = GenerateRequest.of("endless", IntStream.range(100, 200).toArray(),
                SamplingParameters.GREEDY, pastTheEnd(1_900)).withChoices(3).forWorker(0, "h3", null);
        List<Integer> answers = new ArrayList<>();
        List<GenerateEvent> events;
        do {                                                       // again if they had come to their ends before
            answers.clear();
            events = post(endless).retrieve().bodyToFlux(GenerateEvent.class)
                    .publishOn(Schedulers.boundedElastic())
                    .doOnNext(event -> {
                        if (answers.isEmpty()) {
                            answers.add(delete("h3?choice=3"));
                            answers.add(delete("h3?choice=-1"));
                            answers.add(delete("h3?choice=one"));
                            answers.add(delete("h3?choice=1"));
                        } else if (event instanceof Finished && answers.size() == 4) {
                            answers.add(delete("h3?choice=1"));
                            answers.add(delete("h3"));
                        }
                    })
                    .collectList().block(TIMEOUT);
        } while (ids(ofChoice(events, 0)).length == 1_900);

        assertThat(answers).containsExactly(404, 404, 400, 204, 204, 204);
        List<GenerateEvent> all = events;
        assertThat(IntStream.range(0, 3)).allSatisfy(choice -> {
            List<GenerateEvent> own = ofChoice(all, choice);
            assertThat(own.getLast()).isEqualTo(
                    new Finished(choice, FinishReason.STOP, new Usage(100, 0, ids(own).length)));
        });
        List<GenerateEvent> ends = all.stream().filter(Finished.class::isInstance).toList();
        assertThat(((Finished) ends.getFirst()).index()).isEqualTo(1);
    }

    @Test
    void a_reader_that_disconnects_frees_the_blocks_of_all_choices() {
        GenerateRequest endless = GenerateRequest.of("endless", IntStream.range(0, 100).toArray(),
                SamplingParameters.GREEDY, pastTheEnd(1_900)).withChoices(5);

        post(endless).retrieve().bodyToFlux(GenerateEvent.class).take(7).blockLast(TIMEOUT);

        long deadline = System.nanoTime() + TIMEOUT.toNanos();
        while (engine.snapshot().load().running() + engine.snapshot().load().waiting() > 0
                && System.nanoTime() - deadline < 0) {
            Thread.onSpinWait();
        }
        assertThat(engine.snapshot().pool().usedBlocks()).isZero();
    }

    @Test
    void scores_of_prompt_and_answers_come_as_json_in_which_every_number_is_one() {
        int[] prompt = IntStream.range(300, 450).toArray();
        GenerateRequest request = GenerateRequest.of("r", prompt, SamplingParameters.GREEDY, pastTheEnd(10));

        List<GenerateEvent> events = events(request.withLogprobs(true, true, 3).withChoices(2));

        List<GenerateEvent.Prompt> told = events.stream().filter(GenerateEvent.Prompt.class::isInstance)
                .map(GenerateEvent.Prompt.class::cast).toList();
        assertThat(told).hasSizeBetween(3, 149).isEqualTo(events.subList(0, told.size()));
        assertThat(told.stream().mapToInt(event -> event.ranks().length).sum()).isEqualTo(149);
        assertThat(told).allSatisfy(event -> {
            assertThat(event.scores().topIds()).hasSize(3 * event.ranks().length);
            for (int i = 0; i < event.ranks().length; i++) {
                assertThat(event.ranks()[i]).isBetween(1, 2_048);
                assertThat(event.scores().logprobs()[i]).isBetween(GenerateEvent.LEAST_LOGPROB, 0f);
            }
        });
        for (int choice = 0; choice < 2; choice++) {
            for (GenerateEvent event : ofChoice(events, choice)) {
                if (event instanceof Tokens tokens) {
                    for (int i = 0; i < tokens.ids().length; i++) {
                        assertThat(tokens.scores().topIds()[3 * i]).as("greedy").isEqualTo(tokens.ids()[i]);
                        assertThat(tokens.scores().topLogprobs()[3 * i]).isEqualTo(tokens.scores().logprobs()[i]);
                    }
                }
            }
        }
        assertThat(ids(ofChoice(events, 0))).isEqualTo(ids(events(request)));
    }

    @Test
    void more_choices_than_the_protocol_has_are_no_request() {
        assertProblem(post(JSON.writeValueAsString(GenerateRequest.of("r", new int[] {1}, SamplingParameters.GREEDY,
                        StopConditions.maxTokens(1)).withChoices(2)).replace("\"choices\":2", "\"choices\":129")),
                400, "invalid_request", "choices 129 is outside 1 to 128");
    }

    private static List<GenerateEvent> ofChoice(List<GenerateEvent> events, int choice) {
        return events.stream().filter(event -> switch (event) {
            case Tokens tokens -> tokens.index() == choice;
            case Finished finished -> finished.index() == choice;
            case GenerateEvent.Prompt _, GenerateEvent.Failed _ -> false;
        }).toList();
    }

    private int delete(String handle) {
        try (HttpClient http = HttpClient.newHttpClient()) {
            return http.send(HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + "/v1/generate/" + handle))
                    .header("authorization", "Bearer secret").DELETE().build(),
                    HttpResponse.BodyHandlers.discarding()).statusCode();
        } catch (IOException | InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    @Test
    void refusals_are_problems_with_the_protocols_reason() {
        assertProblem(post("{\"requestId\":\"r\""), 400, "invalid_request", "");
        assertProblem(post(""), 400, "invalid_request", "the body is no generate request");
        assertProblem(post("{\"requestId\":\"r\",\"promptTokens\":[" + "1,".repeat(60_000) + "1]}"),
                413, "invalid_request", "90112");                  // 64 KiB and 12 bytes for each of 2,048 tokens
        assertProblem(post(JSON.writeValueAsString(GenerateRequest.of("r", new int[] {9_999},
                SamplingParameters.GREEDY, StopConditions.maxTokens(1)))),
                400, "invalid_request", "token id 9999 at position 0 is outside the vocabulary of 2048");
        assertProblem(post(JSON.writeValueAsString(GenerateRequest.of("r", new int[] {1}, SamplingParameters.GREEDY,
                        StopConditions.maxTokens(1))).replace("\"temperature\":0.0", "\"temperature\":-1")),
                400, "invalid_request", "temperature -1.0");
        assertProblem(post(new GenerateRequest("r", 5, new int[] {1}, SamplingParameters.GREEDY,
                StopConditions.maxTokens(1), false, null, null, null, 0, 0)), 409, "wrong_epoch", "epoch 5");
        assertProblem(post(new GenerateRequest("r", 0, new int[] {1}, SamplingParameters.GREEDY,
                StopConditions.maxTokens(1), false, null, "poet", null, 0, 0)), 400, "unsupported", "adapter 'poet'");
    }

    @Test
    void packed_requests_are_refused_in_the_same_words() {
        byte[] whole = packed(GenerateRequest.of("r", new int[] {1, 9_999}, SamplingParameters.GREEDY,
                StopConditions.maxTokens(1)));
        int headLength = PackedRequest.headLength(whole);

        assertProblem(postPacked(whole), 400, "invalid_request",
                "token id 9999 at position 1 is outside the vocabulary of 2048");
        assertProblem(postPacked(Arrays.copyOf(whole, whole.length - 1)), 400, "invalid_request",
                "7 bytes of prompt ids");
        assertProblem(postPacked(Arrays.copyOf(whole, headLength + 1)), 400, "invalid_request",
                "promptTokens is empty");
        assertProblem(postPacked(Arrays.copyOf(whole, headLength)), 400, "invalid_request", "no line break");
        assertProblem(postPacked("null\n".getBytes(StandardCharsets.UTF_8)), 400, "invalid_request", "null");
        assertProblem(postPacked("{}\n".getBytes(StandardCharsets.UTF_8)), 400, "invalid_request", "");
        assertProblem(postPacked(new byte[0]), 400, "invalid_request", "");
        assertProblem(postPacked(new byte[200_000]), 413, "invalid_request", "90112");
    }

    @Test
    void who_does_not_know_the_fleet_token_gets_nothing() {
        Integer status = client().build().post().uri("/v1/generate").contentType(MediaType.APPLICATION_JSON)
                .bodyValue(GenerateRequest.of("r", new int[] {1}, SamplingParameters.GREEDY,
                        StopConditions.maxTokens(1)))
                .exchangeToMono(response -> response.releaseBody().thenReturn(response.statusCode().value()))
                .block(TIMEOUT);

        assertThat(status).isEqualTo(401);
    }

    private List<GenerateEvent> events(GenerateRequest request) {
        return post(request).retrieve().bodyToFlux(GenerateEvent.class).collectList().block(TIMEOUT);
    }

    private static int[] ids(List<GenerateEvent> events) {
        return events.stream().filter(Tokens.class::isInstance)
                .flatMapToInt(event -> IntStream.of(((Tokens) event).ids())).toArray();
    }

    private static void assertProblem(RequestHeadersSpec<?> request, int status, String reason, String detail) {
        ResponseEntity<String> response =
                request.exchangeToMono(answer -> answer.toEntity(String.class)).block(TIMEOUT);
        JsonNode problem = JSON.readTree(response.getBody());
        assertThat(response.getStatusCode().value()).isEqualTo(status);
        assertThat(problem.path("reason").asString("")).isEqualTo(reason);
        assertThat(problem.path("detail").asString("")).contains(detail);
    }

    private RequestHeadersSpec<?> post(Object body) {
        return client().defaultHeader(HttpHeaders.AUTHORIZATION, "Bearer secret").build()
                .post().uri("/v1/generate").contentType(MediaType.APPLICATION_JSON).bodyValue(body);
    }

    private static byte[] packed(GenerateRequest request) {
        return PackedRequest.pack(JSON.writeValueAsBytes(PackedRequest.Head.of(request)), request.promptTokens());
    }

    private RequestHeadersSpec<?> postPacked(byte[] body) {
        return client().defaultHeader(HttpHeaders.AUTHORIZATION, "Bearer secret").build()
                .post().uri("/v1/generate").contentType(MediaType.parseMediaType(PackedRequest.CONTENT_TYPE))
                .bodyValue(body);
    }

    private WebClient.Builder client() {
        return WebClient.builder().baseUrl("http://127.0.0.1:" + port);
    }
}
