package dev.warmpath.acceptance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.openai.errors.BadRequestException;
import com.openai.errors.NotFoundException;
import com.openai.errors.PermissionDeniedException;
import com.openai.errors.RateLimitException;
import com.openai.errors.UnauthorizedException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.springframework.ai.chat.client.ChatClient;
import org.springframework.ai.chat.model.ChatResponse;
import org.springframework.ai.chat.model.Generation;
import org.springframework.ai.chat.prompt.Prompt;
import org.springframework.ai.openai.OpenAiChatModel;
import org.springframework.ai.openai.OpenAiChatOptions;
import org.springframework.ai.tool.annotation.Tool;
import org.springframework.ai.tool.annotation.ToolParam;
import org.springframework.ai.tool.method.MethodToolCallbackProvider;

/** What Spring AI's model for OpenAI sends and reads, and its chat client on it. */
abstract class SpringAiScenarios {

    private final ClientsFleet fleet;

    SpringAiScenarios(ClientsFleet fleet) {
        this.fleet = fleet;
    }

    private OpenAiChatOptions.Builder options(String model) {
        var options = OpenAiChatOptions.builder();
        options.baseUrl(fleet.baseUrl()).apiKey(ClientsFleet.KEY).timeout(Await.PATIENCE).model(model);
        return options;
    }

    private static OpenAiChatModel model(OpenAiChatOptions.Builder options) {
        return OpenAiChatModel.builder().options(options.build()).build();
    }

    /** A tool as its users write one. */
    static final class WeatherStation {

        private final List<String> asked = new ArrayList<>();

        @Tool(name = "get_weather", description = "How the weather is in a city")
        String weather(@ToolParam(description = "its name") String city) {
            asked.add(city);
            return city + " has sun";
        }
    }

    @Test
    void a_chat_is_answered_with_its_usage() {
        ChatResponse answer = model(options(LocalFleet.MODEL)).call(new Prompt(ClientsFleet.QUESTION));

        assertThat(answer.getResult().getOutput().getText()).isEqualTo(ClientsFleet.ANSWER);
        assertThat(answer.getResult().getMetadata().getFinishReason()).isEqualTo("STOP");
        assertThat(answer.getMetadata().getUsage().getCompletionTokens()).isGreaterThan(10);
    }

    @Test
    void a_stream_adds_up_to_the_whole_answer_and_ends_with_usage() {
        var options = options(LocalFleet.MODEL);
        options.streamUsage(true);
        List<ChatResponse> chunks = model(options).stream(new Prompt(ClientsFleet.QUESTION)).collectList().block();

        assertThat(text(chunks)).isEqualTo(ClientsFleet.ANSWER);
        assertThat(chunks).hasSizeGreaterThan(10);
        assertThat(chunks.getLast().getMetadata().getUsage().getCompletionTokens()).isGreaterThan(10);
    }

    private static String text(List<ChatResponse> chunks) {
        var text = new StringBuilder();
        chunks.stream().map(ChatResponse::getResult)
                .forEach(result -> text.append(result == null || result.getOutput().getText() == null ? ""
                        : result.getOutput().getText()));
        return text.toString();
    }

    @Test
    void biases_and_penalties_shape_what_is_drawn() {
        assertThat(model(biased(60, 40)).call("Hi")).matches("a{24}");
        var frequency = biased(60, 40);
        frequency.frequencyPenalty(2.0);
        assertThat(model(frequency).call("Hi")).matches("aaa.*b.*");
        var repetition = biased(100, 65);
        repetition.extraBody(Map.of("repetition_penalty", 2));
        assertThat(model(repetition).call("Hi")).startsWith("abaa");
    }

    private OpenAiChatOptions.Builder biased(int a, int b) {
        var options = options(LocalFleet.MODEL);
        options.maxTokens(24).logitBias(Map.of(fleet.tokenId("a"), a, fleet.tokenId("b"), b));
        return options;
    }

