package dev.warmpath.router.openai;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.protocol.generate.FinishReason;
import dev.warmpath.router.FakeWorker;
import dev.warmpath.router.KeptConnection;
import dev.warmpath.router.KeptConnection.Answer;
import dev.warmpath.router.RunningRouter;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Bodies that are no JSON object, or hardly one. Each test has one connection, on which good requests are answered
 * after all the bad ones.
 */
class MalformedBodiesTest extends RunningRouter {

    private static final String TEXT = "/v1/completions";
    private static final String GOOD_TEXT = "{\"model\":\"tiny\",\"prompt\":\"Hi\"}";
    /** Characters of two and of four bytes, an escape, and each type of value. */
    private static final Map<String, String> GOOD = Map.of(
            TEXT, "{\"model\":\"tiny\",\"prompt\":[1,22],"
                    + "\"stop\":[\"é\\u00e9\",\"𝄞\"],\"top_p\":1e-1,\"seed\":-7,\"user\":null}",
            "/v1/chat/completions", "{\"model\":\"tiny\",\"messages\":[{\"role\":\"user\",\"content\":\"é\\n𝄞\"}],"
                    + "\"metadata\":{\"a\":[0.5,null,true]}}",
            "/tokenize", "{\"model\":\"tiny\",\"prompt\":\"é\\\"𝄞\",\"add_special_tokens\":false}",
            "/detokenize", "{\"model\":\"tiny\",\"tokens\":[1,2,33]}");

    private KeptConnection connection;

    @BeforeEach
    void connect() throws IOException {
        join("w0").doing(FakeWorker.finishing(FinishReason.LENGTH, 0, ids("a")));
        connection = new KeptConnection(uri("/"));
    }

    @AfterEach
    void the_connection_goes_on() throws IOException {
        try (KeptConnection kept = connection) {
            for (Map.Entry<String, String> good : GOOD.entrySet()) {
                Answer answer = kept.post(good.getKey(), good.getValue().getBytes(UTF_8));
                assertThat(answer.status()).as(answer.text()).isEqualTo(200);
            }
        }
    }

    private static void assertNoJson(Answer answer, Object what) {
        Refusal refusal = Refusal.of(answer);
        assertThat(refusal.status()).as("%s: %s", what, refusal).isEqualTo(400);
        assertThat(refusal.code()).as("%s: %s", what, refusal).isEqualTo("invalid_json");
        assertThat(refusal.param()).as("%s: %s", what, refusal).isNull();
    }

    @Test
    void a_body_cut_at_any_byte_is_no_json_whether_its_length_was_told_or_not() throws IOException {
        for (Map.Entry<String, String> good : GOOD.entrySet()) {
            byte[] body = good.getValue().getBytes(UTF_8);
            for (int length = 0; length < body.length; length++) {
                byte[] cut = Arrays.copyOf(body, length);
                assertNoJson(connection.post(good.getKey(), cut), length);
                assertNoJson(connection.postInChunks(good.getKey(), cut, 7), length);
            }
        }
    }

    @Test
    void a_byte_that_no_text_has_makes_a_body_no_json_wherever_it_stands() throws IOException {
        byte[] never = {0x00, 0x1f, (byte) 0xfe, (byte) 0xff};
        for (Map.Entry<String, String> good : GOOD.entrySet()) {
            for (int at = 0; at < good.getValue().getBytes(UTF_8).length; at++) {
                byte[] body = good.getValue().getBytes(UTF_8);
                body[at] = never[at % never.length];
                assertNoJson(connection.post(good.getKey(), body), at);
            }
        }
    }

