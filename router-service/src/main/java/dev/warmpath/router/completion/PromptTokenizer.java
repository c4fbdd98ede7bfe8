package dev.warmpath.router.completion;

import dev.warmpath.router.admission.AdmissionControl.Permit;
import dev.warmpath.router.admission.OverloadedException;
import dev.warmpath.router.completion.BadRequestException.Fault;
import dev.warmpath.router.metrics.RouterMeter;
import dev.warmpath.router.metrics.RouterMetrics;
import dev.warmpath.router.metrics.RouterMetrics.Stage;
import dev.warmpath.router.models.ServedModel;
import dev.warmpath.router.tracing.RequestTrace;
import dev.warmpath.router.tracing.RequestTraces;
import dev.warmpath.tokenization.ModelTokenizer;
import dev.warmpath.tokenization.TokenizationException;
import dev.warmpath.tokenization.template.TemplateException;
import java.util.Locale;
import java.util.Objects;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.springframework.stereotype.Component;
import reactor.core.publisher.Mono;

/** Turns prompts into token ids and back: the longest computation of the router by far. */
@Component
public final class PromptTokenizer {

    /** Of most languages in most vocabularies; a text with fewer for each token of the context is just encoded. */
    private static final long CHARS_PER_TOKEN = 4;
    /** Rendered and encoded in less time than another thread needs to wake up. */
    private static final int MOMENT_CHARS = 4_096;
    /** Encoded in a moment and in some megabytes, whatever the context. */
    private static final int SHORT_CHARS = 64 << 10;
    /** A prompt that is to be cut may have so many more than the model takes. */
    private static final int MOST_CUT_TOKENS = 1 << 16;

    private final ComputationPool pool;
    private final RouterMetrics metrics;
    private final RequestTraces traces;

    PromptTokenizer(ComputationPool pool, RouterMetrics metrics, RequestTraces traces) {
        this.pool = pool;
        this.metrics = metrics;
        this.traces = traces;
        for (TemplateException.Kind kind : TemplateException.Kind.values()) {
            metrics.expect(RouterMeter.TEMPLATE_FAILURES, "kind", tag(kind));
        }
    }

    /**
     * The prompt's ids. Those of a short one are there at once; of others, what follows runs on the pool, too.
     *
     * @param permit the request's; kept until the computation has ended
     * @return at least one id, all of the model's vocabulary. Fails with {@link BadRequestException}, and with
     *         {@link OverloadedException} if the pool's queue is full
     */
    public Mono<int[]> tokenize(ServedModel model, Prompt prompt, Permit permit) {
        return tokenize(model, prompt, /* furtherTexts */ false, /* truncated */ false, permit, traces.notTraced());
    }

    /**
     * The same as a stage of this request.
     *
     * @param furtherTexts the caller will encode more on the same thread, and may need the library for that
     * @param truncated    the prompt may be longer than the model's context: its beginning will go
     */
    Mono<int[]> tokenize(ServedModel model, Prompt prompt, boolean furtherTexts, boolean truncated, Permit permit,
            RequestTrace trace) {
        int most = contextLength(model) + (truncated ? MOST_CUT_TOKENS : 0);
        Supplier<int[]> work = () -> trace.stage(Stage.TOKENIZE,
                () -> Objects.requireNonNull(encode(model, prompt, most, /* alone */ false)));
        long moment = model.tokenizer().hasOwnEncoder() ? MOMENT_CHARS : 0;
        if (furtherTexts || prompt.effort() > moment) {
            return pool.run(permit, work);
        }
        // where the library is needed after all: it takes a hundred times as long, and once the second it is made in
        Supplier<int @Nullable []> alone = () -> trace.stage(Stage.TOKENIZE,
                () -> encode(model, prompt, most, /* alone */ true));
        return Mono.fromSupplier(alone).switchIfEmpty(Mono.defer(() -> pool.run(permit, work)));
    }

