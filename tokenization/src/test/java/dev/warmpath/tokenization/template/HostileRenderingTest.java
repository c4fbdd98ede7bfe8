package dev.warmpath.tokenization.template;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.warmpath.tokenization.template.TemplateException.Kind;
import java.time.Clock;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Templates come with models and messages from clients: whatever either holds, a rendering ends, and what it used is
 * bounded. Each of these would run for minutes, or out of memory, if one operation were not charged by what it looks at
 * and what it makes.
 */
class HostileRenderingTest {
    private static final String LONG = "a".repeat(1 << 18);
    /** A tenth of what there is as a rule. */
    private static final TemplateLimits TENTH =
            new TemplateLimits(400_000, 800, 2 << 20, 8L << 20, 8, 200, Duration.ofHours(1));

    /** {@code c} and {@code d} are texts of 262,144 characters, which differ in the last. */
    private static TemplateException failure(String source) {
        return catchThrowableOfType(TemplateException.class, () -> render(source, Map.of("c", LONG, "d", LONG + "b")));
    }

    private static String render(String source, Map<String, ?> variables) {
        return ChatTemplate.compile(source, TENTH, RenderClock.SYSTEM)
                .render(List.of(new ChatMessage("user", "hi")), true, null, null, variables).text();
    }

    @ParameterizedTest
    @ValueSource(strings = {
        "{% for i in range(99999) %}{{ c == d[:-1] }}{% endfor %}",
        "{% for i in range(99999) %}{{ c < d }}{% endfor %}",
        "{% for i in range(99999) %}{{ 'b' in c }}{% endfor %}",
        "{% for i in range(99999) %}{{ (c ~ 'x') in d }}{% endfor %}",
        "{% for i in range(99999) %}{{ c.rfind(d) }}{% endfor %}",
        "{% for i in range(99999) %}{{ c.strip('a') }}{% endfor %}",
        "{% for i in range(99999) %}{{ c.strip('bcdefghijklmnopqrstuvwxyz' ~ c) }}{% endfor %}",
        "{% for i in range(99999) %}{{ c.split('b')|length }}{% endfor %}",
        "{% for i in range(99999) %}{{ c|upper|length }}{% endfor %}",
        "{% for i in range(99999) %}{{ c.isalpha() }}{% endfor %}",
        "{% for i in range(99999) %}{{ c|int }}{{ c|float }}{% endfor %}",
        "{% set x = namespace(s=c) %}{% for i in range(99999) %}{% set x.s = x.s[1:] %}{% endfor %}",
        "{% set x = namespace(l=[]) %}{% for i in range(99999) %}{% set x.l = [i] + x.l %}{% endfor %}",
        "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}",
        "{{ ([c] * 9999)|sort|length }}", "{{ ([c] * 9999)|unique|list|length }}",
        "{{ [d] * 9999 == [d ~ ''] * 9999 }}",
        "{{ (c ~ 'x') in [d] * 99999 }}", "{{ (([c ~ 'x'] * 9999)|map('upper')|list)|length }}",
        "{{ ([c] * 9999)|join|length }}",
        "{{ [c] * 9999 }}", "{{ ([c] * 9999)|tojson }}", "{{ ([0] * 9999)|tojson(indent=c) }}",
        "{{ ([0] * 9999)|tojson(separators=(c, c)) }}", "{{ c|replace('a', c)|length }}",
        "{{ c.replace('', c)|length }}",
        "{{ c|list|list|length }}", "{% for x in c %}{% for y in c %}{% endfor %}{% endfor %}",
        "{{ '%*d' % (999999999, 1) }}", "{{ '{:>999999999}'.format(1) }}", "{{ 'x'.ljust(999999999) }}",
        "{{ 'x'.zfill(999999999) }}", "{{ c|indent(d)|length }}{{ ('\\n' * 9999)|indent(c, blank=true) }}",
        "{{ 9 ** (9 ** 9) }}",
        "{% set x = namespace(i=9) %}{% for i in range(99) %}{% set x.i = x.i * x.i %}{% endfor %}",
        "{% set x = namespace(l=[1]) %}{% for i in range(64) %}{% set x.l = [x.l, x.l] %}{% endfor %}{{ x.l|tojson }}",
        "{% set x = namespace(l=[1], m=[1]) %}{% for i in range(64) %}{% set x.l = [x.l, x.l] %}"
                + "{% set x.m = [x.m, x.m] %}{% endfor %}{{ x.l == x.m }}",
        "{% set x = namespace(g=[1]) %}{% for i in range(9999) %}{% set x.g = x.g|map('string') %}{% endfor %}"
                + "{{ x.g|list }}",
        "{% macro f() %}{% call f() %}{{ caller() }}{% endcall %}{% endmacro %}{% call f() %}x{% endcall %}",
        "{% macro f(n) %}{% if n %}{{ f(n - 1) }}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(60) }}",
        "{{ strftime_now('%Y' * 999999) }}", "{{ range(0, 2 ** 62, 2 ** 32 + 1)|unique|list|length }}"})
    void a_template_that_would_go_on_for_ever_ends_at_a_limit(String source) {
        assertThat(failure(source).kind()).isEqualTo(Kind.LIMIT);
    }

