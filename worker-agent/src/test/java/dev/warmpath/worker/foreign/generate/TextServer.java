package dev.warmpath.worker.foreign.generate;

import dev.warmpath.process.TestEngine;
import dev.warmpath.process.TestEngine.Answer;
import dev.warmpath.tokenization.Spelling;
import tools.jackson.databind.JsonNode;

/** What a server answers that takes text only, as llama-cpp-python's does. */
final class TextServer {

    private TextServer() {}

    static TestEngine start() {
        return TestEngine.start().answer("/v1/models", Captures.answer("llama-cpp-python-0.3/models"));
    }

    /** @param before tokens that it puts before a prompt, or {@code null}: it does not count */
    static Answer counting(Spelling spelling, Integer before) {
        return exchange -> {
            JsonNode prompt = Dialect.JSON.readTree(exchange.request().body()).path("prompt");
            if (!prompt.isString()) {
                Captures.answer("llama-cpp-python-0.3/error-token-ids").write(exchange);
                return;
            }
            String usage = before == null ? "" : ",\"usage\":{\"prompt_tokens\":"
                    + (spelling.countOf(prompt.stringValue()) + before) + ",\"completion_tokens\":1}";
            TestEngine.json(200, "{\"choices\":[{\"text\":\" a\",\"index\":0,\"finish_reason\":\"length\"}]" + usage
                    + "}").write(exchange);
        };
    }

    static String text(String text, String end) {
        return Dialect.JSON.writeValueAsString(Dialect.JSON.createObjectNode().set("choices",
                Dialect.JSON.createArrayNode().add(Dialect.JSON.createObjectNode().put("text", text).put("index", 0)
                        .put("finish_reason", end))));
    }
}
