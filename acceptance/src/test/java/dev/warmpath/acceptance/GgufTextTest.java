package dev.warmpath.acceptance;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.process.SharedModels;
import dev.warmpath.tokenization.ModelFiles;
import dev.warmpath.tokenization.ModelTokenizer;
import dev.warmpath.tokenization.template.ChatMessage;
import dev.warmpath.worker.model.source.ModelFile;
import dev.warmpath.worker.model.source.ModelSource;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** Text of a model that a worker has as a GGUF file: what it hands to routers, as these read it. */
class GgufTextTest {

    private static Path folder;
    private static ModelTokenizer tokenizer;

    @BeforeAll
    static void read() throws IOException {
        folder = SharedModels.find("smollm2-135m-instruct");
        tokenizer = tokenizer(ModelSource.of(folder.resolve("SmolLM2-135M-Instruct.Q4_1.gguf")));
    }

    static ModelTokenizer tokenizer(ModelSource source) throws IOException {
        return new ModelTokenizer(new ModelFiles(content(source, ModelSource.TOKENIZER),
                content(source, ModelSource.TOKENIZER_CONFIG), content(source, ModelSource.GENERATION_CONFIG),
                content(source, ModelSource.CONFIG)));
    }

    private static byte[] content(ModelSource source, String name) throws IOException {
        ModelFile file = Objects.requireNonNull(source.file(name), name);
        return file.content();
    }

    @Test
    void two_hundred_texts_have_the_ids_that_transformers_gives_them() throws IOException {
        List<JsonNode> texts = lines("encode.jsonl");

        assertThat(tokenizer.hasOwnEncoder()).isTrue();
        assertThat(texts).hasSize(200).allSatisfy(line -> {
            int[] ids = integers(line.path("ids"));
            String text = line.path("text").asString();
            assertThat(tokenizer.encode(text, /* addSpecialTokens */ true)).as(text).containsExactly(ids);
            assertThat(tokenizer.decode(ids, /* skipSpecialTokens */ false)).isEqualTo(text);
        });
    }

    @Test
    void ten_conversations_are_rendered_and_encoded_as_by_transformers() throws IOException {
        List<JsonNode> conversations = lines("chat.jsonl");

        assertThat(conversations).hasSize(10).allSatisfy(line -> {
            List<ChatMessage> messages = line.path("messages").valueStream()
                    .map(message -> new ChatMessage(message.path("role").asString(),
                            message.path("content").asString())).toList();
            var prompt = tokenizer.render(messages, line.path("add_generation_prompt").booleanValue(), Map.of());
            assertThat(prompt.text()).isEqualTo(line.path("text").asString());
            assertThat(tokenizer.encode(prompt)).containsExactly(integers(line.path("ids")));
        });
    }

    /** The file names {@code <|im_end|>} alone; what ends a document ends an answer, too. */
    @Test
    void an_answer_ends_at_the_end_of_a_turn_and_of_a_document() {
        assertThat(tokenizer.eosIds()).containsExactly(0, 2);
        assertThat(tokenizer.contextLength()).isEqualTo(8_192);
    }

    private static List<JsonNode> lines(String file) throws IOException {
        return Files.readAllLines(folder.resolve(file)).stream()
                .<JsonNode>map(line -> JsonMapper.shared().readTree(line)).toList();
    }

    private static int[] integers(JsonNode list) {
        return list.valueStream().mapToInt(JsonNode::intValue).toArray();
    }
}
