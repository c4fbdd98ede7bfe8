package dev.warmpath.acceptance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.langchain4j.agent.tool.P;
import dev.langchain4j.agent.tool.Tool;
import dev.langchain4j.agent.tool.ToolExecutionRequest;
import dev.langchain4j.agent.tool.ToolSpecification;
import dev.langchain4j.data.message.AiMessage;
import dev.langchain4j.data.message.ChatMessage;
import dev.langchain4j.data.message.ToolExecutionResultMessage;
import dev.langchain4j.data.message.UserMessage;
import dev.langchain4j.exception.AuthenticationException;
import dev.langchain4j.exception.InvalidRequestException;
import dev.langchain4j.exception.ModelNotFoundException;
import dev.langchain4j.exception.RateLimitException;
import dev.langchain4j.model.chat.request.ChatRequest;
import dev.langchain4j.model.chat.request.ToolChoice;
import dev.langchain4j.model.chat.request.json.JsonObjectSchema;
import dev.langchain4j.model.chat.response.ChatResponse;
import dev.langchain4j.model.chat.response.PartialResponse;
import dev.langchain4j.model.chat.response.PartialResponseContext;
import dev.langchain4j.model.chat.response.PartialThinking;
import dev.langchain4j.model.chat.response.PartialToolCall;
import dev.langchain4j.model.chat.response.StreamingChatResponseHandler;
import dev.langchain4j.model.openai.OpenAiChatModel;
import dev.langchain4j.model.openai.OpenAiChatResponseMetadata;
import dev.langchain4j.model.openai.OpenAiLanguageModel;
import dev.langchain4j.model.openai.OpenAiStreamingChatModel;
import dev.langchain4j.model.openai.OpenAiTokenUsage;
import dev.langchain4j.model.output.FinishReason;
import dev.langchain4j.service.AiServices;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** What LangChain4j's models for OpenAI send and read, and its services on them. */
abstract class LangChain4jScenarios {

    private static final ToolSpecification WEATHER = ToolSpecification.builder().name("get_weather")
            .description("How the weather is in a city")
            .parameters(JsonObjectSchema.builder().addStringProperty("city").required("city").build()).build();

    private final ClientsFleet fleet;

    LangChain4jScenarios(ClientsFleet fleet) {
        this.fleet = fleet;
    }

    private OpenAiChatModel.OpenAiChatModelBuilder model(String name) {
        return OpenAiChatModel.builder().baseUrl(fleet.baseUrl()).apiKey(ClientsFleet.KEY).modelName(name)
                .timeout(Await.PATIENCE).maxRetries(0).returnThinking(true).sendThinking(true);
    }

    private OpenAiStreamingChatModel.OpenAiStreamingChatModelBuilder streaming(String name) {
        return OpenAiStreamingChatModel.builder().baseUrl(fleet.baseUrl()).apiKey(ClientsFleet.KEY).modelName(name)
                .timeout(Await.PATIENCE).returnThinking(true);
    }

    /** What a stream has told, in order, and its end. */
    private static final class Told implements StreamingChatResponseHandler {

        private final CompletableFuture<ChatResponse> end = new CompletableFuture<>();
        private final StringBuilder text = new StringBuilder();
        private final StringBuilder thoughts = new StringBuilder();
        private final List<String> arguments = new ArrayList<>();
        private final int leaveAfter;
        private int pieces;

        Told(int leaveAfter) {
            this.leaveAfter = leaveAfter;
        }

        @Override
        public void onPartialResponse(PartialResponse piece, PartialResponseContext context) {
            text.append(piece.text());
            if (++pieces == leaveAfter) {
                context.streamingHandle().cancel();
                end.complete(null);
            }
        }

        @Override
        public void onPartialThinking(PartialThinking piece) {
            thoughts.append(piece.text());
        }

        @Override
        public void onPartialToolCall(PartialToolCall piece) {
            arguments.add(piece.partialArguments());
        }

        @Override
        public void onCompleteResponse(ChatResponse response) {
            end.complete(response);
        }

        @Override
        public void onError(Throwable error) {
            end.completeExceptionally(error);
        }
    }

