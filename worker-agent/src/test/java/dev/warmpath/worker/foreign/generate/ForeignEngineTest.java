package dev.warmpath.worker.foreign.generate;

import static dev.warmpath.protocol.generate.StopConditions.maxTokens;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.warmpath.process.TestEngine;
import dev.warmpath.process.TestEngine.Answer;
import dev.warmpath.protocol.fleet.RouterId;
import dev.warmpath.protocol.fleet.RouterLoad;
import dev.warmpath.protocol.generate.FailureReason;
import dev.warmpath.protocol.generate.FinishReason;
import dev.warmpath.protocol.generate.GenerateEvent.Usage;
import dev.warmpath.protocol.generate.GenerateRequest;
import dev.warmpath.protocol.generate.SamplingParameters;
import dev.warmpath.protocol.generate.StopConditions;
import dev.warmpath.worker.engine.EngineSnapshot;
import dev.warmpath.worker.engine.GenerationListener;
import dev.warmpath.worker.engine.RefusedException;
import java.time.Duration;
import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Generations against a server that answers what real ones did, and what broken ones would. */
class ForeignEngineTest {

    private static final String PATH = Completions.PATH;
    private static final Duration LONGEST = Duration.ofMinutes(10);
    private static final String USAGE = "{\"choices\":[],\"usage\":{\"prompt_tokens\":40,\"completion_tokens\":1,"
            + "\"prompt_tokens_details\":{\"cached_tokens\":32}}}";

    private final TestEngine server = Captures.vllm32();
    private final AtomicInteger tellings = new AtomicInteger();
    private final AtomicInteger lives = new AtomicInteger();
    private final CountDownLatch restarted = new CountDownLatch(1);
    private EngineLink link = EngineLink.to(server.address());
    private ForeignEngine engine = engine(new Completions("smollm2-135m", true));

    private ForeignEngine engine(Dialect dialect) {
        var facts = new EngineFacts(dialect instanceof SglangTokens ? EngineKind.SGLANG : EngineKind.VLLM, "0.32.0",
                "smollm2-135m", null, 2_048, new EngineFacts.Cache(32, 81, true), 1.79536544707e9,
                Map.of());
        return new ForeignEngine(link, new FoundEngine(facts, dialect), 0, 49_152, () -> 77, _ -> 16,
                tellings::incrementAndGet, lives::incrementAndGet, restarted::countDown);
    }

    private void use(EngineLink other) {
        link = other;
        engine.close();
        engine = engine(new Completions("smollm2-135m", true));
    }

    private void use(Dialect dialect) {
        engine.close();
        engine = engine(dialect);
    }

    @AfterEach
    void close() {
        engine.close();
        server.close();
    }

    @Test
    void a_captured_stream_of_vllm_0_32_is_told_as_our_own_engine_would() {
        server.answer(PATH, Captures.answer("vllm-0.32/completions-ids-stream-return-token-ids-usage"));
        Heard heard = ask(6);
        assertThat(heard.awaitEnd().ids()).containsExactly(30, 198, 198, 504, 216, 34);
        assertThat(heard.finished).isEqualTo(FinishReason.LENGTH);
        assertThat(heard.usage).isEqualTo(new Usage(40, 32, 6));
        assertThat(heard.times.completionTokens()).isEqualTo(6);
        assertThat(heard.times.hasToken()).isTrue();
        assertThat(engine.counts().finished(FinishReason.LENGTH)).isEqualTo(1);
        assertThat(engine.counts().cachedPromptTokens()).isEqualTo(32);
        await(() -> tellings.get() > 0);
    }

    @Test
    void so_is_one_of_vllm_0_20() {
        server.answer(PATH, Captures.answer("vllm-0.20/completions-ids-stream-return-token-ids-usage"));
        assertThat(ask(4).awaitEnd()).hasToString("[30, 198, 198, 504] LENGTH " + new Usage(40, 32, 4) + " null null");
    }

    @Test
    void the_token_endpoints_stream_ends_with_the_eos_token_as_the_answers_last() {
        use(new VllmTokens("smollm2-135m", true));
        server.answer(VllmTokens.PATH, Captures.answer("vllm-0.32/generate-eos"));
        Heard heard = ask(GenerateRequest.of("r", new int[33], SamplingParameters.GREEDY, maxTokens(60)));
        assertThat(heard.awaitEnd().ids()).hasSize(25).endsWith(47, 2);
        assertThat(heard.finished).isEqualTo(FinishReason.STOP);
        assertThat(heard.usage).isEqualTo(new Usage(33, 32, 25));
    }

