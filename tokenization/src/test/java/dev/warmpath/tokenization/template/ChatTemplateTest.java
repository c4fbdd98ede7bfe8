package dev.warmpath.tokenization.template;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.warmpath.tokenization.template.TemplateException.Kind;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ChatTemplateTest {
    private static final TemplateLimits SMALL =
            new TemplateLimits(10_000, 0, 1_000, 400_000, 16, 60, Duration.ofSeconds(60));

    private static String render(String source) {
        return ChatTemplate.compile(source).render(List.of(new ChatMessage("user", "hi")), true, null, null, Map.of())
                .text();
    }

    /** As Jinja 3.1.6 renders them. */
    @ParameterizedTest
    @CsvSource(delimiter = ';', quoteCharacter = '`', ignoreLeadingAndTrailingWhitespace = true, textBlock = """
            {{ [3,1,2]|sort }}; [1, 2, 3]
            {{ ['b','A','c']|sort }}; ['A', 'b', 'c']
            {{ ['b','A','a']|sort(case_sensitive=true) }}; ['A', 'a', 'b']
            {{ [3,1,2]|sort(reverse=true)|first }}; 3
            {{ [{'n':'b','k':1},{'n':'a','k':2},{'n':'A','k':1}]|sort(attribute='k,n')|map(attribute='n')|join('') }}; Aba
            {{ [{'n':'b'},{'n':'a'}]|sort(attribute='n')|map(attribute='n')|join('') }}; ab
            {{ [{'n':'b','k':1},{'n':'a','k':1}]|sort(true, attribute='k')|map(attribute='n')|join('') }}; ba
            {{ {'b':1,'A':2}|dictsort }}; [('A', 2), ('b', 1)]
            {{ {'b':1,'A':2}|dictsort(by='value', reverse=true) }}; [('A', 2), ('b', 1)]
            {{ ['a','A','b','a']|unique|join }}; ab
            {{ ['a','A','b','a']|unique(true)|join }}; aAb
            {{ [3,1,2]|min }}{{ [3,1,2]|max }}; 13
            {{ ['b','A']|min }}; A
            {{ []|max }}|; |
            {{ [{'k':2},{'k':1}]|max(attribute='k') }}; {'k': 2}
            {{ [1,2,3.5]|sum }}; 6.5
            {{ [{'k':2},{'k':1}]|sum(attribute='k') }}; 3
            {{ [1]|sum(start=10) }}; 11
            {{ 'hello wORLD-foo (bar) [x]'|title }}; Hello World-Foo (Bar) [X]
            {{ 'STRASSE-straße'|title }}; Strasse-Straße
            {{ ('a\\nb\\n\\nc'|indent).replace('\\n', '/') }}; a/    b//    c
            {{ ('a\\nb\\n\\nc'|indent(2, true, true)).replace('\\n', '/') }}; `  a/  b/  /  c`
            {{ ('a\\r\\nb'|indent('> ', first=true)).replace('\\n', '/') }}; > a/> b
            {{ ('a\\n'|indent).replace('\\n', '/') }}; a/
            {{ (-3)|abs }}{{ (-2.5)|abs }}{{ true|abs }}; 32.51
            {{ 2.5|round }} {{ 3.5|round }} {{ 2.675|round(2) }} {{ (-0.5)|round }}; 2.0 4.0 2.67 -0.0
            {{ 42.55|round(1,'floor') }} {{ 42.51|round(1,'ceil') }} {{ 5|round }} {{ 1234|round(-2) }}; 42.5 42.6 5 1200
            {{ '3.5'|float }} {{ ' 1e3 '|float }} {{ 'x'|float }} {{ 'x'|float(1.5) }} {{ 7|float }}; 3.5 1000.0 0.0 1.5 7.0
            """)
    void filters_that_order_measure_and_indent_are_jinjas(String source, String rendered) {
        assertThat(render(source)).isEqualTo(rendered);
    }

    @Test
    void what_was_indented_is_still_the_clients_but_for_the_spaces() {
        RenderedPrompt prompt = ChatTemplate.compile("<s>{{ messages[0].content|indent(1) }}</s>")
                .render(List.of(new ChatMessage("user", "<s>\n</s>")), true, null, null, Map.of());

        assertThat(prompt.text()).isEqualTo("<s><s>\n </s></s>");
        assertThat(prompt.isFromClient(0, 3)).isFalse();
        assertThat(prompt.isFromClient(3, 6)).isTrue();
        assertThat(prompt.isFromClient(8, 12)).isTrue();
        assertThat(prompt.isFromClient(12, 16)).isFalse();
    }

    @ParameterizedTest
    @CsvSource(delimiter = ';', quoteCharacter = '`', textBlock = """
            {{ [1,'a']|sort }}; '<' has no meaning between str and int
            {{ {'a':1}|dictsort(by='x') }}; You can only sort by either "key" or "value"
            {{ 'x'|abs }}; 'abs' needs a number, not str
            {{ 1.5|round(1, 'up') }}; method must be common, ceil or floor
            {{ 1.5|round(301) }}; 'round' takes 300 digits at most
            {{ ['a']|sum }}; '+' has no meaning for int and str
            """)
    void what_has_no_order_and_is_no_number_is_told(String source, String message) {
        assertThat(failure(source)).isNotNull().hasMessageStartingWith(message);
    }

    private static TemplateException failure(String source) {
        var messages = List.of(new ChatMessage("user", "hi"));
        return catchThrowableOfType(TemplateException.class, () -> ChatTemplate
                .compile(source, SMALL, RenderClock.SYSTEM).render(messages, true, null, null, Map.of()));
    }

    @ParameterizedTest
    @CsvSource(delimiter = ';', quoteCharacter = '`', textBlock = """
            {% include 'x' %}; the tag 'include' is not supported
            {% import 'x' as y %}; the tag 'import' is not supported
            {% from 'x' import y with context %}; the tag 'from' is not supported
            {% extends 'x' %}; the tag 'extends' is not supported
            {% for x in y recursive %}{% endfor %}; a 'recursive' loop is not supported
            {{ x|pprint }}; the filter 'pprint' is not supported
            {{ x|regex.sub('a', 'b') }}; the filter 'regex.sub' is not supported
            {{ [1]|map('pprint')|list }}; the filter 'pprint' is not supported
            {{ [1]|selectattr('a', 'sorted')|list }}; the test 'sorted' is not supported
            {{ x is sorted }}; the test 'sorted' is not supported
            {{ x is sorted 2 and true }}; the test 'sorted' is not supported
            {{ 'x'.translate(1) }}; the method 'translate' is not supported
            {{ [].append(1) }}; access to attribute 'append' of 'list' object is unsafe.
            {{ {}.update(x) }}; access to attribute 'update' of 'dict' object is unsafe.
            {{ open('/etc/passwd') }}; 'open' is undefined
            {{ ''.__class__.__mro__() }}; 'str' has no attribute '__class__'
            {{ x|tojson(nonsense=1) }}; 'tojson' takes no argument 'nonsense'
            {{ x|tojson(*x) }}; '*' before an argument of 'tojson' is not supported
            {{ raise_exception() }}; 'raise_exception' needs 'message'
            {{ (1)() }}; 'int' object is not callable
            {{ [x].nope() }}; 'list' has no attribute 'nope'
            """)
    void what_nobody_has_written_fails_by_name_where_it_is_reached_and_not_before(String source, String message) {
        String template = "{# line 1 #}\n{% if messages[0].content == 'go' %}\n" + source + "{% endif %}fine";

        assertThat(render(template)).isEqualTo("fine");
        assertThat(catchThrowableOfType(TemplateException.class, () -> ChatTemplate.compile(template)
                .render(List.of(new ChatMessage("user", "go")), true, null, null, Map.of())))
                .hasMessage(message + " (line 3 of the chat template)");
    }

    @ParameterizedTest
    @CsvSource({"do", "block", "trans", "autoescape", "debug"})
    void a_tag_that_nobody_knows_is_refused_when_compiled_for_nobody_knows_where_it_ends(String tag) {
        var refusal = catchThrowableOfType(TemplateException.class,
                () -> ChatTemplate.compile("\n{% if false %}{% " + tag + " x %}{% endif %}"));

        assertThat(refusal.kind()).isEqualTo(Kind.UNSUPPORTED);
        assertThat(refusal).hasMessage("the tag '" + tag + "' is not supported (line 2 of the chat template)");
    }

    @ParameterizedTest
    @CsvSource(delimiter = ';', quoteCharacter = '`', textBlock = """
            {{ x; a '{{' is not closed
            {% if x %}; 'if' is not closed
            {% for x in y %}; 'for' is not closed
            {% endfor %}; 'endfor' closes nothing here
            {% break %}; 'break' stands outside a loop
            {{ 'x }}; a string is not closed
            {# x; a comment is not closed
            {{ 1 + }}; did not expect '}}'
            {{ x..y }}; did not expect '.'
            {% set 1 = 2 %}; expected a name, found '1'
            {% if x %}{% else %}{% elif y %}{% endif %}; 'elif' closes nothing here
            {{ x ? y }}; unexpected character '?'
            {% raw %}x; 'raw' is not closed
            {% call f %}{% endcall %}; 'call' needs a call
            {% call f()|upper %}{% endcall %}; 'call' needs a call
            {% filter %}{% endfilter %}; expected a name, found '%}'
            {{ f(a=1, 2) }}; a positional argument follows a named one
            {{ 'a\\x4' }}; '\\x' needs 2 hexadecimal digits of a character
            """)
    void broken_sources_name_what_is_wrong_and_where(String source, String message) {
        var error = catchThrowableOfType(TemplateException.class, () -> ChatTemplate.compile("\n" + source));
        assertThat(error).isNotNull();
        assertThat(error.kind()).isEqualTo(Kind.SYNTAX);
        assertThat(error).hasMessage(message + " (line 2 of the chat template)");
    }

    @ParameterizedTest
    @CsvSource(delimiter = ';', quoteCharacter = '`', textBlock = """
            {{ x.y }}; 'x' is undefined
            {{ x['y'] }}; 'x' is undefined
            {{ messages[0].x.y }}; 'dict' has no attribute 'x'
            {{ x + 1 }}; 'x' is undefined
            {{ 'a' + 1 }}; '+' has no meaning for str and int
            {{ 1 < 'a' }}; '<' has no meaning between int and str
            {{ 1 // 0 }}; division by zero
            {% for x in 1 %}{% endfor %}; int cannot be iterated
            {% for a, b in [[1]] %}{% endfor %}; cannot unpack 1 values into 2 names
            {{ 1|length }}; int has no length
            {{ x.strip() }}; 'x' is undefined
            {{ 1.5.strip() }}; 'float' has no attribute 'strip'
            {% set x = 1 %}{% set x.y = 2 %}; cannot assign attribute 'y': 'x' is not a namespace
            {{ [].x.y }}; 'list' has no attribute 'x'
            """)
    void operations_without_meaning_say_so(String source, String message) {
        var error = failure("\n\n" + source);
        assertThat(error).hasMessage(message + " (line 3 of the chat template)");
        assertThat(error.kind()).isEqualTo(Kind.EVALUATION);
    }

    @Test
    void the_templates_own_refusal_is_its_message_alone() {
        var error = failure("{{ raise_exception('roles must ' ~ 'alternate') }}");
        assertThat(error.kind()).isEqualTo(Kind.REFUSED);
        assertThat(error).hasMessage("roles must alternate");
    }

    @ParameterizedTest
    @CsvSource(delimiter = ';', quoteCharacter = '`', textBlock = """
            {% for a in range(99999999999) %}{% endfor %}
            {% for a in range(5000) %}{% for b in range(5000) %}{% endfor %}{% endfor %}
            {{ 'a' * 10000000000 }}
            {{ [0] * 10000000000 }}
            {{ ([0] * 100) * 100000000 }}
            {% for a in range(200) %}1234567890{% endfor %}
            {% set n = namespace(s='a') %}{% for a in range(64) %}{% set n.s = n.s + n.s %}{% endfor %}
            {% set n = namespace(s='a') %}{% for a in range(64) %}{% set n.s = n.s ~ n.s %}{% endfor %}
            {% set n = namespace(s='ab') %}{% for a in range(64) %}{% set n.s = n.s|replace('a', n.s) %}{% endfor %}
            {% set n = namespace(l=[1]) %}{% for a in range(64) %}{% set n.l = n.l + n.l %}{% endfor %}
            {% set n = namespace(l=[]) %}{% for a in range(500) %}{% set n.l = [n.l] %}{% endfor %}{{ n.l }}
            {% set n = namespace(l=[]) %}{% for a in range(500) %}{% set n.l = [n.l] %}{% endfor %}{{ n.l|tojson }}
            {% set n = namespace(l=[1]) %}{% for a in range(500) %}{% set n.l = [n.l] %}{% endfor %}{{ n.l == n.l[:] }}
            {% macro f(x) %}{{ f(x) }}{% endmacro %}{{ f(1) }}
            {{ 'x'.join(['y' * 900] * 900) }}
            {{ ('a ' * 400).split()|join('b' * 900) }}
            """)
    void a_hostile_template_ends_at_a_limit(String source) {
        assertThat(failure(source).kind()).isEqualTo(Kind.LIMIT);
    }

    @Test
    void a_sum_that_is_printed_is_what_it_is_elsewhere() {
        assertThat(render("{{ 1 + 2 + 3 }} {{ 'a' + 'b' + 'c' }} {{ [1] + [2] }}")).isEqualTo("6 abc [1, 2]");
        assertThat(render("{{ 'x'" + " + 'x'".repeat(40) + " }}")).isEqualTo("x".repeat(41));
        assertThat(failure("{{ 'a' + 1 }}").kind()).isEqualTo(Kind.EVALUATION);
    }

    @Test
    void nesting_in_the_source_ends_at_a_limit_too() {
        assertThat(failure("{{ " + "(".repeat(100_000) + "1" + ")".repeat(100_000) + " }}"))
                .hasMessageContaining("nested");
        assertThat(failure("{{ " + "-".repeat(100_000) + "1 }}")).hasMessageContaining("nested");
        assertThat(failure("{% if x %}".repeat(100_000))).hasMessageContaining("nested deeper than 64");
        assertThat(failure("{{ 1" + " + 1".repeat(100_000) + " }}").kind()).isEqualTo(Kind.LIMIT);
        assertThat(failure("{{ x" + "|trim".repeat(100_000) + " }}").kind()).isEqualTo(Kind.LIMIT);
        assertThat(render("{{ " + "not ".repeat(100_001) + "1 }}")).isEqualTo("False");
    }

    @Test
    void a_template_of_a_million_characters_is_too_long() {
        assertThat(failure("x".repeat((1 << 20) + 1)).kind()).isEqualTo(Kind.LIMIT);
    }

    @Test
    void variables_nested_deeper_than_64_are_refused() {
        List<Object> nested = List.of();
        for (int i = 0; i < 100; i++) {
            nested = List.of(nested);
        }
        Map<String, Object> variables = Map.of("x", nested);
        assertThat(catchThrowableOfType(TemplateException.class, () -> ChatTemplate.compile("{{ x }}")
                .render(List.of(), true, null, null, variables)).kind()).isEqualTo(Kind.LIMIT);
    }

    @Test
    void the_host_is_out_of_reach() {
        assertThat(render("{{ ''.__class__ }}{{ messages.getClass }}{{ [].__init__ }}{{ messages[0].content.chars }}"))
                .isEmpty();
    }

    @Test
    void undefined_prints_nothing_and_iterates_as_empty() {
        assertThat(render("[{{ x }}{% for y in x %}no{% endfor %}{{ x|length }}{{ 'a' in x }}{{ x|default('d') }}]"))
                .isEqualTo("[0Falsed]");
    }

    @Test
    void a_message_keeps_the_order_and_the_nulls_of_its_fields() {
        var fields = new LinkedHashMap<String, Object>();
        fields.put("zebra", null);
        fields.put("ape", List.of(1, 2.5, true));
        var prompt = ChatTemplate.compile("{{ messages[0] }}")
                .render(List.of(new ChatMessage("assistant", null, fields)), false, null, null, Map.of());
        assertThat(prompt.text())
                .isEqualTo("{'role': 'assistant', 'content': '', 'zebra': None, 'ape': [1, 2.5, True]}");
    }

    @Test
    void client_text_is_known_to_the_character() {
        RenderedPrompt prompt = ChatTemplate.compile("ab{{ messages[0].content }}cd")
                .render(List.of(new ChatMessage("user", "XY")), false, null, null, Map.of());
        assertThat(prompt.text()).isEqualTo("abXYcd");
        assertThat(prompt.isFromClient(0, 2)).isFalse();
        assertThat(prompt.isFromClient(1, 3)).isTrue();
        assertThat(prompt.isFromClient(2, 4)).isTrue();
        assertThat(prompt.isFromClient(4, 6)).isFalse();
        assertThat(prompt.isFromClient(0, 6)).isTrue();
    }

    @Test
    void broken_copies_of_real_templates_fail_with_our_error_or_not_at_all() {
        var random = new Random(11);
        var sources = new ArrayList<String>();
        for (String name : List.of("chatml", "llama31", "qwen3", "mistral", "torture")) {
            sources.add(ChatTemplateGoldenTest.resource(name + ".jinja"));
        }
        int rendered = 0;
        for (int round = 0; round < 3000; round++) {
            var source = new StringBuilder(sources.get(round % sources.size()));
            for (int edits = 1 + random.nextInt(3); edits > 0; edits--) {
                int at = random.nextInt(source.length());
                int end = Math.min(source.length(), at + random.nextInt(6));
                int from = random.nextInt(source.length() - 6);
                source.replace(at, end, random.nextBoolean() ? "" : source.substring(from, from + random.nextInt(6)));
            }
            try {
                ChatTemplate.compile(source.toString())
                        .render(List.of(new ChatMessage("user", "hi")), true, "<s>", "</s>", Map.of());
                rendered++;
            } catch (TemplateException expected) {
                assertThat(expected.getMessage()).isNotEmpty();
            }
        }
        assertThat(rendered).isBetween(100, 2900);
    }
}
