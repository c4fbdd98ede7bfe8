package dev.warmpath.router.completion;

import dev.warmpath.protocol.block.ExtraKeys;
import dev.warmpath.protocol.fleet.ModelDescription;
import dev.warmpath.protocol.generate.GenerateRequest;
import dev.warmpath.protocol.generate.StopConditions;
import dev.warmpath.router.completion.BadRequestException.Fault;
import dev.warmpath.router.decisions.RequestRecord;
import dev.warmpath.router.routing.TokenizedPrompt;
import java.util.Arrays;
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
 * @param answers      how many, and what is told of their tokens
 * @param priority     lower is sooner, where workers go by it
 * @param truncation   how much of the prompt is left out
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
        ToolUse tools,
        Answers answers,
        int priority,
        Truncation truncation) {

    /** Whether an answer begins with its prompt. */
    public enum Echo {
        NONE,
        TEXT,
        /** And tells what its tokens were to the model. */
        SCORED
    }

    /**
     * @param count          of choices, at least 1
     * @param logprobs       drawn tokens are told with their log-probabilities
     * @param alternatives   so many of the likeliest ones beside each, 0 to {@link GenerateRequest#MAX_ALTERNATIVES}
     * @param promptLogprobs the prompt's are told by themselves, with likeliest ones beside them, too
     * @param tokenIds       ids of prompt and answer are told
     * @param echo           what each choice begins with
     * @param empty          nothing is drawn: with an echo only
     */
    public record Answers(int count, boolean logprobs, int alternatives, boolean promptLogprobs, boolean tokenIds,
            Echo echo, boolean empty) {

        /** Of one token's, with its bytes, and with its JSON. */
        private static final int BYTES_PER_SCORE = 256;
        /** Of an echoed token's text, likewise. */
        private static final int BYTES_PER_ECHO = 32;
        private static final int BYTES_PER_ID = 16;
        /** Of a prompt's tokens, in all choices together. */
        private static final int MAX_PROMPT_SCORES = 1 << 20;
        private static final int MAX_PROMPT_IDS = 1 << 22;

        public static final Answers PLAIN = new Answers(1, false, 0, false, false, Echo.NONE, false);

        boolean needsPromptLogprobs() {
            return promptLogprobs || echo == Echo.SCORED;
        }

        boolean tellsPrompt() {
            return promptLogprobs || echo != Echo.NONE;
        }

        boolean tellsTokens() {
            return logprobs || tokenIds;
        }

        private long promptBytes(int promptTokens) {
            int bytesEach = (tokenIds ? BYTES_PER_ID : 0) + (echo == Echo.NONE ? 0 : BYTES_PER_ECHO);
            return (long) count * promptTokens * bytesEach + (promptLogprobs ? count * scoreBytes(promptTokens) : 0);
        }

        /** Likewise what is told of so many tokens of a choice, those of its prompt among them if they are echoed. */
        public long scoreBytes(int tokens) {
            return (long) tokens * (1 + alternatives) * BYTES_PER_SCORE;
        }

        private void check(int promptTokens) {
            long tokens = (long) count * promptTokens;
            long scores = needsPromptLogprobs() ? tokens * (1 + alternatives) : 0;
            if (scores > MAX_PROMPT_SCORES) {
                String field = promptLogprobs ? "prompt_logprobs" : "logprobs";
                throw new BadRequestException(Fault.INVALID_VALUE, field, "'" + field + "' asks for " + scores
                        + " log-probabilities of the prompt, at most " + MAX_PROMPT_SCORES + " are told");
            }
            if (tokenIds && tokens > MAX_PROMPT_IDS) {
                throw new BadRequestException(Fault.INVALID_VALUE, "return_token_ids", "'return_token_ids' asks for "
                        + tokens + " ids of the prompt, at most " + MAX_PROMPT_IDS + " are told");
            }
        }
    }

    /** What becomes of a prompt that is longer than somebody wants it to be: its beginning goes. */
    public sealed interface Truncation {

        /** Nothing: where it is too long, it is refused. */
        record None() implements Truncation {}

        /** To so many tokens, at least 1. */
        record To(int tokens) implements Truncation {}

        /** To what the model's context takes beside the answer. */
        record ToContext() implements Truncation {}

        Truncation NONE = new None();
    }

    /** Tokens that a cut prompt leaves for an answer whose length the client does not say. */
    private static final int LEAST_ROOM = 16;

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
        answers.check(tokenized.length());
        var stop = new StopConditions(most, stopTokenIds, ignoreEos, minTokens);
        var defaults = tokenized.model().tokenizer().samplingDefaults();
        var drawn = sampling.orElse(defaults).with(logits.toRules(tokenized.model()));
        return new GenerateRequest(requestId, /* workerEpoch */ 0, tokenized.tokens(), drawn, stop, answers.logprobs(),
                cacheSalt, null, null, priority, /* timeoutMillis */ 0)
                .withLogprobs(answers.logprobs(), answers.needsPromptLogprobs(), answers.alternatives())
                .withChoices(answers.count());
    }

    /**
     * Heap that what is told of a prompt takes until the answer is written: choices repeat it. What a whole answer tells
     * of an echoed prompt counts with the choices.
     */
    long promptBytes(int promptTokens) {
        return answers.promptBytes(promptTokens)
                + (streamed && answers.echo() == Echo.SCORED ? answers.scoreBytes(promptTokens) : 0);
    }

    /** Where each token of it is to be told, nothing cached is of use. */
    TokenizedPrompt asAnswered(TokenizedPrompt prompt) {
        return answers.needsPromptLogprobs() || answers.count() > 1
                ? prompt.answered(answers.needsPromptLogprobs(), answers.count()) : prompt;
    }

    /** Whether its prompt may be longer than what is answered. */
    boolean mayBeCut() {
        return !(truncation instanceof Truncation.None);
    }

    /** The ids of its prompt that are answered. */
    int[] truncated(int[] ids, int contextLength) {
        int most = switch (truncation) {
            case Truncation.None _ -> ids.length;
            case Truncation.To(int tokens) -> tokens;
            case Truncation.ToContext _ -> Math.max(1, contextLength
                    - Math.max(1, limit instanceof OutputLimit.AtMost
                            ? Math.min(limit.maxTokens(), LEAST_ROOM) : limit.maxTokens()));
        };
        return ids.length <= most ? ids : Arrays.copyOfRange(ids, ids.length - most, ids.length);
    }

    /** The same of another prompt. */
    public CompletionRequest with(Prompt other, long seed) {
        return new CompletionRequest(requestId, endpoint, model, other, sampling.withSeed(seed), limit, stopStrings,
                includeStop, stopTokenIds, ignoreEos, minTokens, logits, streamed, cacheSalt, tools, answers, priority,
                truncation);
    }

    /** What tells the blocks of this prompt from those of others with the same tokens. */
    ExtraKeys extraKeys() {
        return cacheSalt == null ? ExtraKeys.NONE : ExtraKeys.ofSalt(cacheSalt);
    }

    /** For the record of requests. @param key the name of the caller's; null if none is asked for */
    RequestRecord.Asked inNumbers(@Nullable String key) {
        Integer messages = prompt instanceof Prompt.Chat chat ? chat.messages().size() : null;
        return new RequestRecord.Asked(requestId, key, endpoint, streamed, messages, answers.count(), limit.maxTokens(),
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
            case OutputLimit.Exactly exactly -> Math.max(1, exactly.maxTokens());
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
