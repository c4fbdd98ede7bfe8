package dev.warmpath.router.answer.dialect;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
import tools.jackson.databind.json.JsonMapper;

/**
 * Outputs in the forms that model cards show and that the tests of other servers' parsers have; {@code outputs.json} says
 * what is in each.
 */
class DialectTest {

    /** An output and what is in it; {@code promptEnd} is what it follows. */
    record Output(ToolFormat family, ReasoningFormat reasoningFormat, String name, String promptEnd, Set<String> tools,
            String output, String text, String reasoning, List<Call> calls) {

        @Override
        public String toString() {
            return family + ", " + name;
        }
    }

    record Call(String name, String arguments) {}

    /** An answer's parts, each kind joined. */
    private record Read(String text, String reasoning, List<Call> calls) {}

    static Stream<Output> outputs() throws IOException {
        try (InputStream file = DialectTest.class.getResourceAsStream("/dialects/outputs.json")) {
            return Stream.of(JsonMapper.shared().readValue(Objects.requireNonNull(file), Output[].class));
        }
    }

    private static Read read(Output output, Iterator<String> pieces) {
        AnswerParser parser = new Dialect(output.family(), output.reasoningFormat())
                .newParser(output.tools(), Integer.MAX_VALUE, output.promptEnd(), new Random(1));
        List<AnswerPart> parts = new ArrayList<>();
        pieces.forEachRemaining(piece -> parts.addAll(parser.accept(piece)));
        parts.addAll(parser.finish());
        return joined(parts);
    }

    private static Read joined(List<AnswerPart> parts) {
        var text = new StringBuilder();
        var reasoning = new StringBuilder();
        List<Call> calls = new ArrayList<>();
        for (AnswerPart part : parts) {
            switch (part) {
                case AnswerPart.Text more -> text.append(more.text());
                case AnswerPart.Reasoning more -> reasoning.append(more.text());
                case AnswerPart.Call call -> {
                    assertThat(call.index()).isEqualTo(calls.size());
                    calls.add(new Call(call.name(), ""));
                }
                case AnswerPart.Arguments more -> {
                    assertThat(more.index()).isEqualTo(calls.size() - 1);
                    Call open = calls.removeLast();
                    calls.add(new Call(open.name(), open.arguments() + more.json()));
                }
            }
        }
        return new Read(text.toString(), reasoning.toString(), calls);
    }

    @ParameterizedTest
    @MethodSource("outputs")
    void an_output_has_the_same_parts_however_it_is_cut(Output output) {
        String whole = output.output();
        var expected = new Read(output.text(), output.reasoning(), output.calls());

        assertThat(read(output, List.of(whole).iterator())).as("in one piece").isEqualTo(expected);
        for (int cut = 1; cut < whole.length(); cut++) {
            assertThat(read(output, List.of(whole.substring(0, cut), whole.substring(cut)).iterator()))
                    .as("cut at %d", cut).isEqualTo(expected);
        }
        for (int size = 1; size <= 7; size++) {
            assertThat(read(output, pieces(whole, size))).as("in pieces of %d", size).isEqualTo(expected);
        }
    }

    private static Iterator<String> pieces(String text, int size) {
        List<String> pieces = new ArrayList<>();
        for (int at = 0; at < text.length(); at += size) {
            pieces.add(text.substring(at, Math.min(text.length(), at + size)));
        }
        return pieces.iterator();
    }

    /** What models make of it when they are bad: 200 of each. */
    @ParameterizedTest
    @MethodSource("outputs")
    void a_broken_output_is_read_the_same_however_it_is_cut(Output output) {
        var random = new Random(output.toString().hashCode());
        String whole = output.output();
        for (int i = 0; i < 200; i++) {
            int from = random.nextInt(whole.length());
            int to = from + random.nextInt(whole.length() - from);
            String broken = random.nextBoolean() ? whole.substring(0, from) + whole.substring(to)
                    : whole.substring(0, to) + whole.substring(from);
            Read inOne = read(output, List.of(broken).iterator());

            assertThat(read(output, pieces(broken, 1 + random.nextInt(5)))).as(broken).isEqualTo(inOne);
        }
    }

