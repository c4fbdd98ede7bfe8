package dev.warmpath.acceptance;

import dev.warmpath.protocol.generate.FinishReason;
import dev.warmpath.protocol.generate.GenerateEvent;
import dev.warmpath.protocol.generate.GenerateRequest;
import dev.warmpath.tokenization.ModelFiles;
import dev.warmpath.tokenization.ModelTokenizer;
import java.io.IOException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.reactivestreams.Publisher;
import reactor.core.publisher.Flux;
import reactor.netty.http.server.HttpServerResponse;
import tools.jackson.databind.json.JsonMapper;

/**
 * A worker that writes what a model would which thinks and calls tools, since the model that ships does neither. It
 * reads the prompt, as Qwen 3's template renders it, and says one of three things: a call of {@code get_weather} for
 * each "in Somewhere" of the last question; what the tools have answered, if they have, and whether its thought came
 * back to it; that it has no tools.
 */
final class ScriptedWorker implements AutoCloseable, StandInWorker.Engine {

    static final String MODEL = "scripted";
    private static final Path TEMPLATE =
            LocalFleet.ROOT.resolve("tokenization/src/test/resources/chat-templates/qwen3.jinja");
    private static final Pattern CITY = Pattern.compile("\\bin ([A-Z]\\w+)");
    private static final Pattern TOOL_RESPONSE = Pattern.compile("<tool_response>\n(.*?)\n</tool_response>");
    private static final String THOUGHT = "<think>\n" + ClientsFleet.THOUGHT + "\n</think>\n\n";
    private static final String CALL = """
            <tool_call>
            {"name": "get_weather", "arguments": {"city": "%s"}}
            </tool_call>""";
    private static final int SEQUENCES = 64;

    private final ModelTokenizer tokenizer;
    private final StandInWorker worker;

    ScriptedWorker(int port, URI routerManagement) throws IOException {
        Path shipped = LocalFleet.ROOT.resolve("models").resolve(LocalFleet.MODEL);
        byte[] config = JsonMapper.shared().writeValueAsString(Map.of("eos_token", "<|end|>",
                "chat_template", Files.readString(TEMPLATE))).getBytes(StandardCharsets.UTF_8);
        tokenizer = new ModelTokenizer(new ModelFiles(Files.readAllBytes(shipped.resolve("tokenizer.json")), config,
                Files.readAllBytes(shipped.resolve("generation_config.json")), null));
        worker = new StandInWorker("scripted-1", port, List.of(routerManagement),
                StandInWorker.Model.named(MODEL, Map.of("tokenizer_config.json", config)), SEQUENCES, this, _ -> {});
    }

    /** The last token of a text, as both models have it: their vocabulary is one. */
    int lastToken(String text) {
        int[] tokens = tokenizer.encode(text, false);
        return tokens[tokens.length - 1];
    }

    @Override
    public void close() {
        worker.close();
    }

    @Override
    public Publisher<Void> generate(GenerateRequest request, HttpServerResponse response) {
        int[] prompt = request.promptTokens();
        String answer = answer(tokenizer.decode(prompt, /* skipSpecialTokens */ false));
        int[] drawn = tokenizer.encode(answer + "<|end|>", /* addSpecialTokens */ false);
        int count = Math.min(drawn.length, request.stop().maxTokens());
        List<GenerateEvent> events = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            events.add(new GenerateEvent.Tokens(0, new int[] {drawn[i]}, null));
        }
        events.add(new GenerateEvent.Finished(count < drawn.length ? FinishReason.LENGTH : FinishReason.STOP,
                new GenerateEvent.Usage(prompt.length, 0, count)));
        return StandInWorker.answer(response, Flux.fromIterable(events));
    }

    private static String answer(String prompt) {
        String turn = prompt.substring(prompt.lastIndexOf("<|im_start|>user"));
        List<String> told = TOOL_RESPONSE.matcher(turn).results().map(result -> result.group(1)).toList();
        if (!told.isEmpty()) {
            // the template shows what was thought before a call, if it was sent back
            return (prompt.contains(ClientsFleet.THOUGHT) ? ClientsFleet.AS_THOUGHT : "The tools say: ")
                    + String.join(" and ", told) + ".";
        }
        if (!prompt.contains("<tools>")) {
            return "Nobody has given me tools.";
        }
        String calls = CITY.matcher(turn).results().map((MatchResult city) -> CALL.formatted(city.group(1)))
                .collect(Collectors.joining("\n"));
        return turn.endsWith("</think>\n\n") ? calls : THOUGHT + calls;
    }

    @Override
    public int running() {
        return 0;
    }

    @Override
    public int waiting() {
        return 0;
    }
}
