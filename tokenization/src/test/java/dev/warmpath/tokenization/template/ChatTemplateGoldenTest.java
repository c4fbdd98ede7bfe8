package dev.warmpath.tokenization.template;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.time.Clock;
import java.time.Instant;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import tools.jackson.core.type.TypeReference;
import tools.jackson.databind.json.JsonMapper;

/** Holds the interpreter to jinja2's own output; {@code chat-templates/generate.py} renders the expectations. */
class ChatTemplateGoldenTest {
    record GoldenCase(String template, String name, List<Map<String, Object>> messages, boolean add_generation_prompt,
            @Nullable String bos_token, @Nullable String eos_token, Map<String, Object> variables,
            @Nullable String prompt, @Nullable String refused) {
        @Override
        public String toString() {
            return template + ", " + name + (add_generation_prompt ? "" : ", no generation prompt");
        }

        RenderedPrompt render() {
            return compile(template).render(messages.stream().map(ChatTemplateGoldenTest::message).toList(),
                    add_generation_prompt, bos_token, eos_token, variables);
        }
    }

    private static final RenderClock NOVEMBER = new RenderClock(
            Clock.fixed(Instant.parse("2026-11-05T10:00:00Z"), ZoneOffset.UTC), System::nanoTime);

    static String resource(String name) {
        try (InputStream in = Objects.requireNonNull(
                ChatTemplateGoldenTest.class.getResourceAsStream("/chat-templates/" + name), name)) {
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    static ChatTemplate compile(String template) {
        return ChatTemplate.compile(resource(template + ".jinja"), TemplateLimits.DEFAULT, NOVEMBER);
    }

    static ChatMessage message(Map<String, Object> fields) {
        var rest = new HashMap<>(fields);
        var role = (String) Objects.requireNonNull(rest.remove("role"));
        @Nullable List<String> parts = switch (rest.remove("content")) {
            case null -> null;
            case List<?> list -> list.stream().map(part -> String.valueOf(((Map<?, ?>) part).get("text"))).toList();
            case Object text -> List.of(text.toString());
        };
        return new ChatMessage(role, parts, rest);
    }

    static Stream<GoldenCase> goldenCases() {
        return JsonMapper.shared().readValue(resource("golden.json"), new TypeReference<List<GoldenCase>>() {})
                .stream();
    }

    @ParameterizedTest
    @MethodSource("goldenCases")
    void prompt_is_the_one_that_jinja2_renders(GoldenCase golden) {
        if (golden.refused() == null) {
            assertThat(golden.render().text()).isEqualTo(golden.prompt());
        } else {
            var refusal = catchThrowableOfType(TemplateException.class, golden::render);
            assertThat(refusal.kind()).isEqualTo(TemplateException.Kind.REFUSED);
            assertThat(refusal).hasMessage(golden.refused());
        }
    }

    @Test
    void there_are_273_golden_cases_and_10_of_them_refuse() {
        var cases = new ArrayList<>(goldenCases().toList());
        assertThat(cases).hasSize(273);
        assertThat(cases).filteredOn(golden -> golden.refused() != null).hasSize(10);
    }

    @Test
    void editing_the_role_markers_in_the_template_changes_the_prompt() {
        var messages = List.of(new ChatMessage("user", "Hi"));
        String source = resource("chatml.jinja");
        String edited = source.replace("<|im_start|>", "<<").replace("<|im_end|>", ">>");

        assertThat(ChatTemplate.compile(source).render(messages, true, null, null, Map.of()).text())
                .isEqualTo("<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n");
        assertThat(ChatTemplate.compile(edited).render(messages, true, null, null, Map.of()).text())
                .isEqualTo("<<user\nHi>>\n<<assistant\n");
    }
}
