package dev.warmpath.planner.trace;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import java.util.zip.GZIPOutputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Whatever is wrong with a file, who reads it gets a sentence with file and line, and nothing else happens. */
class MalformedTraceTest {

    private static final String MOONCAKE =
            "{\"timestamp\": 5, \"input_length\": 600, \"output_length\": 5, \"hash_ids\": [0, 1]}";
    private static final String PROMPT = "{\"prompt\": [1, 2, 3], \"timestamp\": 5, \"max_tokens\": 4}";
    private static final String ROUTER = "{\"at\": \"2026-11-24T09:30:00Z\", \"request\": \"r\", \"prompt_tokens\": 20,"
            + " \"decisions\": [{\"block_size\": 16}], \"prompt_keys\": \"AAAAAAAAAAE=\","
            + " \"outcome\": {\"completion_tokens\": 3}}";

    /** What is no JSON object at all, whatever the format. */
    private static final List<String> NO_OBJECT = List.of("x", "{", "}", "[]", "[1, 2]", "1", "null", "true",
            "\"text\"", "{}", "{\"a\": 1}", "{\"timestamp\": 1", "{'timestamp': 1}", "{\"timestamp\": 1,}",
            "{\"a\": 1} {\"b\": 2}", "{\"a\": NaN}", "{\"a\": Infinity}", "{\"a\": 01}", "{\"a\": +1}", "{\"a\": 0x10}",
            "{\"a\": 1e}", "{\"a\": .5}", "{\"a\": \"unended}", "{\"a\": \"\\x\"}", "{\"a\": \"\u0000\"}", "{\"a\" 1}",
            "{a: 1}", "// a comment", "<html>", "timestamp,input_length", "\u0000\u0000\u0000", "{\"a\": "
            + "[".repeat(200) + "]".repeat(200) + "}", "{\"a\": " + "9".repeat(200) + "}", "{\"a\": 1, \"a\": 2}");

    private static final List<String> NO_MOONCAKE = Stream.of(
            "-1|600|5|[0, 1]", "\"5\"|600|5|[0, 1]", "null|600|5|[0, 1]", "1e400|600|5|[0, 1]", "1e300|600|5|[0, 1]",
            "[]|600|5|[0, 1]", "{}|600|5|[0, 1]", "true|600|5|[0, 1]", "-0.5|600|5|[0, 1]",
            "5|0|5|[]", "5|-600|5|[0, 1]", "5|600.5|5|[0, 1]", "5|\"600\"|5|[0, 1]", "5|null|5|[0, 1]",
            "5|1000000000|5|[0, 1]", "5|99999999999999999999|5|[0, 1]", "5|2147483648|5|[0, 1]", "5|[]|5|[0, 1]",
            "5|600|-1|[0, 1]", "5|600|0.5|[0, 1]", "5|600|\"5\"|[0, 1]", "5|600|null|[0, 1]", "5|600|1e10|[0, 1]",
            "5|600|99999999999|[0, 1]", "5|600|{}|[0, 1]",
            "5|600|5|[]", "5|600|5|[0, 1, 2]", "5|600|5|[0, 1, 2, 3]", "5|600|5|null", "5|600|5|{}", "5|600|5|\"0,1\"",
            "5|600|5|7", "5|600|5|[0, -1]", "5|600|5|[0, 0.5]", "5|600|5|[0, \"1\"]", "5|600|5|[0, null]",
            "5|600|5|[0, 9007199254740993]", "5|600|5|[0, 99999999999999999999999]", "5|600|5|[[0], [1]]",
            "5|600|5|[0, true]", "100000000000|600|5|[0, 1]", "4|600|5|[0, 1]").map(MalformedTraceTest::mooncake)
            .toList();