    @Test
    void a_model_tells_calls_and_what_was_thought() {
        var options = options(ScriptedWorker.MODEL);
        options.toolCallbacks(MethodToolCallbackProvider.builder().toolObjects(new WeatherStation()).build()
                .getToolCallbacks());

        Generation result = model(options).call(new Prompt(ClientsFleet.TWO_CITIES)).getResult();

        assertThat(result.getMetadata().getFinishReason()).isEqualTo("TOOL_CALLS");
        assertThat(result.getOutput().getMetadata()).containsEntry("reasoningContent", ClientsFleet.THOUGHT);
        assertThat(result.getOutput().getToolCalls()).extracting(call -> call.name() + " " + call.arguments())
                .containsExactly("get_weather {\"city\": \"Paris\"}", "get_weather {\"city\": \"Rome\"}");
    }

    @Test
    void a_chat_client_calls_its_tools_by_itself() {
        var station = new WeatherStation();

        assertThat(ChatClient.create(model(options(ScriptedWorker.MODEL))).prompt(ClientsFleet.TWO_CITIES)
                .tools(station).call().content())
                .isEqualTo(ClientsFleet.AS_THOUGHT + "\"Paris has sun\" and \"Rome has sun\".");
        assertThat(station.asked).containsExactly("Paris", "Rome");
    }

    @Test
    void a_chat_client_calls_its_tools_in_the_middle_of_a_stream() {
        var station = new WeatherStation();

        List<String> pieces = ChatClient.create(model(options(ScriptedWorker.MODEL))).prompt(ClientsFleet.TWO_CITIES)
                .tools(station).stream().content().collectList().block();

        assertThat(String.join("", pieces))
                .endsWith(ClientsFleet.AS_THOUGHT + "\"Paris has sun\" and \"Rome has sun\".");
        assertThat(station.asked).containsExactly("Paris", "Rome");
    }

    @Test
    void calls_are_text_where_none_is_wanted_and_one_where_they_may_not_be_parallel() {
        var options = options(ScriptedWorker.MODEL);
        options.toolCallbacks(MethodToolCallbackProvider.builder().toolObjects(new WeatherStation()).build()
                .getToolCallbacks());
        options.toolChoice("none");
        assertThat(model(options).call(new Prompt(ClientsFleet.ONE_CITY)).getResult().getOutput().getText())
                .startsWith("<tool_call>");

        options.toolChoice("auto").parallelToolCalls(false);
        assertThat(model(options).call(new Prompt(ClientsFleet.TWO_CITIES)).getResult().getOutput().getToolCalls())
                .hasSize(1);
    }

    @Test
    void errors_are_the_types_of_the_client_beneath() {
        var unknown = options(LocalFleet.MODEL);
        unknown.apiKey(ClientsFleet.UNKNOWN_KEY);
        assertThatThrownBy(() -> model(unknown).call("Hi")).isInstanceOf(UnauthorizedException.class);
        var strange = options(LocalFleet.MODEL);
        strange.customHeaders(Map.of("origin", ClientsFleet.STRANGE_ORIGIN));
        assertThatThrownBy(() -> model(strange).call("Hi")).isInstanceOf(PermissionDeniedException.class);
        var scarce = options(LocalFleet.MODEL);
        scarce.apiKey(ClientsFleet.SCARCE_KEY);
        assertThatThrownBy(() -> model(scarce).call("Hi")).isInstanceOf(RateLimitException.class);
        assertThatThrownBy(() -> model(options("gpt-4")).call("Hi")).isInstanceOf(NotFoundException.class);
        assertThatThrownBy(() -> model(options(LocalFleet.MODEL)).call("word ".repeat(3_000)))
                .isInstanceOf(BadRequestException.class)
                .hasMessageContaining("This model's maximum context length is 2048 tokens");
    }

    /** That it asks for log-probabilities, too, is of no use: it keeps none. */
    @Test
    void several_choices_are_several_results() {
        var options = options(LocalFleet.MODEL);
        options.n(2).logprobs(true).topLogprobs(2);

        assertThat(model(options).call(new Prompt(ClientsFleet.QUESTION)).getResults()).hasSize(2)
                .allSatisfy(result -> assertThat(result.getOutput().getText()).isEqualTo(ClientsFleet.ANSWER));
    }

    @Test
    void nobody_goes_on_with_a_stream_that_was_closed() {
        var options = options(LocalFleet.MODEL);
        options.maxTokens(ClientsFleet.LONG).extraBody(Map.of("ignore_eos", true));
        OpenAiChatModel model = model(options);
        fleet.expectCancelled(() ->
                assertThat(model.stream(new Prompt(ClientsFleet.QUESTION)).take(3).collectList().block()).hasSize(3));
    }
}
