package dev.warmpath.router.openai;

import dev.warmpath.protocol.generate.LogitRules;
import dev.warmpath.protocol.generate.SamplingParameters;
import dev.warmpath.router.completion.BadRequestException;
import dev.warmpath.router.completion.BadRequestException.Fault;
import dev.warmpath.router.completion.CompletionRequest;
import dev.warmpath.router.completion.CompletionRequest.Answers;
import dev.warmpath.router.completion.CompletionRequest.Echo;
import dev.warmpath.router.completion.CompletionRequest.OutputLimit;
import dev.warmpath.router.completion.CompletionRequest.ToolUse;
import dev.warmpath.router.completion.CompletionRequest.Truncation;
import dev.warmpath.router.completion.LogitOverrides;
import dev.warmpath.router.completion.Prompt;
import dev.warmpath.router.completion.SamplingOverrides;
import dev.warmpath.router.fields.Field;
import dev.warmpath.router.fields.FieldReader;
import dev.warmpath.router.fields.FieldValues;
import dev.warmpath.router.fields.Place;
import dev.warmpath.router.openai.AnswerFormat.Shown;
import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Objects;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/**
 * A chat or a text completion, as its body asks for it.
 *
 * @param completions one for each prompt, alike but for that
 * @param usage       what a stream tells of it
 * @param shown       what is told of its tokens
 * @param choices     of each prompt, the best of those that are drawn
 */
record GenerationRequest(List<CompletionRequest> completions, StreamUsage usage, Shown shown, int choices) {

    /** Of all prompts of a request together. */
    static final int MAX_ANSWERS = 512;

    /** Of drawn tokens and the likeliest beside them, of all answers of a request together. */
    private static final int MAX_SCORES = 1 << 20;

    /** What a stream tells of the tokens that it takes. */
    enum StreamUsage {
        NOTHING,
        /** A last chunk without choices. */
        AT_END,
        /** Each chunk also tells what it has been so far. */
        ALL_ALONG
    }

    /**
     * What an endpoint has of its own, read from the body before.
     *
     * @param prompts  at least one
     * @param logprobs so many alternatives are told with each drawn token; null: nothing is told of them
     * @param bestOf   so many answers are drawn of each prompt; null: as many as are shown
     * @param echo     answers begin with the prompt
     */
    record Own(String endpoint, List<? extends Prompt> prompts, OutputLimit limit, ToolUse tools,
            @Nullable Integer logprobs, @Nullable Integer bestOf, boolean echo) {}

    /**
     * Takes what chats and text completions have in common.
     *
     * @param seeds for a request without a seed, so that two equal ones differ as they do at OpenAI
     */
    static GenerationRequest read(FieldValues body, String requestId, Own own, RandomGenerator seeds) {
        boolean stream = body.flag(OpenAiFields.STREAM);
        int choices = Objects.requireNonNullElse(body.integer(OpenAiFields.N), 1);
        int drawn = Objects.requireNonNullElse(own.bestOf(), choices);
        check(own, stream, choices, drawn);
        @Nullable Integer promptLogprobs = body.integer(OpenAiFields.PROMPT_LOGPROBS);
        if (promptLogprobs != null && stream) {
            throw new BadRequestException(Fault.INVALID_VALUE, OpenAiFields.PROMPT_LOGPROBS.name(),
                    "'prompt_logprobs' is only taken without 'stream': true");
        }
        var shown = new Shown(Objects.requireNonNullElse(own.logprobs(), Shown.NONE),
                body.flag(OpenAiFields.RETURN_TOKEN_IDS), Objects.requireNonNullElse(promptLogprobs, Shown.NONE));
        Echo echo = !own.echo() ? Echo.NONE : own.logprobs() == null ? Echo.TEXT : Echo.SCORED;
        var answers = new Answers(drawn, own.logprobs() != null || drawn > choices,
                Math.max(0, Math.max(shown.logprobs(), shown.promptLogprobs())), promptLogprobs != null,
                shown.tokenIds(), echo, own.limit().maxTokens() == 0);
        var first = new CompletionRequest(requestId, own.endpoint(), body.requiredText(OpenAiFields.MODEL),
                own.prompts().getFirst(), readSampling(body, seeds), toldLimit(own, answers), body.texts(OpenAiFields.STOP),
                body.flag(OpenAiFields.INCLUDE_STOP), body.ids(OpenAiFields.STOP_TOKEN_IDS),
                body.flag(OpenAiFields.IGNORE_EOS),
                Objects.requireNonNullElse(body.integer(OpenAiFields.MIN_TOKENS), 0), readLogits(body), stream,
                body.value(OpenAiFields.CACHE_SALT), own.tools(), answers,
                Objects.requireNonNullElse(body.integer(OpenAiFields.PRIORITY), 0), readTruncation(body));
        return new GenerationRequest(all(first, own.prompts(), body, seeds), readUsage(body, stream), shown, choices);
    }

