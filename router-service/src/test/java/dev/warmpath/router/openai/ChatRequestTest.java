package dev.warmpath.router.openai;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.router.completion.Prompt;
import dev.warmpath.router.fields.FieldReader;
import dev.warmpath.tokenization.ModelFiles;
import dev.warmpath.tokenization.ModelTokenizer;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.json.JsonMapper;

/** Messages as the shipped model's template gets them. */
class ChatRequestTest {

    private static final Path MODEL = Path.of("../models/warmpath-tiny");

    @Test
    void a_developer_speaks_as_the_system() throws IOException {
        var tokenizer = new ModelTokenizer(new ModelFiles(Files.readAllBytes(MODEL.resolve("tokenizer.json")),
                Files.readAllBytes(MODEL.resolve("tokenizer_config.json")), null, null));

        Prompt.Chat chat = ChatRequest.readPrompt(new FieldReader(JsonMapper.shared().createParser("""
                {"messages": [{"role": "developer", "content": "Be kind."}, {"role": "user", "content": "Hi"}]}"""))
                .body(OpenAiFields.TOKENIZE_CHAT));

        assertThat(tokenizer.render(chat.messages(), chat.addGenerationPrompt(), Map.of()).text())
                .isEqualTo("<|begin|><|system|>\nBe kind.<|end|>\n<|user|>\nHi<|end|>\n<|assistant|>\n");
    }
}
