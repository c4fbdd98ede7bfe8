package dev.warmpath.acceptance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import com.openai.client.OpenAIClient;
import com.openai.client.okhttp.OpenAIOkHttpClient;
import com.openai.core.JsonValue;
import com.openai.core.http.StreamResponse;
import com.openai.errors.BadRequestException;
import com.openai.errors.NotFoundException;
import com.openai.errors.OpenAIServiceException;
import com.openai.errors.PermissionDeniedException;
import com.openai.errors.RateLimitException;
import com.openai.errors.UnauthorizedException;
import com.openai.helpers.ChatCompletionAccumulator;
import com.openai.models.FunctionDefinition;
import com.openai.models.FunctionParameters;
import com.openai.models.ReasoningEffort;
import com.openai.models.chat.completions.ChatCompletion;
import com.openai.models.chat.completions.ChatCompletionChunk;
import com.openai.models.chat.completions.ChatCompletionCreateParams;
import com.openai.models.chat.completions.ChatCompletionFunctionTool;
import com.openai.models.chat.completions.ChatCompletionMessage;
import com.openai.models.chat.completions.ChatCompletionMessageFunctionToolCall;
import com.openai.models.chat.completions.ChatCompletionStreamOptions;
import com.openai.models.chat.completions.ChatCompletionToolChoiceOption;
import com.openai.models.chat.completions.ChatCompletionToolMessageParam;
import com.openai.models.completions.CompletionChoice;
import com.openai.models.completions.CompletionCreateParams;
import com.openai.models.models.Model;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** What OpenAI's own Java client sends and reads. */
abstract class OpenAiJavaScenarios {

    private static final ChatCompletionFunctionTool WEATHER = ChatCompletionFunctionTool.builder()
            .function(FunctionDefinition.builder().name("get_weather").description("How the weather is in a city")
                    .parameters(FunctionParameters.builder()
                            .putAdditionalProperty("type", JsonValue.from("object"))
                            .putAdditionalProperty("properties",
                                    JsonValue.from(Map.of("city", Map.of("type", "string"))))
                            .putAdditionalProperty("required", JsonValue.from(List.of("city")))
                            .build())
                    .build())
            .build();

    private final ClientsFleet fleet;
    private final OpenAIClient client;

    OpenAiJavaScenarios(ClientsFleet fleet) {
        this.fleet = fleet;
        this.client = client(ClientsFleet.KEY).build();
    }

    private OpenAIOkHttpClient.Builder client(String key) {
        return OpenAIOkHttpClient.builder().baseUrl(fleet.baseUrl()).apiKey(key).timeout(Await.PATIENCE);
    }

    private static ChatCompletionCreateParams.Builder chat(String question) {
        return ChatCompletionCreateParams.builder().model(LocalFleet.MODEL).addUserMessage(question);
    }

    private static ChatCompletionCreateParams.Builder weather(String question) {
        return ChatCompletionCreateParams.builder().model(ScriptedWorker.MODEL).addUserMessage(question)
                .addTool(WEATHER);
    }

    private ChatCompletion.Choice choice(ChatCompletionCreateParams.Builder params) {
        return client.chat().completions().create(params.build()).validate().choices().getFirst();
    }

    private static List<ChatCompletionMessageFunctionToolCall> calls(ChatCompletionMessage message) {
        return message.toolCalls().orElse(List.of()).stream().map(call -> call.asFunction()).toList();
    }

    @Test
    void lists_models() {
        assertThat(client.models().list().data()).extracting(Model::id)
                .containsExactlyInAnyOrder(LocalFleet.MODEL, ScriptedWorker.MODEL);
        assertThat(client.models().retrieve(LocalFleet.MODEL).id()).isEqualTo(LocalFleet.MODEL);
    }

    @Test
    void a_chat_that_comes_again_finds_its_prompt_cached() {
        var params = chat(ClientsFleet.QUESTION).addSystemMessage("Answer in one sentence. ".repeat(8));
        choice(params);
        ChatCompletion answer = client.chat().completions().create(params.build()).validate();

        assertThat(answer.choices().getFirst().finishReason()).isEqualTo(ChatCompletion.Choice.FinishReason.STOP);
        assertThat(answer.usage().orElseThrow().promptTokensDetails().orElseThrow().cachedTokens().orElseThrow())
                .isGreaterThanOrEqualTo(LocalFleet.BLOCK_SIZE);
    }

    @Test
    void a_stream_adds_up_to_the_whole_answer_and_ends_with_usage() {
        var accumulator = ChatCompletionAccumulator.create();
        var params = chat(ClientsFleet.QUESTION)
                .streamOptions(ChatCompletionStreamOptions.builder().includeUsage(true).build()).build();
        int count = 0;
        try (StreamResponse<ChatCompletionChunk> stream = client.chat().completions().createStreaming(params)) {
            for (Iterator<ChatCompletionChunk> chunks = stream.stream().iterator(); chunks.hasNext(); count++) {
                accumulator.accumulate(chunks.next().validate());
            }
        }
        ChatCompletion whole = accumulator.chatCompletion();
        assertThat(whole.choices().getFirst().message().content()).contains(ClientsFleet.ANSWER);
        assertThat(count).isGreaterThan(10);
        assertThat(whole.usage().orElseThrow().completionTokens()).isGreaterThan(10);
    }