    /** What templates do with a message, and a message that was made for it. */
    @ParameterizedTest
    @CsvSource(delimiter = ';', quoteCharacter = '`', textBlock = """
            {{ c.split('</think>')[-1].lstrip('\\n') }}; </think
            {{ '</think>' in c }}{{ c.rfind('</think>') }}; </think
            {{ (c|replace('a', '.')).split('.')|length }}; ab
            {{ [c|replace('a', '.')] }}; ab
            {% for x in c.split('b') %}{{ x[:1] }}{% endfor %}; ab
            {{ c|tojson }}; \1.
            {{ c|float }}{{ (c ~ 'x')|float }}{{ c|int }}; 1
            {{ c.splitlines()|length }}{{ c.split()|length }}; \fx
            {{ c.title()|length }}{{ c|title|length }}; ß
            {{ c|e|length }}{{ c|safe + c }}; <
            """)
    void a_message_of_many_pieces_takes_as_long_as_it_is_long(String source, String piece) {
        String message = piece.repeat((1 << 16) / piece.length());

        assertThat(render(source, Map.of("c", message))).isNotEmpty();
        assertThat(render("{{ c|trim|length }}{{ c.strip('\\u2003 ')|length }}", Map.of("c", "\u2003".repeat(1 << 16))))
                .isEqualTo("00");
    }

    @ParameterizedTest
    @ValueSource(strings = {"{", "}", "{0", "{0[", "{0.", "{0:{0:{0}}}", "{0!x}", "{:>99999999999999}", "{0.__class__}",
        "%", "%(", "%(a", "%*d", "%.*f", "%99999999999d", "%c"})
    void a_message_that_is_taken_for_a_format_fails_or_is_one_and_reaches_nothing(String format) {
        for (String source : List.of("{{ c.format(messages) }}", "{{ c % messages }}", "{{ c|format(messages) }}")) {
            for (String text : List.of(format, format.repeat(9_999))) {
                try {
                    assertThat(render(source, Map.of("c", text))).doesNotContain("dev.warmpath");
                } catch (TemplateException expected) {
                    assertThat(expected.kind()).isNotEqualTo(Kind.SYNTAX);
                }
            }
        }
    }

    /** Java's hash of strings is known; a list of those that share one is searched from its beginning. */
    @Test
    void keys_that_share_one_hash_are_still_found_as_others_are() {
        var keys = new LinkedHashMap<String, Object>();
        for (int i = 0; i < 1 << 14; i++) {
            var key = new StringBuilder();
            for (int bit = 0; bit < 14; bit++) {
                key.append((i >> bit & 1) == 0 ? "Aa" : "BB");
            }
            keys.put(key.toString(), i);
        }

        assertThat(render("{% set x = namespace(n=0) %}{% for k in d %}{% set x.n = x.n + d[k] %}{% endfor %}{{ x.n }}",
                Map.of("d", keys))).isEqualTo("134209536");
    }

    /** A clock that each look moves by a minute. */
    @Test
    void a_rendering_ends_when_its_time_is_over() {
        var minutes = new AtomicLong();
        var clock = new RenderClock(Clock.systemUTC(), () -> Duration.ofMinutes(minutes.getAndIncrement()).toNanos());
        String source = "{% for i in range(9999) %}{{ i }}{% endfor %}";

        var limits = new TemplateLimits(400_000, 800, 2 << 20, 8L << 20, 8, 200, Duration.ofSeconds(90));
        var late = catchThrowableOfType(TemplateException.class, () -> ChatTemplate.compile(source, limits, clock)
                .render(List.of(), true, null, null, Map.of()));

        assertThat(late.kind()).isEqualTo(Kind.LIMIT);
        assertThat(late).hasMessageStartingWith("the chat template takes longer than 90000 ms");
        assertThat(ChatTemplate.compile(source, TENTH, clock).render(List.of(), true, null, null, Map.of()).text())
                .hasSize(38_886);
    }

    @Test
    void what_a_client_sends_may_be_copied_some_times_however_long_it_is() {
        String message = "word ".repeat(1_300_000);
        String source = "{% for m in messages %}<|{{ m.role }}|>{{ m.content|trim }}{% if '</think>' in m.content %}"
                + "{{ m.content.split('</think>')[-1].lstrip('\\n') }}{% endif %}<|end|>{% endfor %}";

        assertThat(ChatTemplate.compile(source).render(List.of(new ChatMessage("user", message),
                new ChatMessage("assistant", message)), true, null, null, Map.of()).text()).hasSize(13_000_033);
    }

    @Test
    void a_source_that_is_deep_or_long_ends_too() {
        for (String source : List.of("{{ " + "[".repeat(99_999), "{{ x" + "()".repeat(99_999) + " }}",
                "{{ x" + ".a".repeat(99_999) + " }}", "{{ x" + "|trim".repeat(99_999) + " }}",
                "{{ 1" + " and 1".repeat(99_999) + " }}", "{{ " + "'a' ".repeat(99_999) + "|nope }}",
                "{% raw %}".repeat(99_999), "{% filter a %}".repeat(9_999), "{% call f() %}".repeat(9_999),
                "{% set y = x" + "|trim".repeat(99_999) + " %}{{ y }}", "{% for y in x" + "[1:]".repeat(99_999)
                        + " %}{% endfor %}")) {
            assertThat(failure(source).kind()).isIn(Kind.SYNTAX, Kind.LIMIT, Kind.UNSUPPORTED);
        }
        String names = "{% set a0 = messages %}";
        var chain = new StringBuilder(names);
        for (int i = 0; i < 9_999; i++) {
            chain.append("{% set a").append(i + 1).append(" = a").append(i).append(" %}");
        }
        assertThat(render(chain + "{{ a9999|length }}", Map.of())).isEqualTo("1");
    }
}