    /** Alone or cut, of five bytes, half of a pair that only UTF-16 has, control characters. */
    @ParameterizedTest
    @ValueSource(strings = {"80", "bf", "c3", "e282", "f09f98", "f8888080", "fe", "ff", "eda080", "edb080",
        "eda0bdedb880", "00", "0a", "1f"})
    void bytes_that_are_no_character_make_a_body_no_json(String hex) throws IOException {
        for (String around : List.of("{\"model\":\"tiny\",\"prompt\":\"~\"}", "{\"model\":\"~\",\"prompt\":\"a\"}",
                "{\"~\":1}", "{\"logit_bias\":{\"~\":1}}")) {
            int at = around.indexOf('~');
            byte[] body = join(around.substring(0, at).getBytes(UTF_8), HexFormat.of().parseHex(hex),
                    around.substring(at + 1).getBytes(UTF_8));
            assertNoJson(connection.post(TEXT, body), around);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"", " ", "null", "true", "0", "\"", "\"text\"", "[", "[]", "[{}]", "{", "}", "]", ":",
        ",", "{\"a\"", "{\"model\":", "{1:2}", "{model:1}", "{'model':1}", "{\"model\":tiny}", "{\"model\":'tiny'}",
        "{\"model\":\"tiny\",}", "{,}", "{\"model\":01}", "{\"model\":+1}", "{\"model\":.5}", "{\"model\":1.}",
        "{\"model\":1e}", "{\"model\":--1}", "{\"model\":NaN}", "{\"model\":-Infinity}", "{\"model\":undefined}",
        "{\"model\":TRUE}", "{\"model\":\"\\x\"}", "{\"model\":\"\\u12\"}", "{\"model\":\"a\tb\"}",
        "{\"model\" \"tiny\"}", "{\"model\"::1}", "{{}}", "{\"prompt\":[1 2]}", "{\"prompt\":[1,]}",
        "{\"prompt\":[,1]}", "{\"prompt\":[1}", "{\"\\ud800\":1}", "{\"metadata\":{\"\\udc00\":1}}", "a=b&c=d",
        "<xml/>", "model: tiny", "--x\r\n\r\n--x--"})
    void what_is_no_json_object_is_no_body(String body) throws IOException {
        for (String path : List.of(TEXT, "/v1/route")) {
            assertNoJson(connection.post(path, body.getBytes(UTF_8)), path);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"x", "{}", "]", "}", ",", "\u0000", "0", "\"", "//", "/* */", "\f", "\u00a0", "null",
        "\ufeff\ufeff"})
    void what_stands_before_or_behind_a_body_makes_it_none(String text) throws IOException {
        assertNoJson(connection.post(TEXT, (text + GOOD_TEXT).getBytes(UTF_8)), "before");
        assertNoJson(connection.post(TEXT, (GOOD_TEXT + text).getBytes(UTF_8)), "behind");
    }

    /** Editors of some systems begin every file with that mark. */
    @ParameterizedTest
    @CsvSource({"efbbbf, ''", "20, 0a", "0d0a09, 20"})
    void a_byte_order_mark_before_and_white_space_around_do_not_matter(String before, String behind)
            throws IOException {
        Answer answer = connection.post(TEXT, join(HexFormat.of().parseHex(before), GOOD_TEXT.getBytes(UTF_8),
                HexFormat.of().parseHex(behind)));

        assertThat(answer.status()).as(answer.text()).isEqualTo(200);
    }

    @ParameterizedTest
    @ValueSource(ints = {65, 1_000, 60_000})
    void what_is_nested_deeper_than_64_is_no_json_that_is_read(int depth) throws IOException {
        String good = GOOD_TEXT.substring(0, GOOD_TEXT.length() - 1);
        for (String body : List.of(
                good + ",\"metadata\":" + "{\"a\":".repeat(depth - 1) + "1" + "}".repeat(depth),
                good + ",\"metadata\":{\"a\":" + "[".repeat(depth - 2) + "]".repeat(depth - 2) + "}}",
                good + ",\"metadata\":{\"a\":" + "[".repeat(depth - 2))) {
            assertNoJson(connection.post(TEXT, body.getBytes(UTF_8)), depth);
        }
        Refusal told = Refusal.of(connection.post("/v1/chat/completions",
                ("{\"chat_template_kwargs\":{\"a\":" + "[".repeat(depth)).getBytes(UTF_8)));
        assertThat(told.message()).isEqualTo("the body is more than is read: a nesting depth of 64, names of 1024 "
                + "characters, numbers of 64, 131136 values, names and brackets");
    }

    @ParameterizedTest
    @CsvSource({"{'%s':1}, ''", "{'stream_options':{'%s':1}}, stream_options.",
        "{'messages':[{'%s':1}]}, messages[0].", "{'messages':[{'content':[{'%s':1}]}]}, messages[0].content[0]."})
    void a_name_is_shown_with_100_characters_and_one_of_1025_is_not_read(String body, String before)
            throws IOException {
        String json = body.replace('\'', '"');
        for (int length : new int[] {101, 1_024}) {
            Refusal refusal = Refusal.of(connection.post("/v1/chat/completions",
                    json.formatted("k".repeat(length)).getBytes(UTF_8)));
            assertThat(refusal.param()).isEqualTo(before + "k".repeat(100) + "…");
        }
        for (int length : new int[] {1_025, 300_000}) {
            assertNoJson(connection.post("/v1/chat/completions",
                    json.formatted("k".repeat(length)).getBytes(UTF_8)), length);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"0.5%s", "-%s", "1e%s", "%s.0"})
    void a_number_of_more_than_64_digits_is_not_read(String number) throws IOException {
        assertNoJson(connection.post(TEXT, "{\"temperature\":%s}".formatted(number.formatted("1".repeat(65)))
                .getBytes(UTF_8)), number);
    }