    /** Of each prompt. */
    int drawnChoices() {
        return completions.getFirst().answers().count();
    }

    /** For what looks at one. */
    CompletionRequest onlyPrompt() {
        if (completions.size() > 1) {
            throw new BadRequestException(Fault.UNSUPPORTED_PARAMETER, OpenAiFields.PROMPT.name(),
                    "'prompt' holds " + completions.size() + " prompts, one is supported here");
        }
        return completions.getFirst();
    }

    private static void check(Own own, boolean stream, int choices, int drawn) {
        if (drawn < choices) {
            throw new BadRequestException(Fault.INVALID_VALUE, OpenAiFields.BEST_OF.name(),
                    "'best_of' is " + drawn + ", below 'n', which is " + choices);
        }
        if (stream && drawn > choices) {
            throw new BadRequestException(Fault.INVALID_VALUE, OpenAiFields.BEST_OF.name(),
                    "'best_of' above 'n' is only taken without 'stream': true");
        }
        if ((long) drawn * own.prompts().size() > MAX_ANSWERS) {
            throw new BadRequestException(Fault.INVALID_VALUE, OpenAiFields.N.name(), own.prompts().size()
                    + " prompts with " + drawn + " answers each are asked for, at most " + MAX_ANSWERS
                    + " answers in all are given");
        }
        if (own.limit().maxTokens() == 0 && !own.echo()) {
            throw new BadRequestException(Fault.INVALID_VALUE, OpenAiFields.MAX_TOKENS.name(),
                    "'max_tokens' is 0, it must be at least 1 without 'echo': true");
        }
    }

    /** As much as may be told of. Where the client does not say how long an answer may be, it is no longer than that. */
    private static OutputLimit toldLimit(Own own, Answers answers) {
        long perToken = answers.logprobs() ? (long) own.prompts().size() * answers.count() * (1 + answers.alternatives())
                : 0;
        if (perToken * own.limit().maxTokens() <= MAX_SCORES) {
            return own.limit();
        }
        if (own.limit() instanceof OutputLimit.AtMost) {
            return new OutputLimit.AtMost((int) (MAX_SCORES / perToken));
        }
        throw new BadRequestException(Fault.INVALID_VALUE, OpenAiFields.LOGPROBS.name(), "'logprobs' asks for up to "
                + perToken * own.limit().maxTokens() + " log-probabilities, at most " + MAX_SCORES + " are told");
    }

    /** Each prompt is drawn for with the client's seed, or with one of its own. */
    private static List<CompletionRequest> all(
            CompletionRequest first, List<? extends Prompt> prompts, FieldValues body, RandomGenerator seeds) {
        if (prompts.size() == 1) {
            return List.of(first);
        }
        List<CompletionRequest> all = new ArrayList<>(prompts.size());
        all.add(first);
        for (Prompt prompt : prompts.subList(1, prompts.size())) {
            all.add(first.with(prompt, body.has(OpenAiFields.SEED) ? first.sampling().seed() : seeds.nextLong()));
        }
        return all;
    }

