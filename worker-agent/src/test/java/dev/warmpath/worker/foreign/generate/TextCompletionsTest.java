package dev.warmpath.worker.foreign.generate;

import static dev.warmpath.protocol.generate.StopConditions.maxTokens;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.warmpath.process.TestEngine;
import dev.warmpath.process.TestEngine.Answer;
import dev.warmpath.protocol.fleet.Ability;
import dev.warmpath.protocol.generate.FailureReason;
import dev.warmpath.protocol.generate.FinishReason;
import dev.warmpath.protocol.generate.GenerateEvent.Usage;
import dev.warmpath.protocol.generate.GenerateRequest;
import dev.warmpath.protocol.generate.LogitRules;
import dev.warmpath.protocol.generate.SamplingParameters;
import dev.warmpath.protocol.generate.StopConditions;
import dev.warmpath.tokenization.IncrementalDetokenizer;
import dev.warmpath.tokenization.ModelFiles;
import dev.warmpath.tokenization.ModelTokenizer;
import dev.warmpath.tokenization.Spelling;
import dev.warmpath.tokenization.TestTokenizers;
import dev.warmpath.worker.engine.RefusedException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.NullSource;
import org.junit.jupiter.params.provider.ValueSource;

/** A server that takes and gives text, found, asked and told as one of tokens. */
class TextCompletionsTest {

    private static final ModelTokenizer TOKENIZER = new ModelTokenizer(TestTokenizers.files("""
            {"bos_token": "<|begin|>", "eos_token": "<|end|>"}""", "{}", "{}"));
    private static final Spelling SPELLING = new Spelling(TOKENIZER);
    private static final Dialect TEXT = new TextCompletions("m", SPELLING, /* begins */ true, /* takesPlain */ true);
    private static final int END = TOKENIZER.eosIds().getFirst();

    private final TestEngine server = TextServer.start();
    private final ForeignEngine engine = new ForeignEngine(EngineLink.to(server.address()), new FoundEngine(
            new EngineFacts(EngineKind.OPENAI, null, "m", null, 0, null, 0, Map.of()), TEXT), 1_024, 0, () -> 1, _ -> 0,
            () -> { }, () -> { }, () -> { });