    private static final List<String> NO_PROMPT = List.of(
            "{\"prompt\": \"\", \"timestamp\": 5}", "{\"prompt\": [], \"timestamp\": 5}",
            "{\"prompt\": {}, \"timestamp\": 5}", "{\"prompt\": 5, \"timestamp\": 5}",
            "{\"prompt\": true, \"timestamp\": 5}", "{\"prompt\": null, \"timestamp\": 5}",
            "{\"prompt\": [1, -2], \"timestamp\": 5}", "{\"prompt\": [1, 0.5], \"timestamp\": 5}",
            "{\"prompt\": [1, \"2\"], \"timestamp\": 5}", "{\"prompt\": [1, null], \"timestamp\": 5}",
            "{\"prompt\": [[1, 2]], \"timestamp\": 5}", "{\"prompt\": [3000000000], \"timestamp\": 5}",
            "{\"prompt\": [\"a\", \"b\"], \"timestamp\": 5}", "{\"tokens\": \"text\", \"timestamp\": 5}",
            "{\"tokens\": 7, \"timestamp\": 5}", "{\"prompt_token_ids\": {}, \"timestamp\": 5}",
            "{\"messages\": [], \"timestamp\": 5}", "{\"messages\": \"hi\", \"timestamp\": 5}",
            "{\"messages\": {}, \"timestamp\": 5}", "{\"messages\": [1], \"timestamp\": 5}",
            "{\"messages\": [{\"content\": \"hi\"}], \"timestamp\": 5}",
            "{\"messages\": [{\"role\": \"user\", \"content\": 5}], \"timestamp\": 5}",
            "{\"prompt\": [1], \"timestamp\": -1}", "{\"prompt\": [1], \"timestamp\": \"now\"}",
            "{\"prompt\": [1], \"timestamp\": 1e999}", "{\"prompt\": [1], \"timestamp\": []}",
            "{\"prompt\": [1], \"timestamp\": 3}", "{\"prompt\": [1], \"arrival_time\": -0.1}",
            "{\"prompt\": [1], \"arrival_time\": \"5\"}", "{\"prompt\": [1], \"at\": \"yesterday\"}",
            "{\"prompt\": [1], \"at\": \"2026-13-01T00:00:00Z\"}", "{\"prompt\": [1], \"at\": \"2026-11-24\"}",
            "{\"prompt\": [1], \"at\": {}}", "{\"prompt\": [1], \"timestamp\": 5, \"max_tokens\": -1}",
            "{\"prompt\": [1], \"timestamp\": 5, \"max_tokens\": 1.5}",
            "{\"prompt\": [1], \"timestamp\": 5, \"output_length\": \"4\"}",
            "{\"prompt\": [1], \"timestamp\": 5, \"output_tokens\": 1e12}",
            "{\"body\": {}, \"timestamp\": 5}", "{\"body\": {\"prompt\": []}, \"timestamp\": 5}",
            "{\"body\": {\"prompt\": [1], \"max_tokens\": -3}, \"timestamp\": 5}", MOONCAKE, ROUTER);

    private static final List<String> NO_ROUTER_LINE = Stream.of("\"at\": \"soon\"", "\"at\": 5", "\"at\": null",
            "\"prompt_tokens\": 0", "\"prompt_tokens\": -5", "\"prompt_tokens\": 2.5", "\"prompt_tokens\": \"20\"",
            "\"prompt_tokens\": 1000000000", "\"prompt_tokens\": 3", "\"decisions\": [{}]",
            "\"decisions\": [{\"block_size\": 0}]", "\"decisions\": [{\"block_size\": \"16\"}]", "\"decisions\": [5]",
            "\"prompt_keys\": null", "\"prompt_keys\": \"AAAA\"", "\"prompt_keys\": \"%%%%\"", "\"prompt_keys\": 5",
            "\"prompt_keys\": \"AAAAAAAAAAEAAAAAAAAAAg==\"", "\"outcome\": {\"completion_tokens\": -1}",
            "\"outcome\": {\"completion_tokens\": \"3\"}").map(MalformedTraceTest::router).toList();

    @TempDir
    Path folder;

    /** Each bad line as the first and as the fourth of its kind of file, with a blank line before the latter. */
    static List<Bad> badLines() {
        List<Bad> all = new ArrayList<>();
        for (String good : List.of(MOONCAKE, PROMPT, ROUTER)) {
            NO_OBJECT.forEach(line -> all.add(new Bad(good + "\n" + good + "\n\n" + line, 4)));
            all.add(new Bad(good + "\n" + good.substring(0, good.length() / 2), 2));
            all.add(new Bad(good + "\n" + good + good, 2));
        }
        NO_OBJECT.forEach(line -> all.add(new Bad(line + "\n" + MOONCAKE, 1)));
        NO_MOONCAKE.forEach(line -> all.add(new Bad(MOONCAKE + "\r\n" + MOONCAKE + "\r\n \r\n" + line, 4)));
        NO_PROMPT.forEach(line -> all.add(new Bad(PROMPT + "\n" + PROMPT + "\n\n" + line, 4)));
        NO_ROUTER_LINE.forEach(line -> all.add(new Bad(ROUTER + "\n" + ROUTER + "\n\n" + line, 4)));
        NO_ROUTER_LINE.stream().filter(line -> !line.contains("\"decisions\": [5]"))
                .forEach(line -> all.add(new Bad(line, 1)));
        all.add(new Bad(PROMPT + "\n{\"prompt\": [1]}", 2));
        all.add(new Bad("{\"prompt\": [1]}\n" + PROMPT, 2));
        all.add(new Bad("", 1));
        all.add(new Bad("\n\n \n", 1));
        return all;
    }

    /** @param line at which it must be refused */
    record Bad(String text, int line) {

        @Override
        public String toString() {
            return "line " + line + " of …" + text.substring(Math.max(0, text.length() - 60)).replace('\n', '¶');
        }
    }

