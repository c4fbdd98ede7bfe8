package dev.warmpath.router.openai;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.protocol.generate.FinishReason;
import dev.warmpath.router.FakeWorker;
import dev.warmpath.router.RunningRouter;
import dev.warmpath.tokenization.ModelFiles;
import dev.warmpath.tokenization.ModelTokenizer;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import tools.jackson.databind.JsonNode;

/** What becomes of a chat by templates of all kinds, as a client sees it. */
class ChatTemplatesTest extends RunningRouter {

    private static final String CHAT = "{'model':'tiny','messages':[{'role':'user','content':'Hi'}]}";
    private String template = "";

    @Override
    protected ModelTokenizer tokenizer() {
        try {
            return new ModelTokenizer(new ModelFiles(
                    Files.readAllBytes(Path.of("../tokenization/src/test/resources/tokenizers/byte-level.json")),
                    "{}".getBytes(StandardCharsets.UTF_8), template.getBytes(StandardCharsets.UTF_8), null, null));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private FakeWorker joinWith(String chatTemplate) {
        template = chatTemplate;
        return join("w0").doing(FakeWorker.finishing(FinishReason.STOP, 0, ids("!")));
    }

    private String promptOf(FakeWorker worker) {
        return tokenizer().decode(worker.requests().remove().promptTokens(), /* skipSpecialTokens */ false);
    }

    @ParameterizedTest
    @CsvSource(delimiter = ';', quoteCharacter = '`', textBlock = """
            {{ messages|pprint }}; the filter 'pprint' is not supported (line 1 of the chat template)
            {{ messages is sorted }}; the test 'sorted' is not supported (line 1 of the chat template)
            {{ 'x'.translate(1) }}; the method 'translate' is not supported (line 1 of the chat template)
            {{ now() }}; 'now' is undefined (line 1 of the chat template)
            {% include 'x' %}; the tag 'include' is not supported (line 1 of the chat template)
            {% do x %}; the tag 'do' is not supported (line 1 of the chat template)
            {% if x %}; 'if' is not closed (line 1 of the chat template)
            {{ raise_exception('No users here.') }}; No users here.
            {{ messages[9].content }}; 'list' has no attribute '9' (line 1 of the chat template)
            {{ 9 ** 9999 }}; the chat template makes an integer of more than 4300 digits (line 1 of the chat template)
            """)
    void a_chat_that_cannot_be_put_into_the_models_words_is_told_why_and_texts_are_completed(
            String chatTemplate, String message) {
        joinWith(chatTemplate);

        for (String path : new String[] {"/v1/chat/completions", "/tokenize"}) {
            HttpResponse<String> refused = post(path, CHAT);
            JsonNode error = json(refused).path("error");
            assertThat(refused.statusCode()).as(refused.body()).isEqualTo(400);
            assertThat(error.path("message").asString()).isEqualTo(message);
            assertThat(error.path("type").asString()).isEqualTo("invalid_request_error");
            assertThat(error.path("param").asString()).isEqualTo("messages");
        }
        HttpResponse<String> completed = post("/v1/completions", "{'model':'tiny','prompt':'Hi'}");
        assertThat(completed.statusCode()).isEqualTo(200);
        assertThat(json(completed).path("choices").path(0).path("text").asString()).isEqualTo("!");
    }

    @Test
    void text_parts_are_joined_by_line_breaks_for_a_template_that_takes_strings() {
        FakeWorker worker = joinWith("{% for m in messages %}[{{ m.content }}]{% endfor %}");

        post("/v1/chat/completions", parts());

        assertThat(promptOf(worker)).isEqualTo("[a\nb][c]");
    }

    @Test
    void text_parts_are_parts_to_a_template_that_goes_through_them() {
        FakeWorker worker = joinWith("{% for m in messages %}["
                + "{% for p in m.content %}{{ p.type[0] ~ p.text }}{% endfor %}]{% endfor %}");

        post("/v1/chat/completions", parts());

        assertThat(promptOf(worker)).isEqualTo("[tatb][tc]");
    }

    private static String parts() {
        return "{'model':'tiny','messages':[{'role':'user','content':[{'type':'text','text':'a'},"
                + "{'type':'text','text':'b'}]},{'role':'user','content':'c'}]}";
    }
}