    @Test
    void the_token_endpoint_of_0_20_tells_no_usage_unless_asked_and_no_reason_to_stop() {
        use(new VllmTokens("smollm2-135m", false));
        server.answer(VllmTokens.PATH, Captures.answer("vllm-0.20/generate-stream"));
        assertThat(ask(4).awaitEnd()).hasToString("[30, 198, 198, 504] LENGTH " + new Usage(40, 32, 4) + " null null");
    }

    @Test
    void the_token_endpoints_logprobs_have_ranks() {
        use(new VllmTokens("smollm2-135m", true));
        server.answer(VllmTokens.PATH, Captures.answer("vllm-0.32/generate-stream-logprobs"));
        Heard heard = ask(request(3).withLogprobs(true, false, 2)).awaitEnd();
        assertThat(heard.ids()).containsExactly(30, 198, 198);
        assertThat(heard.scores).containsExactly("-4.344/1: 30 -4.344 302 -4.844", "-2.510/1: 198 -2.510 378 -3.635",
                "-1.561/1: 198 -1.561 504 -3.311");
    }

    @Test
    void scores_of_the_prompt_come_in_one_answer_before_its_tokens_and_the_other_choices_wait_for_them() {
        int[] prompt = {29_747, 36_785, 30_616, 29_711, 33_381, 38_594};
        server.answer(PATH, Captures.answer("vllm-0.32/completions-ids-prompt-logprobs"),
                TestEngine.stream(tokens("[5]", "length"), usage(6, 0)));
        GenerateRequest request = GenerateRequest.of("r", prompt, SamplingParameters.GREEDY, maxTokens(2))
                .withLogprobs(false, true, 1).withChoices(2);
        Heard first = new Heard();
        Heard second = new Heard();
        engine.submit(request, List.of(first, second));
        second.awaitEnd();

        assertThat(first.prompt).hasSize(5).startsWith("-12.585/5153: 29 -0.835", "-19.414/34068: 49 -1.539");
        assertThat(first.ids()).containsExactly(282, 260);
        assertThat(first.usage).isEqualTo(new Usage(6, 0, 2));
        assertThat(second.prompt).isEmpty();
        assertThat(second.ids()).containsExactly(5);
        List<TestEngine.Request> asked = server.requests(PATH);
        assertThat(asked.get(0).body()).contains("\"prompt_logprobs\":1", "\"stream\":false");
        assertThat(asked.get(1).body()).doesNotContain("prompt_logprobs").contains("\"stream\":true");
    }

    @Test
    void choices_are_requests_of_their_own_with_seeds_in_a_row_and_the_prompts_cached_tokens_in_common() {
        server.answer(PATH, TestEngine.stream(tokens("[1]", "length"), usage(40, 0)),
                TestEngine.stream(tokens("[2]", "length"), usage(40, 32)),
                TestEngine.stream(tokens("[3]", "length"), usage(40, 32)));
        var sampling = new SamplingParameters(1f, 0, 1f, 30);
        List<Heard> all = List.of(new Heard(), new Heard(), new Heard());
        engine.submit(GenerateRequest.of("r", Captures.PROMPT, sampling, maxTokens(1)).withChoices(3),
                List.copyOf(all));
        all.forEach(Heard::awaitEnd);

        assertThat(all.stream().flatMap(heard -> heard.tokens.stream())).containsExactlyInAnyOrder(1, 2, 3);
        assertThat(server.requests(PATH)).extracting(request -> request.body().replaceAll(".*\"seed\":(\\d+).*", "$1"))
                .containsExactlyInAnyOrder("30", "31", "32");
        assertThat(server.requests(PATH)).extracting(request -> request.headers().get("x-request-id"))
                .doesNotHaveDuplicates();
    }

    @Test
    void a_prompt_that_is_too_long_is_not_sent_and_an_answers_limit_is_what_the_context_leaves() {
        refused(GenerateRequest.of("r", new int[2_048], SamplingParameters.GREEDY, maxTokens(1)),
                FailureReason.INVALID_REQUEST, "prompt has 2048 tokens, the model's context of 2048 takes 2047");
        assertThat(server.requests(PATH)).isEmpty();
        server.answer(PATH, TestEngine.stream(tokens("[9]", "length"), usage(2_047, 0)));
        Heard heard = ask(GenerateRequest.of("r", new int[2_047], SamplingParameters.GREEDY, maxTokens(50)));
        assertThat(heard.awaitEnd().usage).isEqualTo(new Usage(2_047, 0, 1));
        assertThat(server.requests(PATH).getFirst().body()).contains("\"max_tokens\":1,");
    }