    /**
     * The text of these ids, special tokens included, as vLLM's detokenize gives it.
     *
     * @param ids as many as the model's context has, at most: a text may be 30 times as long as the ids that ask for it
     */
    public Mono<String> detokenize(ServedModel model, int[] ids, Permit permit) {
        int contextLength = contextLength(model);
        if (ids.length > contextLength) {
            throw new BadRequestException(Fault.CONTEXT_LENGTH_EXCEEDED, "tokens",
                    CompletionRequest.maximum(contextLength) + ". 'tokens' has " + ids.length);
        }
        return pool.run(permit, () -> model.tokenizer().decode(checked(ids, model, "tokens"), false));
    }

    private static int contextLength(ServedModel model) {
        return model.description().contextLength();
    }

    /**
     * @param most  tokens that a text may have
     * @param alone without the library: null where it is needed
     */
    private int @Nullable [] encode(ServedModel model, Prompt prompt, int most, boolean alone) {
        int @Nullable [] ids = switch (prompt) {
            case Prompt.Tokens tokens -> checked(tokens.ids(), model, tokens.field());
            case Prompt.Text text -> encode(model, text, most, alone);
            case Prompt.Chat chat -> encode(model, chat, most, alone);
        };
        if (ids != null && ids.length == 0) {
            throw new BadRequestException(Fault.INVALID_VALUE, prompt.field(), "the prompt has no tokens");
        }
        return ids;
    }

    private int @Nullable [] encode(ServedModel model, Prompt.Text prompt, int most, boolean alone) {
        ModelTokenizer tokenizer = model.tokenizer();
        String text = notHopeless(prompt.text(), model, prompt, most);
        return alone ? tokenizer.encodeAlone(text, prompt.addSpecialTokens())
                : tokenizer.encode(text, prompt.addSpecialTokens());
    }

    private int @Nullable [] encode(ServedModel model, Prompt.Chat chat, int most, boolean alone) {
        ModelTokenizer tokenizer = model.tokenizer();
        try {
            var rendered = tokenizer.render(chat.messages(), chat.addGenerationPrompt(), chat.variables());
            rendered = chat.continueFinalMessage() ? rendered.upToEndOf(chat.messages().getLast()) : rendered;
            notHopeless(rendered.text(), model, chat, most);
            return alone ? tokenizer.encodeAlone(rendered) : tokenizer.encode(rendered);
        } catch (TemplateException e) {
            metrics.templateFailed(tag(e.kind()));
            throw invalidMessages(e);                              // whose texts, as prompts, the model still completes
        } catch (TokenizationException e) {
            throw switch (e.kind()) {
                case NO_CHAT_TEMPLATE, MARKER_IN_CONTENT -> invalidMessages(e);
                case LIBRARY_UNAVAILABLE, INVALID_MODEL_FILE -> e;
            };
        }
    }

    /**
     * A text of megabytes keeps a thread busy for seconds and takes gigabytes while it is encoded; one that cannot fit
     * need not be tokenized, or not as a whole, to be refused.
     */
    private static String notHopeless(String text, ServedModel model, Prompt prompt, int most) {
        if (model.tokenizer().leastTokens(text) > most
                || text.length() > Math.max(SHORT_CHARS, CHARS_PER_TOKEN * most)
                && model.tokenizer().hasMoreTokensThan(text, most)) {
            throw new BadRequestException(Fault.CONTEXT_LENGTH_EXCEEDED, prompt.field(),
                    CompletionRequest.maximum(contextLength(model)) + ". The prompt has "
                            + (most == contextLength(model) ? "more" : "more than " + most
                                    + ", too many even to be cut"));
        }
        return text;
    }

    private static String tag(TemplateException.Kind kind) {
        return kind.name().toLowerCase(Locale.ROOT);
    }

    private static BadRequestException invalidMessages(RuntimeException e) {
        return new BadRequestException(Fault.INVALID_VALUE, "messages",
                BadRequestException.shown(String.valueOf(e.getMessage())));
    }

    private static int[] checked(int[] ids, ServedModel model, String field) {
        int vocabularySize = model.description().vocabularySize();
        for (int i = 0; i < ids.length; i++) {
            if (ids[i] < 0 || ids[i] >= vocabularySize) {
                String element = field + "[" + i + "]";
                throw new BadRequestException(Fault.INVALID_VALUE, element, "'" + element + "' is " + ids[i]
                        + ", the model's token ids are 0 to " + (vocabularySize - 1));
            }
        }
        return ids;
    }
}