    /** What never ends. */
    @ParameterizedTest
    @EnumSource(ToolFormat.class)
    void a_hundred_thousand_characters_behind_a_mark_are_read_the_same_however_they_are_cut(ToolFormat family) {
        ReasoningFormat reasoning = family == ToolFormat.HARMONY ? ReasoningFormat.HARMONY : ReasoningFormat.THINK;
        for (String mark : Stream.concat(Stream.of("<think>", "<think>a", " "), family.marks().stream()).toList()) {
            for (String filling : List.of("a", "{", "\"", " ", "\n", "{\"arguments\":\"a", "<", "[")) {
                String text = mark + filling.repeat(100_000 / filling.length());
                var output = new Output(family, reasoning, mark, "", Set.of("f"), text, "", "", List.of());

                assertThat(read(output, pieces(text, 5))).as("%s %s", mark, filling)
                        .isEqualTo(read(output, List.of(text).iterator()));
            }
        }
    }

    @Test
    void what_is_not_certain_waits_and_all_else_comes_at_once() {
        AnswerParser parser = new Dialect(ToolFormat.HERMES, ReasoningFormat.THINK)
                .newParser(Set.of("f"), Integer.MAX_VALUE, "", new Random(1));

        assertThat(parser.accept("<thi")).isEmpty();
        assertThat(parser.accept("nk>a")).containsExactly(new AnswerPart.Reasoning("a"));
        assertThat(parser.accept("b\n")).containsExactly(new AnswerPart.Reasoning("b"));
        assertThat(parser.accept("</think>\n\nc <")).containsExactly(new AnswerPart.Text("c"));
        assertThat(parser.accept("tool_call>{\"name\": \"f\"")).hasSize(1)
                .first().isInstanceOfSatisfying(AnswerPart.Call.class, call -> {
                    assertThat(call.name()).isEqualTo("f");
                    assertThat(call.id()).matches("call_[0-9a-zA-Z]{24}");
                });
        assertThat(parser.accept(", \"arguments\": {\"x")).containsExactly(new AnswerPart.Arguments(0, "{\"x"));
        assertThat(parser.accept("\": 1}")).containsExactly(new AnswerPart.Arguments(0, "\": 1}"));
        assertThat(parser.accept("}</tool_call>")).isEmpty();
        assertThat(parser.finish()).isEmpty();
    }

    @Test
    void of_two_calls_one_is_left_where_one_is_wanted() {
        AnswerParser parser = new Dialect(ToolFormat.MISTRAL, ReasoningFormat.NONE)
                .newParser(Set.of("f", "g"), 1, "", new Random(1));

        List<AnswerPart> parts = parser.accept("[TOOL_CALLS]f{\"a\":1}[TOOL_CALLS]g{\"b\":2}");

        assertThat(joined(parts).calls()).containsExactly(new Call("f", "{\"a\":1}"));
        assertThat(((AnswerPart.Call) parts.getFirst()).id()).as("as Mistral's templates want it")
                .matches("[0-9a-zA-Z]{9}");
    }

    /** What each template has of its own, apart from all others. */
    @ParameterizedTest
    @CsvSource(delimiter = '~', quoteCharacter = '`', textBlock = """
        <tool_call>{"name": <function-name> ~ HERMES ~ NONE
        message.tool_calls <|tool_call|> ~ GRANITE ~ NONE
        <|tool|> <|/tool|> <|tool_call|> ~ PHI4 ~ NONE
        [TOOL_CALLS] [/THINK] ~ MISTRAL ~ MISTRAL
        <｜tool▁calls▁begin｜> </think> ~ DEEPSEEK ~ THINK
        <|channel|> <|message|> ~ HARMONY ~ HARMONY
        <|python_tag|> <|eom_id|> ~ LLAMA3_JSON ~ NONE
        <|python_start|> <|python_end|> ~ LLAMA3_JSON ~ NONE
        [func_name1(params_name1=params_value1 ~ PYTHONIC ~ NONE
        nothing that is known ~ NONE ~ NONE
        """)
    void a_template_tells_by_its_marks(String marks, ToolFormat tools, ReasoningFormat reasoning) {
        assertThat(Dialect.of("{% if tools %}" + marks + "{% endif %}")).isEqualTo(new Dialect(tools, reasoning));
        assertThat(Dialect.of(marks).canCall()).as("without tools").isEqualTo(tools == ToolFormat.HARMONY);
    }

    @ParameterizedTest
    @CsvSource({
        "qwen3.jinja, HERMES, THINK",
        "chatml.jinja, NONE, NONE",
        "warmpath.jinja, NONE, NONE"})
    void a_template_tells_how_its_model_writes(String template, ToolFormat tools, ReasoningFormat reasoning)
            throws IOException {
        String source = Files.readString(Path.of("../tokenization/src/test/resources/chat-templates", template),
                StandardCharsets.UTF_8);

        assertThat(Dialect.of(source)).isEqualTo(new Dialect(tools, reasoning));
    }
}
