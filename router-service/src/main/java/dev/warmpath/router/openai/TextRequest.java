package dev.warmpath.router.openai;

import static dev.warmpath.router.fields.FieldReader.idsOf;
import static dev.warmpath.router.fields.FieldReader.invalid;
import static dev.warmpath.router.fields.FieldReader.wrongType;

import dev.warmpath.router.completion.BadRequestException;
import dev.warmpath.router.completion.BadRequestException.Fault;
import dev.warmpath.router.completion.CompletionRequest.OutputLimit;
import dev.warmpath.router.completion.Prompt;
import dev.warmpath.router.fields.FieldReader;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/** The body of {@code POST /v1/completions}. */
final class TextRequest {

    private static final String ENDPOINT = "completions";

    private TextRequest() {}

    static GenerationRequest read(JsonNode json, String requestId, RandomGenerator seeds) {
        FieldReader body = FieldReader.ofBody(json, OpenAiFields.TEXT);
        Prompt prompt = readPrompt(body, /* addSpecialTokens */ true);
        return GenerationRequest.read(body, requestId, ENDPOINT, prompt, readLimit(body), seeds);
    }

    /** One text, or one list of token ids. */
    static Prompt readPrompt(FieldReader body, boolean addSpecialTokens) {
        @Nullable JsonNode prompt = body.value(OpenAiFields.PROMPT);
        if (prompt == null) {
            throw body.missing(OpenAiFields.PROMPT);
        }
        if (prompt.isString()) {
            return new Prompt.Text(prompt.stringValue(), addSpecialTokens);
        }
        if (!prompt.isArray()) {
            throw wrongType("prompt", "a string or an array of token ids", prompt);
        }
        if (prompt.isEmpty()) {
            throw invalid("prompt", "'prompt' is empty");
        }
        boolean holdsPrompts = prompt.get(0).isString() || prompt.get(0).isArray();
        if (!holdsPrompts) {
            return new Prompt.Tokens(idsOf(prompt, "prompt", Integer.MAX_VALUE));
        }
        if (prompt.size() > 1) {
            throw new BadRequestException(Fault.UNSUPPORTED_PARAMETER, "prompt",
                    "'prompt' holds " + prompt.size() + " prompts, one is supported");
        }
        return prompt.get(0).isString()
                ? new Prompt.Text(prompt.get(0).stringValue(), addSpecialTokens)
                : new Prompt.Tokens(idsOf(prompt.get(0), "prompt[0]", Integer.MAX_VALUE));
    }

    private static OutputLimit readLimit(FieldReader body) {
        @Nullable Integer maxTokens = body.integer(OpenAiFields.MAX_TOKENS);
        return maxTokens == null
                ? new OutputLimit.AtMost(OpenAiFields.DEFAULT_MAX_TOKENS_OF_TEXT)
                : new OutputLimit.Exactly(maxTokens, OpenAiFields.MAX_TOKENS.name());
    }
}
