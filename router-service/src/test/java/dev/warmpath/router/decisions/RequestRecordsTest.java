package dev.warmpath.router.decisions;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.protocol.generate.FailureReason;
import dev.warmpath.protocol.generate.FinishReason;
import dev.warmpath.router.FakeWorker;
import dev.warmpath.router.RunningRouter;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.http.HttpRequest;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.test.context.DynamicPropertyRegistry;
import org.springframework.test.context.DynamicPropertySource;
import tools.jackson.databind.JsonNode;

/** The file of a router that answers, refuses and fails requests: one line for each. */
class RequestRecordsTest extends RunningRouter {

    private static final String MARK = "zebra";

    @TempDir static Path directory;

    @DynamicPropertySource
    static void file(DynamicPropertyRegistry properties) {
        properties.add("warmpath.decisions.file", () -> directory.resolve("decisions.jsonl"));
    }

    @Test
    void a_chat_that_a_second_worker_answers_is_one_line_with_both_and_none_of_its_words() {
        FakeWorker broken = join("broken").doing(FakeWorker.refusing(500, FailureReason.ENGINE_FAILURE, "no"));
        announce(broken, prompt(), 3);
        join("well").doing(FakeWorker.finishing(FinishReason.LENGTH, 4, ids(MARK)));
        ask("two-tries", "/v1/completions", """
                {'model':'tiny','prompt':[10,11,12,13,14,15,16,17,18,19,20,21],'max_tokens':7,'temperature':0.5,
                 'stream':true,'stop':['never','drawn']}""");

        JsonNode line = line("two-tries");
        assertThat(line.path("model").asString()).isEqualTo("tiny");
        assertThat(line.path("asked").path("max_tokens").asInt()).isEqualTo(7);
        assertThat(line.path("asked").path("stop_strings").asInt()).isEqualTo(2);
        assertThat(line.path("asked").path("streamed").asBoolean()).isTrue();
        assertThat(line.path("prompt_tokens").asInt()).isEqualTo(12);
        assertThat(line.path("decisions").values()).extracting(each -> each.path("worker").asString())
                .containsExactly("broken", "well");
        assertThat(line.path("decisions").values()).extracting(each -> each.path("outcome").path("end").asString())
                .containsExactly("engine_failure", "answered");
        JsonNode outcome = line.path("outcome");
        assertThat(outcome.path("end").asString()).isEqualTo("answered");
        assertThat(outcome.path("finish_reason").asString()).isEqualTo("length");
        assertThat(outcome.path("cached_tokens").asInt()).isEqualTo(4);
        assertThat(outcome.path("completion_tokens").asInt()).isEqualTo(ids(MARK).length);
        assertThat(outcome.path("first_text_ms").asDouble()).isPositive()
                .isLessThanOrEqualTo(outcome.path("total_ms").asDouble());
    }

    @Test
    void what_never_got_to_a_worker_is_a_line_with_the_reason_and_no_words_of_its_client() {
        join("idle");
        ask("wrong-model", "/v1/completions", "{'model':'" + MARK + "','prompt':'" + MARK + "'}");
        ask("too-long", "/v1/chat/completions",
                "{'model':'tiny','messages':[{'role':'user','content':'" + (MARK + " ").repeat(50) + "'}]}");

        JsonNode wrong = line("wrong-model");
        assertThat(wrong.path("model").isNull()).isTrue();
        assertThat(wrong.path("outcome").path("end").asString()).isEqualTo("refused");
        assertThat(wrong.path("outcome").path("error").asString()).isEqualTo("model_not_found");
        assertThat(wrong.path("decisions").size()).isZero();
        JsonNode tooLong = line("too-long");
        assertThat(tooLong.path("endpoint").asString()).isEqualTo("chat");
        assertThat(tooLong.path("asked").path("messages").asInt()).isEqualTo(1);
        assertThat(tooLong.path("outcome").path("error").asString()).isEqualTo("context_length_exceeded");
        assertThat(lines().toString()).doesNotContain(MARK);
    }

    @Test
    void a_client_that_leaves_is_a_line_with_the_attempt_that_it_left() throws IOException {
        FakeWorker worker = join("goes-on").doing(FakeWorker.hangingAfter(ids("fine")));
        try (var _ = rawClient("{\"model\":\"tiny\",\"prompt\":[30,31,32],\"stream\":true}")) {
            eventually(() -> worker.generations() == 1);
        }

        eventually(() -> lines().stream().anyMatch(each -> hasWorker(each, "goes-on")));
        JsonNode left = lines().stream().filter(each -> hasWorker(each, "goes-on")).findFirst().orElseThrow();
        assertThat(left.path("outcome").path("end").asString()).isEqualTo("cancelled");
        assertThat(left.path("decisions").path(0).path("outcome").path("end").asString()).isEqualTo("left");
    }

    private static int[] prompt() {
        return new int[] {10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21};
    }

    private void ask(String requestId, String path, String body) {
        send(HttpRequest.newBuilder(uri(path)).header("content-type", "application/json")
                .header("x-request-id", requestId)
                .POST(HttpRequest.BodyPublishers.ofString(body.replace('\'', '"'))).build());
    }

    private static boolean hasWorker(JsonNode line, String worker) {
        return line.path("decisions").path(0).path("worker").asString("").equals(worker);
    }

    private static JsonNode line(String requestId) {
        eventually(() -> lines().stream().anyMatch(each -> each.path("request").asString().equals(requestId)));
        List<JsonNode> found = lines().stream()
                .filter(each -> each.path("request").asString().equals(requestId)).toList();
        assertThat(found).hasSize(1);
        return found.getFirst();
    }

    /** Whole ones. */
    private static List<JsonNode> lines() {
        try {
            String text = Files.readString(directory.resolve("decisions.jsonl"));
            return text.substring(0, text.lastIndexOf('\n') + 1).lines().map(JSON::readTree).toList();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