    @Test
    void another_epoch_an_adapter_and_ids_outside_the_vocabulary_are_refused() {
        refused(request(1).forWorker(78, "h", null), FailureReason.WRONG_EPOCH, "lives in 77");
        refused(new GenerateRequest("r", 0, new int[] {1}, SamplingParameters.GREEDY, maxTokens(1), false, null, "ad",
                null, 0, 0), FailureReason.UNSUPPORTED, "adapter 'ad'");
        refused(GenerateRequest.of("r", new int[] {5, 49_152}, SamplingParameters.GREEDY, maxTokens(1)),
                FailureReason.INVALID_REQUEST, "token id 49152 of promptTokens is outside the vocabulary of 49152");
        assertThat(engine.counts().refused(FailureReason.WRONG_EPOCH)).isEqualTo(1);
    }

    @Test
    void an_engine_that_dies_within_an_answer_fails_it_so_that_routers_ask_another_worker() {
        use(new VllmTokens("smollm2-135m", true));
        server.answer(VllmTokens.PATH, Captures.answer("vllm-0.32/generate-stream-engine-killed"));
        Heard heard = ask(100).awaitEnd();
        assertThat(heard.ids()).hasSize(13);
        assertThat(heard.failed).isEqualTo(FailureReason.ENGINE_FAILURE);
        assertThat(heard.message).contains("EngineCore encountered an issue");
        assertThat(heard.failed.isRetryable()).isTrue();
    }

    @Test
    void errors_before_the_stream_mean_what_their_status_says() {
        server.answer(PATH, Captures.answer("vllm-0.32/completions-engine-killed"),
                Captures.answer("vllm-0.32/error-stream-prompt-too-long"),
                TestEngine.json(503, "{\"error\":{\"message\":\"paused\"}}"),
                TestEngine.json(404, "{\"detail\":\"Not Found\"}"));
        assertThat(ask(1).awaitEnd().failed).isEqualTo(FailureReason.ENGINE_FAILURE);
        Heard tooLong = ask(1).awaitEnd();
        assertThat(tooLong.failed).isEqualTo(FailureReason.INVALID_REQUEST);
        assertThat(tooLong.message).startsWith("This model's maximum context length is 2048 tokens.");
        assertThat(ask(1).awaitEnd().failed).isEqualTo(FailureReason.QUEUE_FULL);
        assertThat(ask(1).awaitEnd().message).isEqualTo("the engine answered with status 404: Not Found");
    }

    @Test
    void an_error_behind_a_200_is_seen_though_the_stream_says_that_it_is_done() {
        use(new VllmTokens("smollm2-135m", true));
        server.answer(VllmTokens.PATH, Captures.answer("vllm-0.32/error-generate-stream-prompt-too-long"));
        Heard heard = ask(1).awaitEnd();
        assertThat(heard.failed).isEqualTo(FailureReason.INVALID_REQUEST);
        assertThat(heard.message).startsWith("The decoder prompt (length 3000)");
    }

    @Test
    void done_is_no_success_nor_is_the_end_of_the_stream_but_a_finish_reason_is() {
        server.answer(PATH, TestEngine.stream(tokens("[7]", null), "[DONE]"), TestEngine.stream(tokens("[7]", null)),
                TestEngine.stream(), TestEngine.stream(tokens("[7]", "stop")));
        assertThat(ask(5).awaitEnd().message).isEqualTo(
                "the engine did not finish: its answer was done without a finish reason");
        assertThat(ask(5).awaitEnd().failed).isEqualTo(FailureReason.ENGINE_FAILURE);
        assertThat(ask(5).awaitEnd().failed).isEqualTo(FailureReason.ENGINE_FAILURE);
        Heard well = ask(5).awaitEnd();
        assertThat(well.finished).isEqualTo(FinishReason.STOP);
        assertThat(well.usage).as("16 were expected, and nothing is told").isEqualTo(new Usage(40, 16, 1));
    }

