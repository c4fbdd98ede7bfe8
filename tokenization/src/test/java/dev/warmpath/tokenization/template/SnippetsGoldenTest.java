package dev.warmpath.tokenization.template;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.warmpath.tokenization.template.TemplateException.Kind;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import tools.jackson.databind.json.JsonMapper;

/** Holds every operation to jinja2's own results, one small template each; {@code chat-templates/generate.py}. */
class SnippetsGoldenTest {
    record Snippet(String topic, String template, @Nullable String text, @Nullable String error) {
        @Override
        public String toString() {
            return topic + ": " + template;
        }
    }

    record Golden(Map<String, Object> variables, List<Map<String, Object>> messages, List<Snippet> snippets) {}

    private static final Golden GOLDEN = JsonMapper.shared()
            .readValue(ChatTemplateGoldenTest.resource("snippets-golden.json"), Golden.class);

    static Stream<Snippet> snippets() {
        return GOLDEN.snippets.stream();
    }

    private static String render(String template) {
        return ChatTemplate.compile(template).render(
                GOLDEN.messages.stream().map(ChatTemplateGoldenTest::message).toList(), false, null, null,
                GOLDEN.variables).text();
    }

    @ParameterizedTest
    @MethodSource("snippets")
    void text_is_the_one_that_jinja2_renders_and_what_it_fails_at_fails(Snippet snippet) {
        if (snippet.text != null) {
            assertThat(render(snippet.template)).isEqualTo(snippet.text);
        } else {
            assertThat(catchThrowableOfType(TemplateException.class, () -> render(snippet.template)).kind())
                    .isIn(Kind.EVALUATION, Kind.UNSUPPORTED, Kind.LIMIT);
        }
    }

    @Test
    void there_are_149_snippets_and_60_of_them_fail() {
        assertThat(GOLDEN.snippets).hasSize(149);
        assertThat(GOLDEN.snippets).filteredOn(snippet -> snippet.error != null).hasSize(60);
    }
}
