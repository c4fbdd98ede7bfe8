package dev.warmpath.router.openai;

import static dev.warmpath.router.openai.RequestFields.integersOf;
import static dev.warmpath.router.openai.RequestFields.invalid;
import static dev.warmpath.router.openai.RequestFields.wrongType;

import dev.warmpath.router.completion.BadRequestException;
import dev.warmpath.router.completion.BadRequestException.Fault;
import dev.warmpath.router.completion.CompletionRequest;
import dev.warmpath.router.completion.CompletionRequest.OutputLimit;
import dev.warmpath.router.completion.Prompt;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/**
 * The body of {@code POST /v1/completions}.
 *
 * @param prompt one text or one list of token ids
 * @param limit  absent: {@link #DEFAULT_MAX_TOKENS}
 */
record TextRequest(GenerationFields generation, Prompt prompt, OutputLimit limit) {

    static final String ENDPOINT = "completions";
    static final int DEFAULT_MAX_TOKENS = 16;

    static TextRequest read(RequestFields body, RandomGenerator seeds) {
        var request = new TextRequest(GenerationFields.read(body, seeds), readPrompt(body, true), readLimit(body));
        body.refuseUnread(UnservedFields.OF_TEXT);
        return request;
    }

    CompletionRequest toCompletion(String requestId) {
        return new CompletionRequest(requestId, ENDPOINT, generation.model(), prompt, generation.sampling(), limit,
                generation.stopStrings(), generation.stopTokenIds(), generation.ignoreEos(), generation.stream());
    }

    static Prompt readPrompt(RequestFields body, boolean addSpecialTokens) {
        @Nullable JsonNode prompt = body.value("prompt");
        if (prompt == null) {
            throw body.missing("prompt");
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
            return new Prompt.Tokens(integersOf(prompt, "prompt", 0, Integer.MAX_VALUE, Integer.MAX_VALUE));
        }
        if (prompt.size() > 1) {
            throw new BadRequestException(Fault.UNSUPPORTED_PARAMETER, "prompt",
                    "'prompt' holds " + prompt.size() + " prompts, one is supported");
        }
        return prompt.get(0).isString()
                ? new Prompt.Text(prompt.get(0).stringValue(), addSpecialTokens)
                : new Prompt.Tokens(integersOf(prompt.get(0), "prompt[0]", 0, Integer.MAX_VALUE, Integer.MAX_VALUE));
    }

    private static OutputLimit readLimit(RequestFields body) {
        @Nullable Integer maxTokens = body.integer("max_tokens", 1, Integer.MAX_VALUE);
        return maxTokens == null
                ? new OutputLimit.AtMost(DEFAULT_MAX_TOKENS)
                : new OutputLimit.Exactly(maxTokens, "max_tokens");
    }
}
