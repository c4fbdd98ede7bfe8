package dev.warmpath.worker;

import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.warmpath.process.TestEngine;
import dev.warmpath.worker.foreign.generate.Captures;
import dev.warmpath.worker.foreign.generate.EngineKind;
import dev.warmpath.worker.foreign.generate.EngineLink;
import dev.warmpath.worker.foreign.generate.EngineProbe;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A vocabulary of two words and an added token, beside an engine that says what a token is. */
class ForeignTokenizerTest {

    private final TestEngine engine = Captures.vllm32().answer("/v1/completions",
            Captures.answer("vllm-0.32/completions-ids-return-token-ids"));

    @TempDir
    private Path model;

    @BeforeEach
    void write() throws IOException {
        Files.writeString(model.resolve("config.json"), "{\"vocab_size\": 10}");
        Files.writeString(model.resolve("tokenizer.json"), """
                {"model": {"vocab": {"Hello": 5, "\u0120world": 6}}, "added_tokens":
                  [{"id": 7, "content": "<|end|>"}]}""");
    }

    @AfterEach
    void close() {
        engine.close();
    }

    @Test
    void the_same_words_are_the_same_with_and_without_a_space_before_them() {
        tells("Hello", " world", "<|end|>");
        assertThatCode(this::compare).doesNotThrowAnyException();
        tells("Hello", "world", "");
        assertThatCode(this::compare).as("a space and an added token that it leaves out").doesNotThrowAnyException();
    }

    @Test
    void another_word_ends_the_start_with_both() {
        tells("Hello", " word", "<|end|>");
        assertThatThrownBy(this::compare).isInstanceOf(SettingsException.class)
                .hasMessageContaining("token 6 is 'word' there and 'world' here")
                .hasMessageContaining("Set warmpath.model.directory to the folder from which the engine was started");
        tells("", "world", "<|end|>");
        assertThatThrownBy(this::compare).as("no word is left out").hasMessageContaining("token 5 is '' there");
        tells("Hello", "world", "</s>");
        assertThatThrownBy(this::compare).hasMessageContaining("token 7 is '</s>' there and '<|end|>' here");
    }

    @Test
    void an_engine_that_does_not_tell_is_believed() {
        assertThatCode(this::compare).as("no such page").doesNotThrowAnyException();
        engine.answer("/detokenize", TestEngine.json(200, "<html>"));
        assertThatCode(this::compare).doesNotThrowAnyException();
        engine.answer("/detokenize", TestEngine.json(200, "{\"tokens\": [1]}"));
        assertThatCode(this::compare).doesNotThrowAnyException();
        engine.answer("/detokenize", TestEngine.Exchange::hangUp);
        assertThatCode(this::compare).doesNotThrowAnyException();
        engine.answer("/detokenize", exchange -> {
            exchange.bytes("HTTP/1.1 200 OK\r\n\r\n".getBytes(StandardCharsets.US_ASCII));
            exchange.bytes(new byte[16 << 20]);
            exchange.hangUp();
        });
        assertThatCode(this::compare).as("16 MiB").doesNotThrowAnyException();
    }

    @Test
    void a_tokenizer_that_is_none_is_a_sentence() throws IOException {
        Files.writeString(model.resolve("tokenizer.json"), "{\"model\": ");
        assertThatThrownBy(this::compare).isInstanceOf(SettingsException.class)
                .hasMessageContaining("tokenizer.json is not JSON");
    }

    private void tells(String... inTurn) {
        TestEngine.Answer[] answers = new TestEngine.Answer[inTurn.length];
        for (int i = 0; i < inTurn.length; i++) {
            answers[i] = TestEngine.json(200, "{\"prompt\": \"" + inTurn[i] + "\"}");
        }
        engine.answer("/detokenize", answers);
    }

    private void compare() throws Exception {
        EngineLink link = EngineLink.to(engine.address());
        ForeignTokenizer.requireSame(link, EngineProbe.connect(link, EngineKind.VLLM), model);
    }
}