    @Test
    void biases_and_penalties_shape_what_is_drawn() {
        assertThat(text(biased(60, 40))).matches("a{24}");
        assertThat(text(biased(60, 40).frequencyPenalty(2))).matches("aaa.*b.*");
        assertThat(text(biased(100, 65).putAdditionalBodyProperty("repetition_penalty", JsonValue.from(2))))
                .startsWith("abaa");
    }

    private CompletionCreateParams.Builder biased(int a, int b) {
        return CompletionCreateParams.builder().model(LocalFleet.MODEL).prompt("The quick brown fox").maxTokens(24)
                .logitBias(CompletionCreateParams.LogitBias.builder()
                        .putAdditionalProperty(fleet.tokenId("a"), JsonValue.from(a))
                        .putAdditionalProperty(fleet.tokenId("b"), JsonValue.from(b)).build());
    }

    private String text(CompletionCreateParams.Builder params) {
        return client.completions().create(params.build()).validate().choices().getFirst().text();
    }

    @Test
    void two_calls_with_what_was_thought_are_answered_by_two_results() {
        var conversation = weather(ClientsFleet.TWO_CITIES).toolChoice(ChatCompletionToolChoiceOption.Auto.AUTO);

        ChatCompletion.Choice choice = choice(conversation);

        assertThat(choice.finishReason()).isEqualTo(ChatCompletion.Choice.FinishReason.TOOL_CALLS);
        assertThat(choice.message()._allProperties().get("reasoning_content").asStringOrThrow())
                .isEqualTo(ClientsFleet.THOUGHT);
        assertThat(choice.message().content()).isEmpty();
        List<ChatCompletionMessageFunctionToolCall> calls = calls(choice.message());
        assertThat(calls).extracting(call -> call.function().name()).containsExactly("get_weather", "get_weather");
        assertThat(calls).extracting(call -> call.function().arguments())
                .containsExactly("{\"city\": \"Paris\"}", "{\"city\": \"Rome\"}");

        // the message by itself would be sent without what was thought
        conversation.addMessage(choice.message().toParam().toBuilder()
                .putAdditionalProperty("reasoning_content", JsonValue.from(ClientsFleet.THOUGHT)).build());
        for (ChatCompletionMessageFunctionToolCall call : calls) {
            conversation.addMessage(ChatCompletionToolMessageParam.builder().toolCallId(call.id())
                    .content(call.function().arguments().contains("Rome") ? "9 degrees" : "21 degrees").build());
        }
        ChatCompletion.Choice last = choice(conversation);
        assertThat(last.message().content()).contains(ClientsFleet.AS_THOUGHT + "21 degrees and 9 degrees.");
        assertThat(last.finishReason()).isEqualTo(ChatCompletion.Choice.FinishReason.STOP);
    }

    @Test
    void calls_of_a_stream_come_in_pieces_and_add_up() {
        var accumulator = ChatCompletionAccumulator.create();
        List<String> pieces = new ArrayList<>();
        try (StreamResponse<ChatCompletionChunk> stream =
                client.chat().completions().createStreaming(weather(ClientsFleet.TWO_CITIES).build())) {
            stream.stream().map(ChatCompletionChunk::validate).peek(accumulator::accumulate)
                    .flatMap(chunk -> chunk.choices().stream())
                    .flatMap(choice -> choice.delta().toolCalls().stream().flatMap(List::stream))
                    .forEach(call -> pieces.add(call.function().orElseThrow().arguments().orElse("")));
        }

        ChatCompletion.Choice choice = accumulator.chatCompletion().choices().getFirst();
        assertThat(choice.finishReason()).isEqualTo(ChatCompletion.Choice.FinishReason.TOOL_CALLS);
        assertThat(calls(choice.message())).extracting(call -> call.function().arguments())
                .containsExactly("{\"city\": \"Paris\"}", "{\"city\": \"Rome\"}");
        assertThat(pieces).hasSizeGreaterThan(8);
    }

    @Test
    void calls_are_text_where_none_is_wanted_and_one_where_they_may_not_be_parallel() {
        ChatCompletionMessage text = choice(weather(ClientsFleet.ONE_CITY)
                .toolChoice(ChatCompletionToolChoiceOption.Auto.NONE)).message();
        assertThat(text.toolCalls()).isEmpty();
        assertThat(text.content().orElseThrow()).startsWith("<tool_call>");

        assertThat(calls(choice(weather(ClientsFleet.TWO_CITIES).parallelToolCalls(false)).message())).hasSize(1);
    }

    @Test
    void who_wants_no_thoughts_gets_none() {
        assertThat(choice(weather(ClientsFleet.ONE_CITY).reasoningEffort(ReasoningEffort.NONE)).message()
                ._allProperties()).doesNotContainKey("reasoning_content");
    }