    private static Truncation readTruncation(FieldValues body) {
        @Nullable Integer tokens = body.integer(OpenAiFields.TRUNCATE_PROMPT_TOKENS);
        if (tokens == null) {
            return Truncation.NONE;
        }
        if (tokens == 0) {
            throw new BadRequestException(Fault.INVALID_VALUE, OpenAiFields.TRUNCATE_PROMPT_TOKENS.name(),
                    "'truncate_prompt_tokens' is 0, it must be at least 1, or -1 for what the context takes");
        }
        return tokens == -1 ? new Truncation.ToContext() : new Truncation.To(tokens);
    }

    private static SamplingOverrides readSampling(FieldValues body, RandomGenerator seeds) {
        @Nullable Float temperature = body.number(OpenAiFields.TEMPERATURE);
        @Nullable Float topP = body.number(OpenAiFields.TOP_P);
        @Nullable Integer topK = body.integer(OpenAiFields.TOP_K);
        @Nullable Long seed = body.integer(OpenAiFields.SEED);
        return new SamplingOverrides(temperature == null ? null : drawable(temperature),
                topK == null ? null : Math.max(topK, 0), topP, seed == null ? seeds.nextLong() : seed);
    }

    private static LogitOverrides readLogits(FieldValues body) {
        LogitBias bias = Objects.requireNonNullElse(body.value(OpenAiFields.LOGIT_BIAS), LogitBias.NONE);
        return new LogitOverrides(number(body, OpenAiFields.MIN_P, 0f), number(body, OpenAiFields.PRESENCE_PENALTY, 0f),
                number(body, OpenAiFields.FREQUENCY_PENALTY, 0f), number(body, OpenAiFields.REPETITION_PENALTY, 1f),
                bias.tokens(), bias.values(),
                Objects.requireNonNullElse(body.value(OpenAiFields.ALLOWED_TOKEN_IDS), new int[0]),
                body.texts(OpenAiFields.BAD_WORDS));
    }

    private static float number(FieldValues body, Field.Real field, float absent) {
        return Objects.requireNonNullElse(body.number(field), absent);
    }

    static int[] readAllowed(FieldReader json, Place place) {
        int[] allowed = json.ids(LogitRules.MAX_ALLOWED_TOKENS, place);
        if (allowed.length == 0) {
            throw FieldReader.invalid(place, "'" + place + "' is empty");
        }
        return allowed;
    }

    /** A temperature so low that only the likeliest token is left is greedy, and is sent as such. */
    private static float drawable(float temperature) {
        return temperature < SamplingParameters.MIN_TEMPERATURE ? 0f : temperature;
    }

    /** @return its digest, as workers and index know it: the secret itself goes no further */
    static String readSalt(FieldReader json, Place place) {
        String salt = json.text(place);
        if (salt.isEmpty() || salt.length() > OpenAiFields.MAX_SALT_CHARS) {
            throw FieldReader.invalid(place, "'" + place + "' has " + salt.length() + " characters, 1 to "
                    + OpenAiFields.MAX_SALT_CHARS + " are taken");
        }
        try {
            // strictly: two salts with different halves of characters would be one otherwise
            ByteBuffer bytes = StandardCharsets.UTF_8.newEncoder().encode(CharBuffer.wrap(salt));
            var digest = MessageDigest.getInstance("SHA-256");
            digest.update(bytes);
            return "s:" + HexFormat.of().formatHex(digest.digest());
        } catch (CharacterCodingException e) {
            throw FieldReader.invalid(place, "'" + place + "' has half a character in it");
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every Java platform has SHA-256", e);
        }
    }

    private static StreamUsage readUsage(FieldValues body, boolean stream) {
        @Nullable FieldValues options = body.object(OpenAiFields.STREAM_OPTIONS);
        if (options == null) {
            return StreamUsage.NOTHING;
        }
        if (!stream) {
            throw new BadRequestException(Fault.INVALID_VALUE, "stream_options",
                    "'stream_options' is only taken with 'stream': true");
        }
        // as vLLM: without the one at the end there is none
        return !options.flag(OpenAiFields.INCLUDE_USAGE) ? StreamUsage.NOTHING
                : options.flag(OpenAiFields.CONTINUOUS_USAGE) ? StreamUsage.ALL_ALONG : StreamUsage.AT_END;
    }
}