    @Test
    void a_connection_that_breaks_within_an_answer_is_not_tried_again() {
        server.answer(PATH, exchange -> {
            exchange.begin();
            exchange.data(tokens("[7]", null));
            exchange.hangUp();
        });
        Heard heard = ask(5).awaitEnd();
        assertThat(heard.ids()).containsExactly(7);
        assertThat(heard.failed).isEqualTo(FailureReason.ENGINE_FAILURE);
        assertThat(server.requests(PATH)).hasSize(1);
    }

    @Test
    void a_pooled_connection_that_was_closed_meanwhile_is_tried_once_more_and_not_twice() {
        Answer well = TestEngine.stream(tokens("[7]", "stop"), USAGE, "[DONE]");
        server.answer(PATH, well, TestEngine.Exchange::hangUp, well, TestEngine.Exchange::hangUp,
                TestEngine.Exchange::hangUp);
        assertThat(ask(5).awaitEnd().finished).isEqualTo(FinishReason.STOP);
        assertThat(ask(5).awaitEnd().finished).isEqualTo(FinishReason.STOP);
        assertThat(server.requests(PATH)).hasSize(3);
        assertThat(ask(5).awaitEnd().failed).isEqualTo(FailureReason.ENGINE_FAILURE);
        assertThat(server.requests(PATH)).hasSize(5);
    }

    @Test
    void answers_one_after_the_other_share_a_connection() {
        server.answer(PATH, TestEngine.stream(tokens("[7]", "stop"), USAGE, "[DONE]"));
        for (int i = 0; i < 5; i++) {
            ask(5).awaitEnd();
            await(() -> engine.load().load().running() == 0);
        }
        assertThat(server.requests(PATH)).extracting(TestEngine.Request::connection).contains(1).hasSize(5);
        assertThat(server.requests(PATH).stream().map(TestEngine.Request::connection).distinct().count())
                .isLessThan(5);
    }

    @Test
    void when_the_engine_is_gone_nothing_is_taken() {
        engine.start();
        server.close();
        await(() -> !engine.load().answers());
        refused(request(1), FailureReason.SHUTTING_DOWN, "does not answer");
    }

    @Test
    void a_connection_that_is_refused_is_not_tried_again() {
        use(EngineLink.to(URI.create("http://127.0.0.1:1")));          // a port that nobody else takes meanwhile
        Heard heard = ask(1).awaitEnd();
        assertThat(heard.message).isEqualTo("the engine did not finish: it cannot be reached");
        assertThat(heard.failed).isEqualTo(FailureReason.ENGINE_FAILURE);
    }

    @Test
    void cancelling_closes_the_connection_and_nothing_more_is_heard() throws Exception {
        var closed = new CountDownLatch(1);
        server.answer(PATH, exchange -> {
            exchange.begin();
            exchange.data(tokens("[7]", null));
            if (exchange.awaitHangUp()) {
                closed.countDown();
            }
        });
        Heard heard = new Heard();
        ForeignGeneration generation = engine.submit(request(5), List.of(heard)).getFirst();
        heard.awaitTokens(1);
        engine.cancel(generation);
        engine.cancel(generation);
        closed.await();
        heard.awaitTimes();
        assertThat(heard).hasToString("[7] null null null null");
        assertThat(engine.load().load().running() + engine.load().load().waiting()).isZero();
        assertThat(engine.counts().cancelled()).isEqualTo(1);
    }

    @Test
    void stopping_ends_it_well_with_what_was_told_and_closes_the_connection() throws Exception {
        var closed = new CountDownLatch(1);
        server.answer(PATH, exchange -> {
            exchange.begin();
            exchange.data(tokens("[7,8]", null));
            if (exchange.awaitHangUp()) {
                closed.countDown();
            }
        });
        Heard heard = new Heard();
        ForeignGeneration generation = engine.submit(request(5), List.of(heard)).getFirst();
        heard.awaitTokens(2);
        engine.stop(generation);
        engine.stop(generation);
        closed.await();
        assertThat(heard.awaitEnd()).hasToString("[7, 8] STOP " + new Usage(40, 16, 2) + " null null");
    }

    @Test
    void one_that_goes_on_behind_a_stop_token_is_ended_there() throws Exception {
        var closed = new CountDownLatch(1);
        server.answer(PATH, exchange -> {
            exchange.begin();
            exchange.data(tokens("[7,2,9]", null));
            if (exchange.awaitHangUp()) {
                closed.countDown();
            }
        });
        Heard heard = ask(GenerateRequest.of("r", Captures.PROMPT, SamplingParameters.GREEDY,
                new StopConditions(50, new int[] {2}, false)));
        assertThat(heard.awaitEnd().ids()).containsExactly(7, 2);
        assertThat(heard.finished).isEqualTo(FinishReason.STOP);
        closed.await();
    }

