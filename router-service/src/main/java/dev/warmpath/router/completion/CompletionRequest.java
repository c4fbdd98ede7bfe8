package dev.warmpath.router.completion;

import dev.warmpath.protocol.block.ExtraKeys;
import dev.warmpath.protocol.fleet.ModelDescription;
import dev.warmpath.protocol.generate.GenerateRequest;
import dev.warmpath.protocol.generate.StopConditions;
import dev.warmpath.router.completion.BadRequestException.Fault;
import dev.warmpath.router.decisions.RequestRecord;
import dev.warmpath.router.routing.TokenizedPrompt;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * What a client wants, read and checked as far as that needs no model.
 *
 * @param requestId    the client's or ours, 1 to 128 printable ASCII characters; goes to the worker, too
 * @param endpoint     {@code chat} or {@code completions}, for the meters
 * @param model        the name that the client wrote
 * @param prompt       text, messages or ids
 * @param sampling     how tokens are drawn
 * @param limit        how many tokens at most
 * @param stopStrings  text that ends the answer; none empty
 * @param includeStop  true: it is the answer's last text; false: it is no part of it
 * @param stopTokenIds tokens that do so, at least 0 each
 * @param ignoreEos    true: the model's own end-of-sequence tokens do not end the answer
 * @param minTokens    tokens before which none ends the answer; 0 = none
 * @param logits       what is done to the logits before tokens are drawn
 * @param streamed     true: its text is shown as it comes; false: nothing of it before its end
 * @param cacheSalt    as of {@link ExtraKeys}: whoever has another one finds nothing in caches of what this request left
 *                     there; null: it has none, as most
 * @param tools        what its answer may call
 */
public record CompletionRequest(
        String requestId,
        String endpoint,
        String model,
        Prompt prompt,
        SamplingOverrides sampling,
        OutputLimit limit,
        List<String> stopStrings,
        boolean includeStop,
        int[] stopTokenIds,
        boolean ignoreEos,
        int minTokens,
        LogitOverrides logits,
        boolean streamed,
        @Nullable String cacheSalt,
        ToolUse tools) {

    /**
     * Whether calls of tools are looked for in an answer.
     *
     * @param names    of the tools; empty: none is
     * @param maxCalls calls beyond are left out
     */
    public record ToolUse(Set<String> names, int maxCalls) {

        public static final ToolUse NONE = new ToolUse(Set.of(), 0);

        boolean mayCall() {
            return !names.isEmpty();
        }
    }

    /**
     * The request as a worker gets it.
     *
     * @throws BadRequestException if the prompt does not fit into the model's context, or leaves no room for the
     *                             answer or for its least length, or a token is none of the model's
     */
    GenerateRequest toGenerate(TokenizedPrompt tokenized) {
        ModelDescription model = tokenized.model().description();
        for (int i = 0; i < stopTokenIds.length; i++) {
            if (stopTokenIds[i] >= model.vocabularySize()) {
                throw LogitOverrides.outside("stop_token_ids[" + i + "]", stopTokenIds[i], model.vocabularySize());
            }
        }
        int most = maxTokens(tokenized.length(), model.contextLength());
        if (minTokens > most) {
            throw new BadRequestException(Fault.INVALID_VALUE, "min_tokens", "'min_tokens' is " + minTokens
                    + ", the answer has at most " + most + " tokens");
        }
        var stop = new StopConditions(most, stopTokenIds, ignoreEos, minTokens);
        var defaults = tokenized.model().tokenizer().samplingDefaults();
        var drawn = sampling.orElse(defaults).with(logits.toRules(tokenized.model()));
        return GenerateRequest.of(requestId, tokenized.tokens(), drawn, stop).withSalt(cacheSalt);
    }

    /** What tells the blocks of this prompt from those of others with the same tokens. */
    ExtraKeys extraKeys() {
        return cacheSalt == null ? ExtraKeys.NONE : ExtraKeys.ofSalt(cacheSalt);
    }

    /** For the record of requests. @param key the name of the caller's; null if none is asked for */
    RequestRecord.Asked inNumbers(@Nullable String key) {
        Integer messages = prompt instanceof Prompt.Chat chat ? chat.messages().size() : null;
        return new RequestRecord.Asked(requestId, key, endpoint, streamed, messages, limit.maxTokens(),
                sampling.temperature(), sampling.topK(), sampling.topP(), stopStrings.size(), stopTokenIds.length,
                ignoreEos);
    }

    /** In the words of OpenAI that agents and gateways look for to shorten their prompts. */
    static String maximum(int contextLength) {
        return "This model's maximum context length is " + contextLength + " tokens";
    }

    private int maxTokens(int promptTokens, int contextLength) {
        int room = contextLength - promptTokens;
        if (room < 1) {
            throw new BadRequestException(Fault.CONTEXT_LENGTH_EXCEEDED, prompt.field(), maximum(contextLength)
                    + ". The prompt has " + promptTokens + ", and the answer needs one at least");
        }
        return switch (limit) {
            case OutputLimit.AtMost atMost -> Math.min(atMost.maxTokens(), room);
            case OutputLimit.Exactly exactly when exactly.maxTokens() > room -> throw new BadRequestException(
                    Fault.CONTEXT_LENGTH_EXCEEDED, exactly.field(), maximum(contextLength) + ". The prompt has "
                            + promptTokens + ", and '" + exactly.field() + "' asks for " + exactly.maxTokens()
                            + " more");
            case OutputLimit.Exactly exactly -> exactly.maxTokens();
        };
    }

    /** How long the answer may become. */
    public sealed interface OutputLimit {

        int maxTokens();

        /** The client's number: a prompt that leaves less room is refused. */
        record Exactly(int maxTokens, String field) implements OutputLimit {}

        /** Our number: less if the prompt leaves less. */
        record AtMost(int maxTokens) implements OutputLimit {}
    }
}