    @Test
    void a_chat_is_answered_with_its_usage() {
        ChatResponse answer = model(LocalFleet.MODEL).build().chat(UserMessage.from(ClientsFleet.QUESTION));

        assertThat(answer.aiMessage().text()).isEqualTo(ClientsFleet.ANSWER);
        assertThat(answer.finishReason()).isEqualTo(FinishReason.STOP);
        var usage = (OpenAiTokenUsage) answer.tokenUsage();
        assertThat(usage.outputTokenCount()).isGreaterThan(10);
        assertThat(usage.inputTokensDetails().cachedTokens()).isNotNull();
    }

    @Test
    void a_stream_adds_up_to_the_whole_answer_and_ends_with_usage() {
        var told = new Told(-1);
        streaming(LocalFleet.MODEL).build().chat(ClientsFleet.QUESTION, told);

        ChatResponse end = told.end.join();
        assertThat(told.text).hasToString(ClientsFleet.ANSWER);
        assertThat(end.aiMessage().text()).isEqualTo(ClientsFleet.ANSWER);
        assertThat(end.tokenUsage().outputTokenCount()).isGreaterThan(10);
        assertThat(told.pieces).isGreaterThan(10);
    }

    @Test
    void text_is_completed() {
        OpenAiLanguageModel model = OpenAiLanguageModel.builder().baseUrl(fleet.baseUrl()).apiKey(ClientsFleet.KEY)
                .modelName(LocalFleet.MODEL).timeout(Await.PATIENCE).maxRetries(0).build();

        assertThat(model.generate("The quick brown fox").content()).isNotEmpty();
    }

    @Test
    void biases_and_penalties_shape_what_is_drawn() {
        assertThat(biased(60, 40).build().chat("Hi")).matches("a{24}");
        assertThat(biased(60, 40).frequencyPenalty(2.0).build().chat("Hi")).matches("aaa.*b.*");
        assertThat(biased(100, 65).customParameters(Map.of("repetition_penalty", 2)).build().chat("Hi"))
                .startsWith("abaa");
    }

    private OpenAiChatModel.OpenAiChatModelBuilder biased(int a, int b) {
        return model(LocalFleet.MODEL).maxTokens(24).logitBias(Map.of(fleet.tokenId("a"), a, fleet.tokenId("b"), b));
    }

    @Test
    void two_calls_with_what_was_thought_are_answered_by_two_results() {
        OpenAiChatModel model = model(ScriptedWorker.MODEL).build();
        List<ChatMessage> messages = new ArrayList<>(List.of(UserMessage.from(ClientsFleet.TWO_CITIES)));

        ChatResponse response =
                model.chat(ChatRequest.builder().messages(messages).toolSpecifications(WEATHER).build());

        AiMessage message = response.aiMessage();
        assertThat(response.finishReason()).isEqualTo(FinishReason.TOOL_EXECUTION);
        assertThat(message.thinking()).isEqualTo(ClientsFleet.THOUGHT);
        assertThat(message.toolExecutionRequests()).extracting(ToolExecutionRequest::arguments)
                .containsExactly("{\"city\": \"Paris\"}", "{\"city\": \"Rome\"}");

        messages.add(message);
        message.toolExecutionRequests().forEach(call -> messages.add(ToolExecutionResultMessage.from(call,
                call.arguments().contains("Rome") ? "9 degrees" : "21 degrees")));
        assertThat(model.chat(ChatRequest.builder().messages(messages).toolSpecifications(WEATHER).build()).aiMessage()
                .text()).isEqualTo(ClientsFleet.AS_THOUGHT + "21 degrees and 9 degrees.");
    }

    /** What a service makes of it. */
    interface Assistant {
        String ask(String question);
    }

    /** A tool as its users write one. */
    static final class WeatherStation {

        private final List<String> asked = new ArrayList<>();

        @Tool(name = "get_weather", value = "How the weather is in a city")
        String weather(@P(name = "city", value = "its name") String city) {
            asked.add(city);
            return city + " has sun";
        }
    }

    @Test
    void a_service_calls_its_tools_by_itself() {
        var station = new WeatherStation();
        Assistant assistant = AiServices.builder(Assistant.class).chatModel(model(ScriptedWorker.MODEL).build())
                .tools(station).build();

        assertThat(assistant.ask(ClientsFleet.TWO_CITIES))
                .isEqualTo(ClientsFleet.AS_THOUGHT + "Paris has sun and Rome has sun.");
        assertThat(station.asked).containsExactly("Paris", "Rome");
    }

