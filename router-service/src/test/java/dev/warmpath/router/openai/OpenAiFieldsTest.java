package dev.warmpath.router.openai;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.router.RunningRouter;
import dev.warmpath.router.fields.Field;
import dev.warmpath.router.fields.FieldTable;
import java.io.IOException;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ObjectNode;

/** What is in the tables of fields is read, and is on the page about the API: {@code -Drenew=fields} writes it there. */
class OpenAiFieldsTest extends RunningRouter {

    private static final Path PAGE = Path.of("../docs/api.md");

    /** Bodies as the page names them, in its order. */
    private static final Map<String, List<FieldTable>> BODIES = new LinkedHashMap<>();

    static {
        BODIES.put("chat", List.of(OpenAiFields.CHAT));
        BODIES.put("text", List.of(OpenAiFields.TEXT));
        BODIES.put("tokenize", List.of(OpenAiFields.TOKENIZE_CHAT, OpenAiFields.TOKENIZE_TEXT));
        BODIES.put("detokenize", List.of(OpenAiFields.DETOKENIZE));
    }

    /** A row without its table. */
    private record Row(String path, boolean isServed, String takes, String absent) {}

    static Stream<Arguments> servedFields() {
        return Stream.of(
                served("/v1/chat/completions", OpenAiFields.CHAT),
                served("/v1/completions", OpenAiFields.TEXT),
                served("/v1/route", OpenAiFields.CHAT),
                served("/v1/route", OpenAiFields.TEXT),
                served("/tokenize", OpenAiFields.TOKENIZE_CHAT),
                served("/tokenize", OpenAiFields.TOKENIZE_TEXT),
                served("/detokenize", OpenAiFields.DETOKENIZE)).flatMap(each -> each);
    }

    private static Stream<Arguments> served(String path, FieldTable table) {
        return table.fields().stream().filter(field -> !(field instanceof Field.Unserved))
                .map(field -> Arguments.of(path, field.name(), body(table), wrongValue(field)));
    }

    /** A good one. */
    private static String body(FieldTable table) {
        List<String> names = table.fields().stream().filter(field -> !(field instanceof Field.Unserved))
                .map(Field::name).toList();
        return "{\"model\":\"tiny\"" + (names.contains("messages")
                ? ",\"messages\":[{\"role\":\"user\",\"content\":\"Hi\"}]"
                : names.contains("prompt") ? ",\"prompt\":\"Hi\"" : ",\"tokens\":[1]")
                + (names.contains("stream") ? ",\"stream\":true}" : "}");
    }

    private static String wrongValue(Field field) {
        return field instanceof Field.Nested || field == OpenAiFields.LOGIT_BIAS ? "[]"
                : field instanceof Field.Mixed<?> ? "7" : "{}";
    }

    @ParameterizedTest
    @MethodSource("servedFields")
    void a_served_field_is_read(String path, String field, String body, String wrongValue) {
        var changed = (ObjectNode) JsonMapper.shared().readTree(body);
        changed.set(field, JsonMapper.shared().readTree(wrongValue));

        HttpResponse<String> response = post(path, changed.toString());

        assertThat(response.statusCode()).as(response.body()).isEqualTo(400);
        JsonNode error = json(response).path("error");
        assertThat(error.path("code").asString()).isEqualTo("invalid_value");
        assertThat(error.path("param").asString()).isEqualTo(field);
    }

    @Test
    void the_page_has_each_served_field_with_what_it_takes_and_what_its_absence_means() throws IOException {
        List<String> expected = new ArrayList<>();
        rows().forEach((row, bodies) -> {
            if (row.isServed()) {
                expected.add("| `%s` | %s | %s | %s |".formatted(
                        row.path(), String.join(", ", bodies), row.takes(), row.absent()));
            }
        });

        assertThat(tableBelow("| field | of | takes | absent |", expected)).containsExactlyElementsOf(expected);
    }

    @Test
    void the_page_has_each_unserved_field_with_the_values_that_pass() throws IOException {
        Map<String, List<String>> fieldsByValue = new LinkedHashMap<>();
        rows().forEach((row, bodies) -> {
            if (!row.isServed()) {
                fieldsByValue.computeIfAbsent(row.takes(), _ -> new ArrayList<>())
                        .add("`" + row.path() + "`" + (bodies.equals(List.of("chat", "text")) ? ""
                                : " (" + String.join(", ", bodies) + ")"));
            }
        });

        List<String> expected = fieldsByValue.entrySet().stream().map(each -> "| %s | %s |".formatted(
                each.getKey().isEmpty() ? "null only" : each.getKey(), String.join(", ", each.getValue()))).toList();
        assertThat(tableBelow("| passes with | fields |", expected)).containsExactlyElementsOf(expected);
    }

    private static List<String> tableBelow(String header, List<String> renewed) throws IOException {
        if ("fields".equals(System.getProperty("renew"))) {
            List<String> lines = new ArrayList<>(Files.readAllLines(PAGE));
            int from = lines.indexOf(header) + 2;
            long count = lines.stream().skip(from).takeWhile(line -> line.startsWith("|")).count();
            lines.subList(from, from + (int) count).clear();
            lines.addAll(from, renewed);
            Files.write(PAGE, lines);
        }
        return Files.readAllLines(PAGE).stream().dropWhile(line -> !line.equals(header)).skip(2)
                .takeWhile(line -> line.startsWith("|")).toList();
    }

    /** Each row once, with the bodies that have it. */
    private static Map<Row, List<String>> rows() {
        Map<Row, List<String>> rows = new LinkedHashMap<>();
        BODIES.forEach((body, tables) -> tables.forEach(table -> add(rows, body, "", table)));
        return rows;
    }

    private static void add(Map<Row, List<String>> rows, String body, String path, FieldTable table) {
        for (Field field : table.fields()) {
            var row = new Row(path + field.name(), !(field instanceof Field.Unserved), field.takes(), field.absent());
            List<String> bodies = rows.computeIfAbsent(row, _ -> new ArrayList<>());
            if (!bodies.contains(body)) {
                bodies.add(body);
            }
            switch (field) {
                case Field.Nested nested -> add(rows, body, row.path() + ".", nested.fields());
                case Field.Several several -> add(rows, body, row.path() + "[].", several.fields());
                default -> { }
            }
        }
    }
}
