package dev.warmpath.worker.foreign.generate;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.process.SharedFiles;
import dev.warmpath.process.TestEngine;
import dev.warmpath.protocol.generate.GenerateRequest;
import dev.warmpath.protocol.generate.SamplingParameters;
import dev.warmpath.protocol.generate.StopConditions;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;
import tools.jackson.databind.JsonNode;

/** Every stream with token ids of one answer that was captured of a real vLLM, told as it is there. */
class SharedCapturesTest {

    private static final EngineFacts FACTS =
            new EngineFacts(EngineKind.VLLM, null, "m", null, 2_048, null, 0, Map.of());
    private static final Pattern IDS = Pattern.compile("[^_]\"?token_ids\":\\[([^\\]]*)\\]");

    @TestFactory
    Stream<DynamicTest> every_stream_of_a_vllm_is_told() throws IOException {
        Path folder = SharedFiles.find("engines");
        try (Stream<Path> files = Files.walk(folder)) {
            List<Path> answers = files.filter(file -> file.toString().contains("vllm-")
                    && file.toString().endsWith(".response.http")).filter(SharedCapturesTest::isStreamWithIds).toList();
            assertThat(answers).hasSizeGreaterThan(10);
            return answers.stream()
                    .map(file -> DynamicTest.dynamicTest(folder.relativize(file).toString(), () -> check(file)));
        }
    }

    private static boolean isStreamWithIds(Path file) {
        String text = read(file);
        return text.contains("text/event-stream") && IDS.matcher(text).find() && !text.contains("\"index\":1")
                && !file.toString().contains("text-mode") && !file.toString().contains("chat");
    }

    private static void check(Path file) throws IOException {
        String response = read(file);
        String request = read(Path.of(file.toString().replace(".response.", ".request.")));
        JsonNode body = Dialect.JSON.readTree(request.substring(request.indexOf("\r\n\r\n") + 4));
        boolean isCompletion = body.has("prompt");
        JsonNode sampling = isCompletion ? body : body.path("sampling_params");
        var stop = new StopConditions(sampling.path("max_tokens").asInt(2_000), new int[0], false);
        int[] expected = IDS.matcher(response).results().flatMap(match -> Arrays.stream(match.group(1).split(",")))
                .filter(id -> !id.isEmpty()).mapToInt(Integer::parseInt).toArray();
        Dialect dialect = isCompletion ? new Completions("m", true) : new VllmTokens("m", true);
        GenerateRequest asked = GenerateRequest.of("r", Dialect.JSON.treeToValue(
                body.path(isCompletion ? "prompt" : "token_ids"), int[].class), SamplingParameters.GREEDY, stop);
        try (TestEngine server = TestEngine.start()
                .answer(dialect.path(), TestEngine.captured(Files.readAllBytes(file)));
                ForeignEngine engine = new ForeignEngine(EngineLink.to(server.address()),
                        new FoundEngine(FACTS, dialect), 0, 0, () -> 1, _ -> 0, () -> { }, () -> { },
                        () -> { })) {
            var heard = new Heard();
            engine.submit(asked, List.of(heard));
            heard.awaitEnd();

            assertThat(heard.ids()).isEqualTo(expected);
            boolean ends = response.contains("\"finish_reason\":\"stop\"")
                    || response.contains("\"finish_reason\":\"length\"");
            assertThat(heard.finished != null).as(heard.toString()).isEqualTo(ends);
            if (ends) {
                assertThat(heard.usage.completionTokens()).isEqualTo(expected.length);
            }
        }
    }

    private static String read(Path file) {
        try {
            return Files.readString(file, StandardCharsets.ISO_8859_1);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