    @Test
    void calls_of_a_stream_come_in_pieces_and_add_up() {
        var told = new Told(-1);
        streaming(ScriptedWorker.MODEL).build().chat(ChatRequest.builder()
                .messages(UserMessage.from(ClientsFleet.TWO_CITIES)).toolSpecifications(WEATHER).build(), told);

        AiMessage message = told.end.join().aiMessage();
        assertThat(message.toolExecutionRequests()).extracting(ToolExecutionRequest::arguments)
                .containsExactly("{\"city\": \"Paris\"}", "{\"city\": \"Rome\"}");
        assertThat(told.thoughts).hasToString(ClientsFleet.THOUGHT);
        assertThat(told.arguments).hasSizeGreaterThan(8);
    }

    @Test
    void calls_are_text_where_none_is_wanted_and_one_where_they_may_not_be_parallel() {
        AiMessage text = model(ScriptedWorker.MODEL).build().chat(ChatRequest.builder()
                .messages(UserMessage.from(ClientsFleet.ONE_CITY)).toolSpecifications(WEATHER)
                .toolChoice(ToolChoice.NONE).build()).aiMessage();
        assertThat(text.hasToolExecutionRequests()).isFalse();
        assertThat(text.text()).startsWith("<tool_call>");

        assertThat(model(ScriptedWorker.MODEL).parallelToolCalls(false).build().chat(ChatRequest.builder()
                .messages(UserMessage.from(ClientsFleet.TWO_CITIES)).toolSpecifications(WEATHER).build()).aiMessage()
                .toolExecutionRequests()).hasSize(1);
    }

    @Test
    void errors_are_the_types_that_the_client_has_for_them() {
        assertThatThrownBy(() -> model(LocalFleet.MODEL).apiKey(ClientsFleet.UNKNOWN_KEY).build().chat("Hi"))
                .isInstanceOf(AuthenticationException.class).hasMessageContaining("invalid_api_key");
        assertThatThrownBy(() -> model(LocalFleet.MODEL).customHeaders(Map.of("origin", ClientsFleet.STRANGE_ORIGIN))
                .build().chat("Hi"))
                .isInstanceOf(AuthenticationException.class).hasMessageContaining("forbidden");
        assertThatThrownBy(() -> model(LocalFleet.MODEL).apiKey(ClientsFleet.SCARCE_KEY).build().chat("Hi"))
                .isInstanceOf(RateLimitException.class).hasMessageContaining("rate_limit_exceeded");
        assertThatThrownBy(() -> model("gpt-4").build().chat("Hi"))
                .isInstanceOf(ModelNotFoundException.class).hasMessageContaining("model_not_found");
        assertThatThrownBy(() -> model(LocalFleet.MODEL).build().chat("word ".repeat(3_000)))
                .isInstanceOf(InvalidRequestException.class).hasMessageContaining("context_length_exceeded");
    }

    @Test
    void a_refused_stream_fails_as_a_whole_answer_does() {
        var told = new Told(-1);
        streaming("gpt-4").build().chat("Hi", told);

        assertThatThrownBy(told.end::join).hasCauseInstanceOf(ModelNotFoundException.class);
    }

    @Test
    void an_answer_comes_with_log_probabilities_of_what_was_drawn() {
        ChatResponse answer = model(LocalFleet.MODEL).maxTokens(4).logprobs(true).topLogprobs(2).build()
                .chat(UserMessage.from(ClientsFleet.QUESTION));

        assertThat(((OpenAiChatResponseMetadata) answer.metadata()).logProbs()).hasSize(4)
                .allSatisfy(token -> assertThat(token.topLogprobs()).hasSize(2));
    }

    @Test
    void nobody_goes_on_with_a_stream_that_was_closed() {
        OpenAiStreamingChatModel model = streaming(LocalFleet.MODEL).maxTokens(ClientsFleet.LONG)
                .customParameters(Map.of("ignore_eos", true)).build();
        fleet.expectCancelled(() -> {
            var told = new Told(3);
            model.chat(ClientsFleet.QUESTION, told);
            told.end.join();
        });
    }
}
