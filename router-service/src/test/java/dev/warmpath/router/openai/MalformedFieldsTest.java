package dev.warmpath.router.openai;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.protocol.generate.FailureReason;
import dev.warmpath.protocol.generate.FinishReason;
import dev.warmpath.router.FakeWorker;
import dev.warmpath.router.FakeWorker.Script;
import dev.warmpath.router.KeptConnection;
import dev.warmpath.router.KeptConnection.Answer;
import dev.warmpath.router.RunningRouter;
import dev.warmpath.router.fields.Field;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/**
 * Everything that can be wrong with a field, for each field that the tables have, over one connection for each path:
 * the answer is a 4xx that names the field, and the next request on the same connection is answered.
 */
class MalformedFieldsTest extends RunningRouter {

    /** Of every type, null aside: each is wrong for some field, and none too much for any. */
    private static final List<String> VALUES = List.of(
            "true", "-1", "0.5", "1e400", "9223372036854775808", "1" + "0".repeat(63),
            "\"\"", "\"\\ud800\"", "\"\\u0000{{ 7 }}\"",
            "[]", "[[1],{}]", "[true,\"\\udc00\"]", "{}", "{\"5\":1e400,\"5\":2}");

    /** Of a worker that is asked: the router has nothing against the value, whatever it asks for. */
    private static final Script TAKEN = FakeWorker.refusing(400, FailureReason.INVALID_REQUEST, "taken");
    private static final Script ANSWERING = FakeWorker.finishing(FinishReason.LENGTH, 0, ids("a"));

    private final List<String> wrong = new ArrayList<>();
    private FakeWorker worker;
    private int sent;

    @Test
    void whatever_is_wrong_with_a_field_is_a_4xx_that_names_it_and_the_connection_goes_on() throws IOException {
        worker = join("w0");
        Map<String, List<FieldPlace>> bodies = FieldPlace.all().stream()
                .collect(Collectors.groupingBy(FieldPlace::endpoint, TreeMap::new, Collectors.toList()));
        for (List<FieldPlace> places : bodies.values()) {
            try (var connection = new KeptConnection(uri("/"))) {
                for (FieldPlace place : places) {
                    sendAll(place, connection);
                }
            }
        }

        System.out.printf(Locale.ROOT, "%d malformed requests, %d of them answered wrongly%n", sent, wrong.size());
        assertThat(wrong).isEmpty();
        assertThat(sent).isGreaterThanOrEqualTo(2_000);
    }

    private void sendAll(FieldPlace place, KeptConnection connection) throws IOException {
        for (String value : VALUES) {
            if (place.refusesTypeOf(value)) {
                expect(place, place.holding(value), connection, place.path(),
                        place.field() instanceof Field.Unserved ? "unsupported_parameter" : "invalid_value");
            } else {
                expectTakenOrRefused(place, place.holding(value), connection);
            }
        }
        for (String value : place.justOutside(VOCABULARY_SIZE)) {
            expect(place, place.holding(value), connection, place.path(), "invalid_value");
        }
        String name = place.field().name();
        String escaped = "\\u%04x%s".formatted((int) name.charAt(0), name.substring(1));
        expect(place, place.replacedBy("\"%s\":null,\"%s\":null".formatted(name, name)), connection, place.path(),
                "invalid_json", "unknown_parameter");
        expect(place, place.replacedBy("\"%s\":null,\"%s\":null".formatted(name, escaped)), connection, place.path(),
                "invalid_json", "unknown_parameter");
        expect(place, place.replacedBy("\"%s_\":null".formatted(name)), connection, place.path() + "_",
                "unknown_parameter");
        if (!place.isRequired()) {
            expectAnswer(place, place.holding("null"), connection);
        } else if (place.field() == OpenAiFields.MESSAGES && place.endpoint().equals("/tokenize")) {
            // without messages it is no chat but a text, which lacks a prompt
            expect(place, place.without(), connection, "prompt", "missing_value");
        } else {
            expect(place, place.holding("null"), connection, place.path(), "missing_value");
            expect(place, place.without(), connection, place.path(), "missing_value");
        }
        expectAnswer(place, place.good(), connection);
    }

    private void expect(FieldPlace place, String body, KeptConnection connection, String param, String... codes)
            throws IOException {
        Answer answer = send(place, body, connection);
        judge(place, body, answer, () -> {
            Refusal refusal = Refusal.of(answer);
            assertThat(refusal.status()).isEqualTo(400);
            assertThat(refusal.param()).startsWith(param);
            assertThat(refusal.code()).isIn((Object[]) codes);
        });
    }

    private void expectTakenOrRefused(FieldPlace place, String body, KeptConnection connection) throws IOException {
        worker.doing(TAKEN);
        Answer answer = send(place, body, connection);
        judge(place, body, answer, () -> {
            if (answer.status() != 200) {
                Refusal refusal = Refusal.of(answer);
                assertThat(refusal.message().equals("taken") || place.isBlamedBy(refusal.param())).as("param").isTrue();
            }
        });
    }

    private void expectAnswer(FieldPlace place, String body, KeptConnection connection) throws IOException {
        worker.doing(ANSWERING);
        Answer answer = send(place, body, connection);
        judge(place, body, answer, () -> assertThat(answer.status()).isEqualTo(200));
    }

    private Answer send(FieldPlace place, String body, KeptConnection connection) throws IOException {
        sent++;
        return connection.post(place.endpoint(), body.getBytes(StandardCharsets.UTF_8));
    }

    /** All that is wrong is told at once. */
    private void judge(FieldPlace place, String body, Answer answer, Runnable assertions) {
        try {
            assertions.run();
        } catch (AssertionError e) {
            wrong.add("%s %s: %s%n    %s%n".formatted(place.endpoint(),
                    body.substring(0, Math.min(body.length(), 300)), e.getMessage(), answer.text()));
        }
    }
}
