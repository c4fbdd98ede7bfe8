package dev.warmpath.router.completion;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.warmpath.protocol.block.HashSettings;
import dev.warmpath.protocol.fleet.ModelDescription;
import dev.warmpath.protocol.fleet.RevisionParts;
import dev.warmpath.router.admission.AdmissionControl;
import dev.warmpath.router.admission.AdmissionControl.Permit;
import dev.warmpath.router.metrics.RouterMetrics;
import dev.warmpath.router.models.ServedModel;
import dev.warmpath.router.tracing.RequestTraces;
import dev.warmpath.tokenization.ModelFiles;
import dev.warmpath.tokenization.ModelTokenizer;
import dev.warmpath.tokenization.template.ChatMessage;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.micrometer.observation.ObservationRegistry;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.junit.jupiter.api.Test;

class PromptTokenizerTest {

    private static final Path MODEL = Path.of("../models/warmpath-tiny");
    private final RouterMetrics metrics = new RouterMetrics(new SimpleMeterRegistry());
    private final AdmissionControl admission = new AdmissionControl(() -> 100, 1_000, metrics, System::nanoTime);
    private final PromptTokenizer prompts = new PromptTokenizer(
            new ComputationPool(new CompletionProperties(1, 1), metrics), metrics,
            new RequestTraces(ObservationRegistry.NOOP, /* propagator */ null));

    /** The longest token has 15 bytes: 16 tokens cannot hold 241 characters. */
    @Test
    void a_prompt_that_cannot_fit_is_refused_without_tokenizing_it() throws IOException {
        ServedModel model = tiny(/* contextLength */ 16);

        assertThat(tokenize(model, new Prompt.Text("prompt", "a".repeat(240), false))).hasSizeGreaterThan(16);
        assertHopeless(model, new Prompt.Text("prompt", "a".repeat(241), false));
        assertHopeless(model, new Prompt.Chat(List.of(new ChatMessage("user", "a".repeat(241))),
                /* addGenerationPrompt */ true, /* continueFinalMessage */ false, Map.of()));
    }

    /** Its 100,000 tokens might be 6,667, by the longest one. */
    @Test
    void a_long_prompt_that_does_not_fit_is_refused_when_a_part_of_it_has_been_counted() throws IOException {
        ServedModel model = tiny(/* contextLength */ 8_192);

        assertHopeless(model, new Prompt.Text("prompt", "x7".repeat(50_000), false));
        assertThat(tokenize(model, new Prompt.Text("prompt", " the key".repeat(4_000), false))).hasSizeLessThan(8_192);
        assertThat(tokenize(model, new Prompt.Text("prompt", "x7".repeat(30_000), false))).hasSizeGreaterThan(8_192);
    }

    /** U+0378 is no character yet, so the library has the say: it takes many times as long, and is made first. */
    @Test
    void a_short_prompt_stays_on_its_thread_unless_the_library_is_needed() throws IOException {
        ServedModel model = tiny(/* contextLength */ 8_192);

        assertThat(threadOf(model, "the key")).isEqualTo(Thread.currentThread().getName());
        assertThat(threadOf(model, "the key \u0378")).startsWith("tokenizer-");
        assertThat(threadOf(model, "the key ".repeat(1_000))).startsWith("tokenizer-");
        assertThat(tokenize(model, new Prompt.Text("prompt", "the key \u0378", false)))
                .isEqualTo(model.tokenizer().encode("the key \u0378", false));
    }

    private String threadOf(ServedModel model, String text) {
        try (Permit permit = admission.enter(0)) {
            return Objects.requireNonNull(prompts.tokenize(model, new Prompt.Text("prompt", text, false), permit)
                    .map(_ -> Thread.currentThread().getName()).block());
        }
    }

    private static ServedModel tiny(int contextLength) throws IOException {
        var tokenizer = new ModelTokenizer(new ModelFiles(Files.readAllBytes(MODEL.resolve("tokenizer.json")),
                Files.readAllBytes(MODEL.resolve("tokenizer_config.json")), null, null));
        var parts = new RevisionParts("", "", "", "", "", HashSettings.SHA256_CBOR, "0", 16, contextLength);
        return new ServedModel(new ModelDescription("tiny", parts.revision(), parts, 1_000, 2048),
                HashSettings.ofBlockSize(16), tokenizer);
    }

    private int[] tokenize(ServedModel model, Prompt prompt) {
        try (Permit permit = admission.enter(0)) {
            return Objects.requireNonNull(prompts.tokenize(model, prompt, permit).block());
        }
    }

    private void assertHopeless(ServedModel model, Prompt prompt) {
        var refusal = catchThrowableOfType(BadRequestException.class, () -> tokenize(model, prompt));
        assertThat(refusal.fault()).isEqualTo(BadRequestException.Fault.CONTEXT_LENGTH_EXCEEDED);
        assertThat(refusal.field()).isEqualTo(prompt.field());
        int most = model.description().contextLength();
        assertThat(refusal).hasMessage("This model's maximum context length is " + most
                + " tokens. The prompt has more");
    }
}
