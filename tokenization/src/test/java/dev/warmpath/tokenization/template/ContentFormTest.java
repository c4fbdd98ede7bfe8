package dev.warmpath.tokenization.template;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Told with vLLM's own rule, of which these are the cases; 514 templates of models were told alike. */
class ContentFormTest {
    private static ContentForm form(String source) {
        return ChatTemplate.compile(source).contentForm();
    }

    @ParameterizedTest
    @CsvSource(delimiter = ';', textBlock = """
            {% for m in messages %}{{ m.content }}END; false
            {% for m in messages %}{% for c in m.content %}ENDEND; true
            {% for m in messages %}{% for c in m['content'] %}ENDEND; true
            {% for m in messages %}{% for c in m['content']|selectattr('type', 'eq', 'text') %}ENDEND; true
            {% for m in messages[1:] %}{% for c in m.content[:2] %}ENDEND; true
            {% set a = messages %}{% set b = a[1:] %}{% for m in b %}{% for c in m.content %}ENDEND; true
            {% set a = messages|list %}{% for m in a %}{% for c in m.content %}ENDEND; true
            {% for c in messages[0].content %}END; false
            {% for m in messages %}{% set c = m.content %}{% for x in c %}ENDEND; false
            {% for m in messages %}{% for c in m.content.items() %}ENDEND; false
            {% for m in messages %}{% for c in m.contents %}ENDEND; false
            {% for m in tools %}{% for c in m.content %}ENDEND; false
            {% for i, m in messages %}END{% for m in messages %}{% for c in m.content %}ENDEND; false
            {% set ns.a = messages %}{% for m in messages %}{% for c in m.content %}ENDEND; false
            {% set a = b %}{% set b = a %}{% set a = messages %}{% for m in b %}{% for c in m.content %}ENDEND; true
            """)
    void a_template_takes_parts_if_it_goes_through_the_content_of_one_of_the_messages(String source, boolean parts) {
        ContentForm form = form(source.replace("END", "{% endfor %}"));

        assertThat(form.parts()).isEqualTo(parts);
        assertThat(form.text()).isEqualTo(!parts);
    }

    private static final String PARTS = "{% for m in messages %}{% for c in m.content %}{% endfor %}{% endfor %}";

    @Test
    void a_template_that_looks_for_strings_takes_them_too() {
        assertThat(form(PARTS + "{{ x is string }}")).isEqualTo(new ContentForm(true, true, false));
        assertThat(form(PARTS + "{{ x is mapping }}")).isEqualTo(new ContentForm(false, true, false));
    }

    @Test
    void a_template_that_asks_for_none_gets_none() {
        assertThat(form("{{ messages[0].content is none }}").none()).isTrue();
        assertThat(form("{{ messages[0]['content'] is not none }}").none()).isTrue();
        assertThat(form("{{ m.content == none }}").none()).isTrue();
        assertThat(form("{{ m.content|trim != None }}").none()).isTrue();
        assertThat(form("{{ m.content }}{{ tools is none }}{{ none == x }}").none()).isFalse();
        assertThat(form(PARTS + "{{ m.content is none }}").none()).isFalse();
    }

    /** As a template of each form sees a message without content, with one part, with two; of a tool with two. */
    @ParameterizedTest
    @CsvSource(delimiter = ';', quoteCharacter = '`', textBlock = """
            {{ '' }}; ''; 'a'; 'a\\nb'; 'a\\nb'
            {{ m.content is none }}; None; 'a'; 'a\\nb'; 'a\\nb'
            {{ x is string }}; ''; 'a'; [A, B]; 'a\\nb'
            {{ 0 }}; []; [A]; [A, B]; 'a\\nb'
            """)
    void content_comes_in_the_form_that_the_template_takes(
            String marks, String none, String one, String two, String tool) {
        boolean parts = two.startsWith("[");
        ChatTemplate template = ChatTemplate.compile(
                "{{ [messages[0].content] }}{% if false %}" + marks + (parts ? PARTS : "") + "{% endif %}");

        assertThat(seen(template, new ChatMessage("assistant", null, Map.of()))).isEqualTo("[" + none + "]");
        assertThat(seen(template, new ChatMessage("user", "a"))).isEqualTo("[" + one + "]");
        assertThat(seen(template, new ChatMessage("user", List.of("a", "b"), Map.of()))).isEqualTo("[" + two + "]");
        assertThat(seen(template, new ChatMessage("tool", List.of("a", "b"), Map.of()))).isEqualTo("[" + tool + "]");
    }

    private static String seen(ChatTemplate template, ChatMessage message) {
        return template.render(List.of(message), true, null, null, Map.of()).text()
                .replace("{'type': 'text', 'text': 'a'}", "A").replace("{'type': 'text', 'text': 'b'}", "B");
    }

    @Test
    void parts_are_known_to_be_the_clients_and_a_message_of_them_is_continued_where_the_last_one_ends() {
        var message = new ChatMessage("user", List.of("X", "Y"), Map.of());
        RenderedPrompt prompt = ChatTemplate.compile("{% for m in messages %}{% for c in m.content %}[{{ c.text }}]"
                + "{% endfor %}{% endfor %}!").render(List.of(message), false, null, null, Map.of());

        assertThat(prompt.text()).isEqualTo("[X][Y]!");
        assertThat(prompt.isFromClient(1, 2)).isTrue();
        assertThat(prompt.isFromClient(2, 4)).isFalse();
        assertThat(prompt.upToEndOf(message).text()).isEqualTo("[X][Y");
    }
}