    @Test
    void a_stop_token_before_the_least_length_ends_nothing() {
        server.answer(PATH, TestEngine.stream(tokens("[2,2,2]", "stop"), USAGE));
        Heard heard = ask(GenerateRequest.of("r", Captures.PROMPT, SamplingParameters.GREEDY,
                new StopConditions(50, new int[] {2}, false, 3)));
        assertThat(heard.awaitEnd().ids()).containsExactly(2, 2, 2);
    }

    @Test
    void more_tokens_than_were_asked_for_and_another_prompt_are_faults() {
        server.answer(PATH, TestEngine.stream(tokens("[1,2,3]", null)),
                TestEngine.stream(tokens("[1]", "stop"), usage(41, 0)));
        assertThat(ask(2).awaitEnd().message).isEqualTo("the engine told 3 tokens, at most 2 were asked for");
        assertThat(ask(2).awaitEnd().message).isEqualTo("the engine computed a prompt of 41 tokens, it was sent 40");
    }

    @Test
    void a_line_that_never_ends_is_given_up() throws Exception {
        var closed = new CountDownLatch(1);
        server.answer(PATH, exchange -> {
            exchange.begin();
            try {
                while (true) {
                    exchange.chunk("x".repeat(10_000));
                }
            } finally {
                closed.countDown();
            }
        });
        Heard heard = ask(5).awaitEnd();
        assertThat(heard.failed).isEqualTo(FailureReason.ENGINE_FAILURE);
        assertThat(heard.message).contains("a piece of more than");
        closed.await();
    }

    @Test
    void silence_before_the_first_token_fails_it() {
        use(link.withSilence(Duration.ofMillis(50), LONGEST));
        server.answer(PATH, exchange -> {
            exchange.begin();
            exchange.awaitHangUp();
        });
        Heard heard = ask(5).awaitEnd();
        assertThat(heard.failed).isEqualTo(FailureReason.ENGINE_FAILURE);
        assertThat(heard.message).startsWith("the engine did not finish: it said nothing for");
    }

    @Test
    void so_does_silence_after_it_unless_nothing_but_the_usage_is_missing() {
        use(link.withSilence(LONGEST, Duration.ofMillis(50)));
        server.answer(PATH, exchange -> {
            exchange.begin();
            exchange.data(tokens("[1]", null));
            exchange.awaitHangUp();
        }, exchange -> {
            exchange.begin();
            exchange.data(tokens("[1]", "stop"));
            exchange.awaitHangUp();
        });
        Heard cut = ask(5).awaitEnd();
        assertThat(cut.ids()).containsExactly(1);
        assertThat(cut.failed).isEqualTo(FailureReason.ENGINE_FAILURE);
        assertThat(ask(5).awaitEnd().finished).isEqualTo(FinishReason.STOP);
    }

    @Test
    void time_that_is_up_is_the_requests_own() {
        server.answer(PATH, exchange -> {
            exchange.begin();
            exchange.awaitHangUp();
        });
        Heard heard = ask(new GenerateRequest("r", 0, Captures.PROMPT, SamplingParameters.GREEDY, maxTokens(5), false,
                null, null, null, 0, 50)).awaitEnd();
        assertThat(heard.failed).isEqualTo(FailureReason.DEADLINE_EXCEEDED);
    }