    /** As escapes a client may send them; in an answer many libraries would take the whole JSON for none. */
    @ParameterizedTest
    @CsvSource(quoteCharacter = '`', delimiter = '|', textBlock = """
        {"model":"\\ud800","prompt":"a"}                                | the model '?' is not served here; served are 'tiny'
        {"model":"\\udc00\\ud800","prompt":"a"}                         | the model '??' is not served here; served are 'tiny'
        {"model":"tiny","messages":[{"role":"\\udead","content":"a"}]}  | 'messages[0].role' is '?', served are system, developer, user, assistant and tool
        {"tool_choice":"x\\ud83d"}                                      | 'tool_choice' is 'x?', it must be "auto" or "none"
        """)
    void half_a_character_comes_back_as_a_question_mark(String body, String message) throws IOException {
        String path = body.contains("prompt") ? TEXT : "/v1/chat/completions";
        assertThat(Refusal.of(connection.post(path, body.getBytes(UTF_8))).message()).isEqualTo(message);
    }

    @Test
    void a_value_that_is_shown_is_cut_before_a_character_that_it_would_halve() throws IOException {
        String cut = "y".repeat(99) + "😀z";
        byte[] name = "{\"%s\":1}".formatted(cut).getBytes(UTF_8);
        byte[] model = "{\"model\":\"%s\",\"prompt\":\"a\"}".formatted(cut).getBytes(UTF_8);

        assertThat(Refusal.of(connection.post(TEXT, name)).param()).isEqualTo("y".repeat(99) + "…");
        assertThat(Refusal.of(connection.post(TEXT, model)).message())
                .isEqualTo("the model '" + "y".repeat(99) + "…' is not served here; served are 'tiny'");
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "content-type:", "content-type: ;", "content-type: json", "content-type: text/plain",
        "content-type: text/json", "content-type: application/jsonx", "content-type: application/problem+json",
        "content-type: application/json, text/plain", "content-type: application/json;charset=none-such",
        "content-type: application/json;charset=", "content-type: a/b/c", "content-type: */*",
        "content-type: application/*", "content-type: é", "content-type: multipart/form-data; boundary=x",
        "content-type: application/x-www-form-urlencoded", "content-type: text/plain~content-type: application/json",
        "content-type: application/json~content-encoding: gzip", "content-type: application/json~content-encoding: br",
        "content-type: application/json~content-encoding: identity, gzip"})
    void what_does_not_say_that_it_is_plain_json_is_415(String headers) throws IOException {
        for (Map.Entry<String, String> good : GOOD.entrySet()) {
            Refusal refusal = Refusal.of(connection.send("POST", good.getKey(), headers.isEmpty() ? ""
                    : headers.replace("~", "\r\n") + "\r\n", good.getValue().getBytes(UTF_8)));
            assertThat(refusal.status()).as(refusal.message()).isEqualTo(415);
            assertThat(refusal.code()).isEqualTo("unsupported_media_type");
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"content-type: APPLICATION/JSON", "content-type: application/json;",
        "content-type: application/json; charset=utf-8", "content-type: application/json~content-encoding: identity",
        "content-type: application/json~accept: */*;q=0.1", "content-type: application/json~traceparent: 00-zz",
        "content-type: application/json~x-request-id: é"})
    void what_says_so_in_other_words_is_answered(String headers) throws IOException {
        Answer answer = connection.send("POST", TEXT, headers.replace("~", "\r\n") + "\r\n", GOOD_TEXT.getBytes(UTF_8));

        assertThat(answer.status()).as(answer.text()).isEqualTo(200);
    }

    private static byte[] join(byte[] first, byte[] second, byte[] third) {
        return ByteBuffer.allocate(first.length + second.length + third.length)
                .put(first).put(second).put(third).array();
    }
}
