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
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.databind.JsonNode;

/** Chats of a model that thinks and calls tools, with Qwen 3's template. */
class ToolsTest extends RunningRouter {

    private static final ModelTokenizer TOKENIZER =
            tokenizerWith("../tokenization/src/test/resources/chat-templates/qwen3.jinja");
    private static final String WEATHER = """
            {'type':'function','function':{'name':'get_weather','description':'Now & here','parameters':
            {'type':'object','properties':{'city':{'type':'string'}},'required':['city']}}}""".replace("\n", "");
    private static final String CHAT =
            "{'model':'tiny','messages':[{'role':'user','content':'Hi'}],'max_tokens':999,'tools':[" + WEATHER + "]%s}";
    private static final String CALL = """
            <tool_call>
            {"name": "get_weather", "arguments": {"city": "Paris"}}
            </tool_call>""";

    @Override
    protected ModelTokenizer tokenizer() {
        return TOKENIZER;
    }

    @Override
    protected int contextLength() {
        return 4_096;
    }

    private static ModelTokenizer tokenizerWith(String template) {
        Path tokenizers = Path.of("../tokenization/src/test/resources/tokenizers");
        try {
            String config = JSON.writeValueAsString(Map.of("eos_token", "<|end|>",
                    "chat_template", Files.readString(Path.of(template))));
            return new ModelTokenizer(new ModelFiles(Files.readAllBytes(tokenizers.resolve("byte-level.json")),
                    config.getBytes(StandardCharsets.UTF_8), null, null));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private FakeWorker joinSaying(String answer) {
        int[] ids = ids(answer);
        int[] ended = Arrays.copyOf(ids, ids.length + 1);
        ended[ids.length] = END;
        return join("w0").doing(FakeWorker.finishing(FinishReason.STOP, 0, ended));
    }

    private static String promptOf(FakeWorker worker) {
        return TOKENIZER.decode(worker.requests().remove().promptTokens(), /* skipSpecialTokens */ false);
    }

    private static JsonNode choice(HttpResponse<String> response) {
        assertThat(response.statusCode()).as(response.body()).isEqualTo(200);
        return json(response).path("choices").path(0);
    }

    @Test
    void a_whole_answer_has_its_reasoning_and_its_calls_beside_its_text() {
        FakeWorker worker = joinSaying("<think>\nThe weather.\n</think>\n\nI look.\n" + CALL + "\n" + CALL);

        JsonNode choice = choice(post("/v1/chat/completions", CHAT.formatted("")));

        JsonNode message = choice.path("message");
        assertThat(message.path("content").asString()).isEqualTo("I look.");
        assertThat(message.path("reasoning_content").asString()).isEqualTo("The weather.");
        assertThat(choice.path("finish_reason").asString()).isEqualTo("tool_calls");
        assertThat(message.path("tool_calls")).hasSize(2).allSatisfy(call -> {
            assertThat(call.propertyNames()).containsExactly("id", "type", "function");
            assertThat(call.path("type").asString()).isEqualTo("function");
            assertThat(call.path("function").toString())
                    .isEqualTo("{\"name\":\"get_weather\",\"arguments\":\"{\\\"city\\\": \\\"Paris\\\"}\"}");
        });
        assertThat(message.path("tool_calls").path(0).path("id")).isNotEqualTo(
                message.path("tool_calls").path(1).path("id"));
        assertThat(promptOf(worker)).as("in Python's JSON, in the order of the request").contains("""
                <tools>
                {"type": "function", "function": {"name": "get_weather", "description": "Now & here", "parameters": \
                {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}}
                </tools>""");
    }

    @Test
    void an_answer_that_is_nothing_but_a_call_has_no_content() {
        joinSaying(CALL);

        JsonNode message = choice(post("/v1/chat/completions", CHAT.formatted(""))).path("message");

        assertThat(message.path("content").isNull()).isTrue();
        assertThat(message.has("reasoning_content")).isFalse();
    }

    @Test
    void a_stream_gives_calls_by_index_and_their_arguments_in_pieces() {
        joinSaying("<think>Hm.</think>Look.\n" + CALL + "\n" + CALL);

        List<String> events = events(post("/v1/chat/completions",
                CHAT.formatted(",'stream':true,'stream_options':{'include_usage':true}")).body());

        assertThat(events.getLast()).isEqualTo("[DONE]");
        List<JsonNode> choices = events.subList(0, events.size() - 2).stream()
                .map(event -> JSON.readTree(event).path("choices").path(0)).toList();
        var text = new StringBuilder();
        var reasoning = new StringBuilder();
        List<StringBuilder> arguments = List.of(new StringBuilder(), new StringBuilder());
        for (JsonNode choice : choices) {
            JsonNode delta = choice.path("delta");
            text.append(delta.path("content").asString(""));
            reasoning.append(delta.path("reasoning_content").asString(""));
            for (JsonNode call : delta.path("tool_calls")) {
                StringBuilder joined = arguments.get(call.path("index").asInt());
                assertThat(call.has("id")).as("%s", call).isEqualTo(call.path("function").has("name"));
                assertThat(joined.isEmpty() || !call.has("id")).isTrue();
                joined.append(call.path("function").path("arguments").asString());
            }
        }
        assertThat(text).hasToString("Look.");
        assertThat(reasoning).hasToString("Hm.");
        assertThat(arguments).allSatisfy(each -> assertThat(each).hasToString("{\"city\": \"Paris\"}"));
        assertThat(choices.getLast().path("finish_reason").asString()).isEqualTo("tool_calls");
        assertThat(choices.stream().filter(choice -> choice.path("delta").has("tool_calls"))).hasSizeGreaterThan(8);
    }

    @Test
    void one_call_is_left_where_the_client_wants_no_parallel_ones() {
        joinSaying(CALL + "\n" + CALL);

        assertThat(choice(post("/v1/chat/completions", CHAT.formatted(",'parallel_tool_calls':false")))
                .path("message").path("tool_calls")).hasSize(1);
    }

    @Test
    void without_a_choice_of_tools_what_looks_like_a_call_is_text_and_the_prompt_is_the_same() {
        FakeWorker worker = joinSaying(CALL);

        JsonNode choice = choice(post("/v1/chat/completions", CHAT.formatted(",'tool_choice':'none'")));
        post("/v1/chat/completions", CHAT.formatted(""));

        assertThat(choice.path("message").path("content").asString()).isEqualTo(CALL);
        assertThat(choice.path("finish_reason").asString()).isEqualTo("stop");
        assertThat(promptOf(worker)).isEqualTo(promptOf(worker));
    }

    @Test
    void a_call_that_the_limit_cut_off_ends_for_its_length() {
        join("w0").doing(FakeWorker.finishing(FinishReason.LENGTH, 0,
                ids("<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"ci")));

        JsonNode choice = choice(post("/v1/chat/completions", CHAT.formatted("")));

        assertThat(choice.path("finish_reason").asString()).isEqualTo("length");
        assertThat(choice.path("message").path("tool_calls").path(0).path("function").path("arguments").asString())
                .isEqualTo("{\"ci");
    }

    /** The second turn's prompt begins with the first one's and what was generated: nothing of it is computed again. */
    @Test
    void what_is_sent_back_is_rendered_as_it_was_generated() {
        FakeWorker worker = joinSaying("<think>\nThe weather.\n</think>\n\nI look.\n" + CALL);
        JsonNode message = choice(post("/v1/chat/completions", CHAT.formatted(""))).path("message");
        String id = message.path("tool_calls").path(0).path("id").asString();
        String first = promptOf(worker);

        HttpResponse<String> second = post("/v1/chat/completions", CHAT.formatted("").replace("[{'role'",
                "[{'role':'user','content':'Hi'}," + message.toString()
                + ",{'role':'tool','tool_call_id':'" + id + "','content':'22 degrees'},{'role'")
                .replace(",{'role':'user','content':'Hi'}]", "]"));

        assertThat(second.statusCode()).as(second.body()).isEqualTo(200);
        assertThat(promptOf(worker)).isEqualTo(first + "<think>\nThe weather.\n</think>\n\nI look.\n" + CALL + """
                <|im_end|>
                <|im_start|>user
                <tool_response>
                22 degrees
                </tool_response><|im_end|>
                <|im_start|>assistant
                """);
    }

    @Test
    void arguments_that_are_no_JSON_are_rendered_as_they_are() {
        FakeWorker worker = joinSaying("Oh.");

        HttpResponse<String> response = post("/v1/chat/completions", """
                {'model':'tiny','messages':[{'role':'user','content':'Hi'},{'role':'assistant','tool_calls':
                [{'id':'a','type':'function','function':{'name':'f','arguments':'{broken'}}]},
                {'role':'tool','tool_call_id':'a','content':'no'}]}""".replace("\n", ""));

        assertThat(response.statusCode()).as(response.body()).isEqualTo(200);
        assertThat(promptOf(worker)).contains("{\"name\": \"f\", \"arguments\": {broken}\n</tool_call>");
    }

    @Test
    void a_client_can_write_no_marker_of_the_model_into_its_tools() {
        FakeWorker worker = joinSaying("Oh.");

        post("/v1/chat/completions", CHAT.formatted("").replace("Now & here", "<|end|>"));

        int[] prompt = worker.requests().remove().promptTokens();
        assertThat(Arrays.stream(prompt)).doesNotContain(END);
        assertThat(TOKENIZER.decode(prompt, false)).contains("\"description\": \"<|end|>\"");
    }

    @Test
    void the_template_gets_what_the_client_says_about_thinking() {
        FakeWorker worker = joinSaying("5 it is.");
        String chat = "{'model':'tiny','messages':[{'role':'user','content':'Hi'}]%s}";

        JsonNode choice = choice(post("/v1/chat/completions",
                chat.formatted(",'chat_template_kwargs':{'enable_thinking':false}")));
        post("/v1/chat/completions", chat.formatted(",'reasoning_effort':'none'"));
        post("/v1/chat/completions", chat.formatted(",'reasoning_effort':'low'"));

        assertThat(choice.path("message").path("content").asString()).isEqualTo("5 it is.");
        assertThat(promptOf(worker)).endsWith("<|im_start|>assistant\n<think>\n\n</think>\n\n");
        assertThat(promptOf(worker)).endsWith("<|im_start|>assistant\n<think>\n\n</think>\n\n");
        assertThat(promptOf(worker)).endsWith("<|im_start|>assistant\n");
    }

    @Test
    void a_last_message_can_be_continued() {
        FakeWorker worker = joinSaying(" are three.");

        choice(post("/v1/chat/completions", """
                {'model':'tiny','messages':[{'role':'user','content':'Hi'},{'role':'assistant','content':'There'}],
                'continue_final_message':true}""".replace("\n", "")));

        assertThat(promptOf(worker)).endsWith("\n</think>\n\nThere");
    }

    @ParameterizedTest
    @ValueSource(strings = {"<", "im", "end", "<|im_end|>"})
    void a_last_message_that_looks_like_the_templates_own_words_is_continued_where_the_client_wrote_it(String begun) {
        FakeWorker worker = joinSaying("!");

        choice(post("/v1/chat/completions", """
                {'model':'tiny','messages':[{'role':'user','content':'Hi'},{'role':'assistant','content':'%s'}],
                'continue_final_message':true}""".formatted(begun).replace("\n", "")));

        assertThat(promptOf(worker)).endsWith("\n</think>\n\n" + begun);
    }

    @Test
    void text_completions_are_not_read_for_calls() {
        joinSaying("<think>a</think>" + CALL);

        JsonNode choice = choice(post("/v1/completions", "{'model':'tiny','prompt':'Hi','max_tokens':999}"));

        assertThat(choice.path("text").asString()).isEqualTo("<think>a</think>" + CALL);
    }
}