    @Test
    void what_is_taken_counts_at_once_and_no_more_is_taken_than_may_be_alive() throws Exception {
        use(link.withMostGenerations(3));
        var goOn = new CountDownLatch(1);
        server.answer(PATH, exchange -> {
            try {
                exchange.begin();
                exchange.data(tokens("[1]", null));
                goOn.await();
                exchange.data(tokens("[2]", "stop"));
                exchange.end();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }, exchange -> {
            exchange.begin();
            exchange.awaitHangUp();
        });
        var router = new RouterId("r1");
        Heard running = ask(request(2).forWorker(0, "h", router)).awaitTokens(1);
        long news = engine.load().load().news();
        ask(request(2).forWorker(0, "h", router).withChoices(1));

        EngineSnapshot.Load load = engine.load().load();
        assertThat(load.running() + load.waiting()).isEqualTo(2);
        assertThat(load.pendingRequests()).isEqualTo(1);
        assertThat(load.pendingPromptTokens()).as("16 of 40 are expected to be cached").isEqualTo(24);
        assertThat(load.contextTokens()).isEqualTo(81);
        assertThat(load.routers()).containsExactly(new RouterLoad(router, 2, 1, 24));
        assertThat(load.news()).isGreaterThan(news);
        refused(request(1).withChoices(2), FailureReason.QUEUE_FULL, "2 of 3 generations are alive, 2 more");
        goOn.countDown();
        running.awaitEnd();
        await(() -> engine.load().load().routers().equals(List.of(new RouterLoad(router, 1, 1, 24))));
    }

    @Test
    void what_others_bring_to_the_engine_counts_too() {
        engine.start();
        await(() -> engine.load().freeBlocks() == 80);
        server.answer("/metrics", TestEngine.json(200, """
                process_start_time_seconds 1.79536544707e+09
                vllm:num_requests_running{engine="0"} 3.0
                vllm:num_requests_waiting{engine="0"} 2.0
                vllm:kv_cache_usage_perc{engine="0"} 0.25
                """));
        await(() -> engine.load().freeBlocks() == 60);
        assertThat(engine.load().load().running()).isEqualTo(3);
        assertThat(engine.load().load().waiting()).isEqualTo(2);
        assertThat(engine.load().answers()).isTrue();
        assertThat(restarted.getCount()).isEqualTo(1);
    }

    @Test
    void another_engine_at_the_same_address_is_asked_nothing_and_nobody_waits_for_it() throws Exception {
        use(link.withMostInFlight(1));
        server.answer(PATH, exchange -> {
            if (exchange.request().body().contains("\"stream\":true")) {
                exchange.begin();
                exchange.data(tokens("[1]", null));
                exchange.awaitHangUp();
            } else {
                TestEngine.json(200, tokens("[1]", "length")).write(exchange);
            }
        });
        List<Heard> heard = List.of(ask(5).awaitTokens(1), ask(5), ask(5));
        server.answer("/v1/models", TestEngine.json(200, "{\"data\":[{\"id\":\"smollm2-135m\",\"root\":\"other\"}]}"));
        server.answer("/metrics", TestEngine.json(200, "process_start_time_seconds 1.79536549999e+09\n"));
        engine.start();
        restarted.await();
        heard.forEach(each -> assertThat(each.awaitEnd().failed).isEqualTo(FailureReason.SHUTTING_DOWN));
        await(() -> !engine.load().answers());
        refused(request(1), FailureReason.SHUTTING_DOWN, "");
        assertThat(server.requests(PATH).stream().filter(each -> each.body().contains("\"stream\":true"))).hasSize(1);
    }

    @Test
    void an_unhealthy_engine_is_asked_nothing_until_it_is_well() {
        engine.start();
        server.answer("/health", TestEngine.json(503, ""));
        await(() -> !engine.load().answers());
        refused(request(1), FailureReason.SHUTTING_DOWN, "does not answer");
        server.answer("/health", TestEngine.json(200, ""));
        await(() -> engine.load().answers());
    }

    @Test
    void another_life_of_the_same_engine_is_served_on() throws Exception {
        server.answer(PATH, Captures.answer("vllm-0.32/completions-ids-return-token-ids"));
        engine.close();
        engine = new ForeignEngine(link, EngineProbe.connect(link, EngineKind.VLLM), 0, 49_152, () -> 77, _ -> 16,
                tellings::incrementAndGet, lives::incrementAndGet, restarted::countDown);
        int asked = server.requests(PATH).size();
        server.answer("/metrics", TestEngine.json(200, Captures.body("vllm-0.32/metrics-before")
                .replaceAll("process_start_time_seconds \\S+", "process_start_time_seconds 1.79536549999e+09")));
        // it is loading its model
        server.answer(PATH, TestEngine.json(503, ""),
                Captures.answer("vllm-0.32/completions-ids-return-token-ids"));
        engine.start();
        await(() -> server.requests(PATH).size() >= asked + 2);
        server.answer("/health", TestEngine.json(503, ""));
        await(() -> !engine.load().answers());
        server.answer("/health", TestEngine.json(200, ""));
        await(() -> engine.load().answers());

        assertThat(restarted.getCount()).as("it is no other one").isEqualTo(1);
        assertThat(lives).as("but it has forgotten everything").hasValue(1);
        assertThat(server.requests(PATH)).hasSize(asked + 2);
    }

    @Test
    void a_worker_that_ends_fails_what_is_alive_and_takes_nothing_more() {
        server.answer(PATH, exchange -> {
            exchange.begin();
            exchange.data(tokens("[1]", null));
            exchange.awaitHangUp();
        });
        Heard heard = ask(5).awaitTokens(1);
        engine.close();
        assertThat(heard.awaitEnd().failed).isEqualTo(FailureReason.SHUTTING_DOWN);
        refused(request(1), FailureReason.SHUTTING_DOWN, "going away");
    }

    @Test
    void an_sglang_streams_all_its_tokens_each_time_and_is_told_when_nobody_wants_more() {
        use(new SglangTokens(true));
        List<String> pieces = new ArrayList<>();
        for (String ids : List.of("5", "5,6", "5,6,2")) {
            int count = ids.split(",").length;
            pieces.add("{\"text\":\"x\",\"output_ids\":[" + ids + "],\"meta_info\":{\"id\":\"i\",\"finish_reason\":"
                    + (count == 3 ? "{\"type\":\"stop\",\"matched\":2}" : "null") + ",\"prompt_tokens\":40,"
                    + "\"completion_tokens\":" + count + ",\"cached_tokens\":32}}");
        }
        pieces.add("[DONE]");
        server.answer(SglangTokens.PATH, TestEngine.stream(pieces), exchange -> {
            exchange.begin();
            exchange.data(pieces.getFirst());
            exchange.awaitHangUp();
        });
        server.answer("/abort_request", TestEngine.json(200, ""));
        assertThat(ask(9).awaitEnd()).hasToString("[5, 6, 2] STOP " + new Usage(40, 32, 3) + " null null");
        assertThat(server.requests("/abort_request")).isEmpty();

        Heard heard = new Heard();
        ForeignGeneration generation = engine.submit(request(9), List.of(heard)).getFirst();
        heard.awaitTokens(1);
        engine.stop(generation);
        assertThat(heard.awaitEnd().usage).isEqualTo(new Usage(40, 32, 1));
        await(() -> server.requests("/abort_request").size() == 1);
        String rid = server.requests(SglangTokens.PATH).get(1).body().replaceAll(".*\"rid\":\"([^\"]+)\".*", "$1");
        assertThat(server.requests("/abort_request").getFirst().body()).isEqualTo("{\"rid\":\"" + rid + "\"}");
    }

    private Heard ask(int maxTokens) {
        return ask(request(maxTokens));
    }

    private Heard ask(GenerateRequest request) {
        var heard = new Heard();
        engine.submit(request, List.of(heard));
        return heard;
    }

    private void refused(GenerateRequest request, FailureReason reason, String message) {
        List<GenerationListener> listeners = new ArrayList<>();
        for (int i = 0; i < request.choices(); i++) {
            listeners.add(new Heard());
        }
        assertThatThrownBy(() -> engine.submit(request, listeners))
                .isInstanceOfSatisfying(RefusedException.class, e -> assertThat(e.reason()).isEqualTo(reason))
                .hasMessageContaining(message);
    }

    private static GenerateRequest request(int maxTokens) {
        return GenerateRequest.of("r", Captures.PROMPT, SamplingParameters.GREEDY, maxTokens(maxTokens));
    }

    private static String tokens(String ids, String end) {
        return "{\"id\":\"cmpl-1\",\"choices\":[{\"index\":0,\"text\":\"x\",\"logprobs\":null,\"finish_reason\":"
                + (end == null ? "null" : "\"" + end + "\"") + ",\"stop_reason\":null,\"prompt_token_ids\":null,"
                + "\"token_ids\":" + ids + "}]}";
    }

    private static String usage(int promptTokens, int cachedTokens) {
        return "{\"choices\":[],\"usage\":{\"prompt_tokens\":" + promptTokens + ",\"completion_tokens\":1,"
                + "\"prompt_tokens_details\":{\"cached_tokens\":" + cachedTokens + "}}}";
    }

    private static void await(BooleanSupplier condition) {
        long deadline = System.nanoTime() + LONGEST.toNanos();
        while (!condition.getAsBoolean()) {
            assertThat(System.nanoTime() - deadline).isNegative();
            try {
                Thread.sleep(5);
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
        }
    }
}
