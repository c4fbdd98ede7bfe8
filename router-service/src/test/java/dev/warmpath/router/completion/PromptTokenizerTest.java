package dev.warmpath.router.completion;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.warmpath.protocol.block.HashSettings;
import dev.warmpath.protocol.fleet.ModelDescription;
import dev.warmpath.protocol.fleet.RevisionParts;
import dev.warmpath.router.fleet.ServedModel;
import dev.warmpath.router.metrics.RouterMetrics;
import dev.warmpath.router.tokenization.ModelFiles;
import dev.warmpath.router.tokenization.ModelTokenizer;
import dev.warmpath.router.tokenization.template.ChatMessage;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class PromptTokenizerTest {

    private static final Path MODEL = Path.of("../models/warmpath-tiny");
    private static final RevisionParts PARTS = new RevisionParts("", "", "", "", "", HashSettings.SHA256_CBOR, "0", 16);

    private final PromptTokenizer prompts = new PromptTokenizer(
            new CompletionProperties(1, 1), new RouterMetrics(new SimpleMeterRegistry()));

    /** The longest token has 15 bytes: 16 tokens cannot hold 241 characters. */
    @Test
    void a_prompt_that_cannot_fit_is_refused_without_tokenizing_it() throws IOException {
        var tokenizer = new ModelTokenizer(new ModelFiles(Files.readAllBytes(MODEL.resolve("tokenizer.json")),
                Files.readAllBytes(MODEL.resolve("tokenizer_config.json")), null, null));
        var model = new ServedModel(new ModelDescription("tiny", PARTS.revision(), PARTS, 1_000, 16, 2048),
                HashSettings.ofBlockSize(16), tokenizer);

        assertThat(prompts.tokenize(model, new Prompt.Text("a".repeat(240), false)).block()).hasSizeGreaterThan(16);
        assertHopeless(model, new Prompt.Text("a".repeat(241), false));
        assertHopeless(model, new Prompt.Chat(List.of(new ChatMessage("user", "a".repeat(241), Map.of())), true));
    }

    private void assertHopeless(ServedModel model, Prompt prompt) {
        var refusal = catchThrowableOfType(BadRequestException.class, () -> prompts.tokenize(model, prompt).block());
        assertThat(refusal.fault()).isEqualTo(BadRequestException.Fault.CONTEXT_LENGTH_EXCEEDED);
        assertThat(refusal.field()).isEqualTo(prompt.field());
        assertThat(refusal)
                .hasMessage("the prompt has more than 16 tokens, the model takes 16 with at least one of the answer");
    }
}