    @Test
    void errors_are_the_types_that_the_client_has_for_them() {
        ChatCompletionCreateParams chat = chat("Hi").build();

        assertRefused(client(ClientsFleet.UNKNOWN_KEY).build(), chat, UnauthorizedException.class, 401,
                "invalid_api_key");
        assertRefused(client(ClientsFleet.KEY).putHeader("origin", ClientsFleet.STRANGE_ORIGIN).build(), chat,
                PermissionDeniedException.class, 403, "forbidden");
        var limited = assertRefused(client(ClientsFleet.SCARCE_KEY).build(), chat, RateLimitException.class, 429,
                "rate_limit_exceeded");
        assertThat(limited.type()).contains("tokens");
        assertThat(limited.headers().values("x-ratelimit-limit-tokens")).containsExactly("1");
        assertRefused(client, chat.toBuilder().model("gpt-4").build(), NotFoundException.class, 404,
                "model_not_found");
        var tooLong = assertRefused(client, chat("word ".repeat(3_000)).build(), BadRequestException.class, 400,
                "context_length_exceeded");
        assertThat(tooLong).hasMessageContaining("This model's maximum context length is 2048 tokens");
        assertThat(assertRefused(client, chat.toBuilder().temperature(3).build(), BadRequestException.class, 400,
                "invalid_value").param()).contains("temperature");
    }

    private static <E extends OpenAIServiceException> E assertRefused(OpenAIClient client,
            ChatCompletionCreateParams params, Class<E> type, int status, String code) {
        E refused = catchThrowableOfType(type, () -> client.chat().completions().create(params));
        assertThat(refused).isNotNull();
        assertThat(refused.statusCode()).isEqualTo(status);
        assertThat(refused.code()).contains(code);
        return refused;
    }

    @Test
    void a_refused_stream_fails_as_a_whole_answer_does() {
        var params = chat("Hi").model("gpt-4").build();
        assertThat(catchThrowableOfType(NotFoundException.class, () -> client.chat().completions()
                .createStreaming(params).close()).code()).contains("model_not_found");
    }

    @Test
    void choices_come_with_log_probabilities_of_what_was_drawn() {
        ChatCompletion answer = client.chat().completions().create(chat(ClientsFleet.QUESTION).n(3).temperature(1)
                .maxCompletionTokens(8).logprobs(true).topLogprobs(2)
                .putAdditionalBodyProperty("ignore_eos", JsonValue.from(true)).build()).validate();

        assertThat(answer.choices()).extracting(ChatCompletion.Choice::index).containsExactly(0L, 1L, 2L);
        assertThat(answer.usage().orElseThrow().completionTokens()).isEqualTo(3 * 8);
        assertThat(answer.choices()).allSatisfy(choice ->
                assertThat(choice.logprobs().orElseThrow().content().orElseThrow()).hasSize(8).allSatisfy(token -> {
                    assertThat(token.logprob()).isNotPositive();
                    assertThat(token.topLogprobs()).hasSize(2);
                }));
    }

    @Test
    void choices_of_a_stream_add_up_each_by_its_index() {
        var accumulator = ChatCompletionAccumulator.create();
        try (StreamResponse<ChatCompletionChunk> stream = client.chat().completions()
                .createStreaming(chat(ClientsFleet.QUESTION).n(2).logprobs(true).build())) {
            stream.stream().forEach(accumulator::accumulate);
        }
        assertThat(accumulator.chatCompletion().choices()).hasSize(2).allSatisfy(choice -> {
            assertThat(choice.message().content()).contains(ClientsFleet.ANSWER);
            assertThat(choice.logprobs().orElseThrow().content().orElseThrow()).hasSizeGreaterThan(10);
        });
    }

    @Test
    void prompts_are_scored_and_several_are_answered_in_their_order() {
        var params = CompletionCreateParams.builder().model(LocalFleet.MODEL).logprobs(2).maxTokens(0).echo(true);
        CompletionChoice scored = client.completions().create(params.prompt("The quick brown fox").build()).choices()
                .getFirst();
        assertThat(scored.text()).isEqualTo("The quick brown fox");
        assertThat(String.join("", scored.logprobs().orElseThrow().tokens().orElseThrow()))
                .as("the model begins with a token of its own").isEqualTo("<|begin|>" + scored.text());

        List<String> prompts = List.of("The quick brown fox", "A block table");
        var both = client.completions().create(params.promptOfArrayOfStrings(prompts).build());
        assertThat(both.choices()).extracting(CompletionChoice::text).containsExactlyElementsOf(prompts);
    }

    @Test
    void nobody_goes_on_with_a_stream_that_was_closed() {
        var params = chat(ClientsFleet.QUESTION).maxCompletionTokens(ClientsFleet.LONG)
                .putAdditionalBodyProperty("ignore_eos", JsonValue.from(true)).build();
        fleet.expectCancelled(() -> {
            try (StreamResponse<ChatCompletionChunk> stream = client.chat().completions().createStreaming(params)) {
                assertThat(stream.stream().limit(3)).hasSize(3);
            }
        });
    }
}