    @Test
    void there_are_more_than_two_hundred_kinds() {
        assertThat(badLines().stream().map(Bad::text).distinct()).hasSizeGreaterThan(200);
    }

    @ParameterizedTest
    @MethodSource("badLines")
    void a_bad_line_is_refused_with_file_and_line(Bad bad) throws IOException {
        assertRefused(Files.writeString(folder.resolve("bad.jsonl"), bad.text), bad.line);
    }

    @Test
    void other_encodings_are_refused_at_the_first_line_and_a_mark_of_utf_8_is_not() throws IOException {
        for (String charset : List.of("UTF-16", "UTF-16LE", "UTF-16BE", "UTF-32")) {
            assertRefused(Files.write(folder.resolve("utf16.jsonl"), MOONCAKE.getBytes(Charset.forName(charset))), 1);
        }
        assertRefused(Files.write(folder.resolve("latin.jsonl"),
                (PROMPT + "\n{\"prompt\": \"caf\u00e9\", \"timestamp\": 5}").getBytes(StandardCharsets.ISO_8859_1)), 2);

        assertThat(count(Files.writeString(folder.resolve("mark.jsonl"), "\ufeff" + MOONCAKE))).isEqualTo(1);
    }

    @Test
    void a_gzipped_file_that_is_cut_or_damaged_is_refused_where_it_breaks() throws IOException {
        byte[] packed = gzipped((MOONCAKE + "\n").repeat(5_000));
        assertThat(count(Files.write(folder.resolve("whole.gz"), packed))).isEqualTo(5_000);
        for (int length : new int[] {3, 12, packed.length / 2, packed.length - 4}) {
            Throwable thrown = catchThrowable(() ->
                    count(Files.write(folder.resolve("cut.gz"), Arrays.copyOf(packed, length))));
            assertThat(thrown).as("%d of %d bytes", length, packed.length).isInstanceOf(TraceException.class)
                    .hasMessageContaining("cut.gz, line ").hasMessageContaining("cut or damaged");
        }
        byte[] damaged = packed.clone();
        damaged[packed.length / 2] ^= 0x55;
        assertThat(catchThrowable(() -> count(Files.write(folder.resolve("damaged.gz"), damaged))))
                .isInstanceOf(TraceException.class).hasMessageContaining("damaged.gz, line ");
    }

    @Test
    void a_line_of_twenty_megabytes_is_refused_before_it_is_held() throws IOException {
        String ids = "1,".repeat(10_000_000);
        assertRefused(Files.writeString(folder.resolve("long.jsonl"), PROMPT + "\n{\"prompt\": [" + ids + "1]}"), 2);
    }

    @Test
    void what_is_no_file_is_named() {
        assertThat(catchThrowable(() -> count(folder))).isInstanceOf(IOException.class)
                .hasMessageContaining(folder.toString());
        assertThat(catchThrowable(() -> count(Path.of("/dev/zero")))).isInstanceOf(IOException.class)
                .hasMessageContaining("/dev/zero");
        assertThat(catchThrowable(() -> count(folder.resolve("none")))).isInstanceOf(IOException.class)
                .hasMessageContaining("none");
    }

    private static void assertRefused(Path file, int line) {
        assertThat(catchThrowable(() -> count(file))).isInstanceOf(TraceException.class)
                .hasMessageStartingWith(file + ", line " + line + ": ");
    }

    private static long count(Path file) throws IOException {
        try (TraceReader reader = TraceReader.open(file, TraceSettings.DEFAULT)) {
            while (reader.next() != null) {
                // counted
            }
            return reader.requests();
        }
    }

    private static byte[] gzipped(String text) throws IOException {
        var bytes = new ByteArrayOutputStream();
        try (var gzip = new GZIPOutputStream(bytes)) {
            gzip.write(text.getBytes(StandardCharsets.UTF_8));
        }
        return bytes.toByteArray();
    }

    private static String mooncake(String fields) {
        String[] values = fields.split("\\|");
        return "{\"timestamp\": %s, \"input_length\": %s, \"output_length\": %s, \"hash_ids\": %s}"
                .formatted((Object[]) values);
    }

    /** The good line with one field replaced. */
    private static String router(String field) {
        String name = field.substring(0, field.indexOf(':'));
        List<String> fields = new ArrayList<>(List.of("\"at\": \"2026-11-24T09:30:00Z\"", "\"request\": \"r\"",
                "\"prompt_tokens\": 20", "\"decisions\": [{\"block_size\": 16}]", "\"prompt_keys\": \"AAAAAAAAAAE=\"",
                "\"outcome\": {\"completion_tokens\": 3}"));
        fields.replaceAll(each -> each.startsWith(name + ":") ? field : each);
        return "{" + String.join(", ", fields) + "}";
    }
}