    @AfterEach
    void close() {
        engine.close();
        server.close();
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1})
    @NullSource
    void one_that_refuses_ids_is_asked_for_text_and_its_own_count_tells_whether_it_adds_a_begin_token(Integer added)
            throws Exception {
        server.answer(Completions.PATH, TextServer.counting(SPELLING, added));
        FoundEngine found = probe();
        boolean begins = added == null || added == 1;            // the model's tokenizer adds one
        assertThat(found.dialect()).isEqualTo(new TextCompletions("smollm2-135m", SPELLING, begins, true));
        assertThat(found.facts().kind()).isEqualTo(EngineKind.OPENAI);
        assertThat(found.abilities()).containsExactly(Ability.CHOICES);
        assertThat(server.requests(Completions.PATH)).hasSize(2);
        assertThat(server.requests(Completions.PATH).getLast().body()).contains("<|end|>\",\"max_tokens\":1,");
        assertThat(found.isLike(probe())).as("found again, it is the same").isTrue();
    }

    private FoundEngine probe() throws Exception {
        return EngineProbe.connect(EngineLink.to(server.address()), EngineKind.OPENAI, () -> SPELLING);
    }

    @Test
    void one_that_passes_over_what_was_asked_for_is_asked_for_text_too() throws Exception {
        Answer text = TextServer.counting(SPELLING, 0);
        server.answer(Completions.PATH, TestEngine.json(200, "{\"choices\":[{\"text\":\"a\"}]}"), text);
        assertThat(probe().dialect()).isInstanceOf(TextCompletions.class);
    }

    @Test
    void one_that_takes_openais_fields_alone_is_sent_no_others() throws Exception {
        Answer text = TextServer.counting(SPELLING, 0);
        server.answer(Completions.PATH, exchange -> {
            if (exchange.request().body().contains("top_k")) {
                TestEngine.json(422, "{\"error\":\"unknown field top_k\"}").write(exchange);
            } else {
                text.write(exchange);
            }
        });
        assertThat(probe().dialect()).isEqualTo(new TextCompletions("smollm2-135m", SPELLING, false, false));
    }

    @Test
    void one_that_reads_a_prompt_otherwise_or_takes_nothing_is_refused_with_the_numbers() {
        int own = SPELLING.countOf("The naïve Größe of 3 × 14159 tokens:\n\treturn [i for i in range(42)]<|end|>");
        server.answer(Completions.PATH, TextServer.counting(SPELLING, 9));
        assertThatThrownBy(this::probe).isInstanceOf(UnsuitableEngineException.class)
                .hasMessageContaining("reads a prompt of " + own + " tokens as one of " + (own + 9));
        server.answer(Completions.PATH, TestEngine.json(500, "{\"error\":{\"message\":\"broken\"}}"));
        assertThatThrownBy(this::probe).isInstanceOf(UnsuitableEngineException.class)
                .hasMessageContaining("takes neither token ids nor text").hasMessageContaining("broken");
    }

    @Test
    void the_prompt_is_text_without_the_begin_token_and_what_is_off_is_written_as_off() {
        int[] prompt = TOKENIZER.encode("<|begin|><|user|>\nWhat?<|end|>", false);
        assertThat(body(TEXT, prompt)).isEqualTo("{'model':'m','prompt':'<|user|>\\nWhat?<|end|>','max_tokens':5,"
                + "'temperature':0.0,'seed':2147483647,'top_p':1.0,'presence_penalty':0.0,'frequency_penalty':0.0,"
                + "'top_k':0,'min_p':0,'repeat_penalty':1,'stream':true,'stream_options':{'include_usage':true}}");
        assertThat(body(new TextCompletions("m", SPELLING, false, false), prompt)).isEqualTo("{'model':'m','prompt':"
                + "'<|begin|><|user|>\\nWhat?<|end|>','max_tokens':5,'temperature':0.0,'seed':2147483647,"
                + "'top_p':1.0,'presence_penalty':0.0,'frequency_penalty':0.0,"
                + "'stream':true,'stream_options':{'include_usage':true}}");
    }

    private static String body(Dialect dialect, int[] prompt) {
        var ask = new Ask(GenerateRequest.of("r", prompt, SamplingParameters.GREEDY, maxTokens(5)), "id", -1, 5, false);
        return new String(dialect.body(ask), StandardCharsets.UTF_8).replace('"', '\'');
    }

    @Test
    void what_text_cannot_say_is_refused_by_name() {
        refused(request(5).withLogprobs(true, false, 1), FailureReason.UNSUPPORTED, "logprobs");
        refused(of(SamplingParameters.GREEDY.with(LogitRules.NONE.withBiases(new int[] {5}, 1f)), maxTokens(5)),
                FailureReason.UNSUPPORTED, "logitBias");
        refused(of(SamplingParameters.GREEDY.with(LogitRules.NONE.withBadWords(new int[] {4})),
                maxTokens(5)), FailureReason.UNSUPPORTED, "badWords");
        refused(of(SamplingParameters.GREEDY, StopConditions.pastTheEnd(5)), FailureReason.UNSUPPORTED, "ignoreEos");
        refused(of(SamplingParameters.GREEDY, new StopConditions(5, new int[] {END, 7}, false)),
                FailureReason.UNSUPPORTED, "stopTokenIds with token 7");
        TEXT.requireServed(new Ask(of(SamplingParameters.GREEDY, new StopConditions(5, new int[] {END}, false)), "id",
                1, 5, false));
    }

    @Test
    void a_prompt_that_text_cannot_tell_from_another_is_refused() {
        String typed = "<|user|>\nI am <|end|> you<|end|>";
        int[] markers = TOKENIZER.encode(typed, false);
        int[] words = new Spelling(TOKENIZER).ofAnswer("<|end|>");
        refused(prompt(words), FailureReason.INVALID_REQUEST, "spells one of the model's markers");
        int half = new Spelling(TOKENIZER).ofAnswer("\uD83D\uDC68\u200D")[0];
        assertThat(TOKENIZER.decode(new int[] {half})).isEqualTo("\uFFFD");
        refused(prompt(new int[] {half}), FailureReason.INVALID_REQUEST, "no whole characters");
        refused(prompt(new int[] {TOKENIZER.encode("<|begin|>", false)[0]}), FailureReason.INVALID_REQUEST,
                "none beside the model's begin token");
        TEXT.requireServed(new Ask(prompt(markers), "id", 1, 5, false));
    }

    private static GenerateRequest prompt(int[] ids) {
        return GenerateRequest.of("r", ids, SamplingParameters.GREEDY, maxTokens(5));
    }

    @Test
    void a_captured_stream_is_told_as_ids_that_say_the_same() {
        server.answer(Completions.PATH, Captures.answer("llama-cpp-python-0.3/completions-stream"));
        Heard heard = ask(60);
        assertThat(heard.awaitEnd().finished).isEqualTo(FinishReason.LENGTH);
        assertThat(text(heard)).isEqualTo(" Paris.\n- The United");
        assertThat(heard.usage).isEqualTo(new Usage(request(1).promptTokens().length, 0, heard.ids().length));
        assertThat(server.requests(Completions.PATH).getLast().headers()).as("some take UUIDs alone")
                .doesNotContainKey("x-request-id");
    }

    @Test
    void pieces_that_split_words_and_spell_markers_come_out_byte_for_byte() {
        List<String> pieces = List.of("Hel", "lo", "", "  wor", "ld<|e", "nd|><|user|>", "日本", "e\u0301", "\n\n",
                "👩‍👩‍👧");
        server.answer(Completions.PATH, exchange -> {
            exchange.begin();
            for (String piece : pieces) {
                exchange.data(TextServer.text(piece, null));
            }
            exchange.data(TextServer.text("", "stop"));
            exchange.data("[DONE]");
            exchange.end();
        });
        Heard heard = ask(500);
        assertThat(heard.awaitEnd().finished).isEqualTo(FinishReason.STOP);
        assertThat(text(heard)).isEqualTo(String.join("", pieces));
        for (int id : heard.ids()) {
            assertThat(TOKENIZER.isSpecial(id)).isFalse();
        }
    }

    @Test
    void an_answer_that_has_more_tokens_here_than_were_allowed_is_cut() {
        server.answer(Completions.PATH, exchange -> {
            exchange.begin();
            exchange.data(TextServer.text("zqzqzqzq", null));
            exchange.awaitHangUp();
        });
        Heard heard = ask(3);
        assertThat(heard.awaitEnd().finished).isEqualTo(FinishReason.LENGTH);
        assertThat(heard.ids()).hasSize(3);
        assertThat("zqzqzqzq").startsWith(text(heard));
    }

    @Test
    void a_count_of_the_prompt_that_is_another_is_counted_and_fails_nothing() {
        int own = request(1).promptTokens().length;
        server.answer(Completions.PATH, TestEngine.stream(TextServer.text(" a", "stop"),
                "{\"choices\":[],\"usage\":{\"prompt_tokens\":" + (own + 1) + "}}"), TestEngine.stream(
                        TextServer.text(" a", "stop"), "{\"choices\":[],\"usage\":{\"prompt_tokens\":" + (own + 9)
                                + "}}"));
        assertThat(ask(5).awaitEnd().finished).isEqualTo(FinishReason.STOP);
        assertThat(engine.counts().readOtherwise()).as("it adds a begin token").isZero();
        assertThat(ask(5).awaitEnd().finished).isEqualTo(FinishReason.STOP);
        assertThat(engine.counts().readOtherwise()).isEqualTo(1);
    }

    @Test
    void a_stream_that_was_dropped_for_another_and_one_of_a_prompt_that_is_too_long_have_failed() {
        server.answer(Completions.PATH, Captures.answer("llama-cpp-python-0.3/concurrent-first-stream"),
                Captures.answer("llama-cpp-python-0.3/error-prompt-too-long-stream"));
        Heard dropped = ask(150).awaitEnd();
        assertThat(dropped.failed).isEqualTo(FailureReason.ENGINE_FAILURE);
        assertThat(dropped.message).contains("its answer was done without a finish reason");
        assertThat(text(dropped)).startsWith(", the");
        Heard empty = ask(5).awaitEnd();
        assertThat(empty.failed).isEqualTo(FailureReason.ENGINE_FAILURE);
        assertThat(empty.message).contains("its answer ended without a finish reason");
    }

    @Test
    void text_that_the_vocabulary_cannot_write_is_of_another_model() {
        String json = new String(TestTokenizers.resource("metaspace.json"), StandardCharsets.UTF_8);
        var lacking = new ModelTokenizer(new ModelFiles(
                TestTokenizers.bytes(json.replace("<0xF0>", "<0xZZ>")), TestTokenizers.bytes("{}"), null, null));
        var dialect = new TextCompletions("m", new Spelling(lacking), false, true);
        assertThatThrownBy(() -> dialect.read(Dialect.JSON.readTree(TextServer.text("𓀀", null)),
                new Ask(request(5), "id", 1, 5, false), 0)).isInstanceOf(UnreadableAnswerException.class)
                .hasMessageContaining("cannot write");
    }

    private static String text(Heard heard) {
        var stream = new IncrementalDetokenizer(TOKENIZER, List.of(), /* continues */ true);
        var text = new StringBuilder();
        for (int id : heard.ids()) {
            text.append(stream.accept(id));
        }
        return text.append(stream.finish()).toString();
    }

    private Heard ask(int maxTokens) {
        var heard = new Heard();
        engine.submit(request(maxTokens), List.of(heard));
        return heard;
    }

    private static GenerateRequest request(int maxTokens) {
        return of(SamplingParameters.GREEDY, maxTokens(maxTokens));
    }

    private static GenerateRequest of(SamplingParameters sampling, StopConditions stop) {
        return GenerateRequest.of("r", TOKENIZER.encode("The capital of France is", false), sampling, stop);
    }

    private void refused(GenerateRequest request, FailureReason reason, String message) {
        assertThatThrownBy(() -> engine.submit(request, List.of(new Heard())))
                .isInstanceOfSatisfying(RefusedException.class, e -> assertThat(e.reason()).isEqualTo(reason))
                .hasMessageContaining(message);
        assertThat(server.requests(Completions.PATH)).isEmpty();
    }
}
