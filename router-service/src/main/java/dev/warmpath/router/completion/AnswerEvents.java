package dev.warmpath.router.completion;

import dev.warmpath.protocol.generate.FinishReason;
import dev.warmpath.protocol.generate.GenerateEvent.Usage;
import dev.warmpath.router.answer.ChoiceText;
import dev.warmpath.router.answer.dialect.AnswerParser;
import dev.warmpath.router.answer.dialect.AnswerPart;
import dev.warmpath.router.answer.dialect.Dialect;
import dev.warmpath.router.completion.CompletionEvent.Finished;
import dev.warmpath.router.completion.CompletionEvent.Parts;
import dev.warmpath.router.completion.CompletionEvent.Routed;
import dev.warmpath.router.completion.CompletionEvent.Text;
import dev.warmpath.router.dispatch.DispatchEvent;
import dev.warmpath.router.dispatch.Dispatcher;
import dev.warmpath.router.routing.TokenizedPrompt;
import dev.warmpath.router.tokenization.ModelTokenizer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import reactor.core.CoreSubscriber;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Operators;

/** Turns what happens to a request into the events of its answer. One generation; its signals come one at a time. */
final class AnswerEvents implements Dispatcher.Reader {

    private static final int ONLY_CHOICE = 0;

    private final TokenizedPrompt prompt;
    private final CompletionRequest request;
    private final Dialect dialect;
    private ChoiceText choice;
    /** Null: all of it is text. */
    private @Nullable AnswerParser parser;
    private int predictedCachedTokens;
    private boolean shown;
    private boolean finished;
    private boolean sent;

    AnswerEvents(TokenizedPrompt prompt, CompletionRequest request, Dialect dialect) {
        this.prompt = prompt;
        this.request = request;
        this.dialect = dialect;
        this.choice = newChoice();
        this.parser = newParser();
    }

    @Override
    public boolean hasShown() {
        return shown;
    }

    /** After a stop string. What the worker still draws until it hears of that is no part of the answer. */
    @Override
    public boolean hasEnough() {
        return choice.isStopped();
    }

    /** Whether a worker was chosen for it. */
    boolean wasSent() {
        return sent;
    }

    /** By the worker that was asked last. */
    int drawnTokens() {
        return choice.tokenCount();
    }

    /** What follows from these events, one at a time. */
    Flux<CompletionEvent> of(Flux<DispatchEvent> events) {
        return Flux.from(reader -> events.subscribe(new Translation(Operators.toCoreSubscriber(reader))));
    }

    private final class Translation extends Passing<DispatchEvent, CompletionEvent> {

        private boolean over;

        Translation(CoreSubscriber<? super CompletionEvent> reader) {
            super(reader);
        }

        @Override
        public void onNext(DispatchEvent event) {
            if (over) {
                return;
            }
            try {
                @Nullable CompletionEvent next = translate(event);
                if (next == null) {
                    upstream.request(1);
                } else {
                    reader.onNext(next);
                }
            } catch (RuntimeException e) {                         // a fault of this router, and not of the worker
                upstream.cancel();
                onError(e);
            }
        }

        @Override
        public void onComplete() {
            if (!over) {
                over = true;
                reader.onComplete();
            }
        }

        @Override
        public void onError(Throwable error) {
            if (!over) {
                over = true;
                reader.onError(error);
            }
        }
    }

    /** @return null: nothing that can be shown yet */
    private @Nullable CompletionEvent translate(DispatchEvent event) {
        return switch (event) {
            case DispatchEvent.Chosen chosen -> {
                sent = true;
                if (choice.tokenCount() > 0) {
                    choice = newChoice();                          // nothing was shown of what another worker has drawn
                    parser = newParser();
                }
                predictedCachedTokens = chosen.decision().cachedTokens();
                yield new Routed(prompt.model().revision(), prompt.length(), chosen.decision());
            }
            case DispatchEvent.Prompt _ -> null;
            case DispatchEvent.Tokens tokens -> {
                @Nullable CompletionEvent more = read(tokens.choice(), choice.accept(tokens.ids()));
                shown |= request.streamed() && more != null;
                yield more;
            }
            case DispatchEvent.Finished end -> {
                finished = true;
                yield finish(end);
            }
        };
    }

    private @Nullable CompletionEvent read(int index, String text) {
        if (text.isEmpty()) {
            return null;
        }
        if (parser == null) {
            return new Text(index, text, choice.tokenCount());
        }
        List<AnswerPart> parts = parser.accept(text);
        return parts.isEmpty() ? null : new Parts(index, parts, choice.tokenCount());
    }

    /** The end of an answer that a stop string ended, if the worker has not told its own. */
    Mono<CompletionEvent> endWithoutWorker() {
        return choice.isStopped() && !finished ? Mono.just(new Finished(ONLY_CHOICE, rest(""), FinishReason.STOP,
                usageAtStop(predictedCachedTokens), false)) : Mono.empty();
    }

    private Finished finish(DispatchEvent.Finished end) {
        if (choice.isStopped()) {
            return new Finished(ONLY_CHOICE, rest(""), FinishReason.STOP, usageAtStop(end.usage().cachedTokens()), true);
        }
        List<AnswerPart> rest = rest(choice.finish());
        FinishReason reason = choice.isStopped() ? FinishReason.STOP : end.reason();
        return new Finished(ONLY_CHOICE, rest, reason, end.usage(), true);
    }

    /** The last parts of the choice. */
    private List<AnswerPart> rest(String text) {
        if (parser == null) {
            return text.isEmpty() ? List.of() : List.of(new AnswerPart.Text(text));
        }
        List<AnswerPart> parts = new ArrayList<>(parser.accept(text));
        parts.addAll(parser.finish());
        return parts;
    }

    private Usage usageAtStop(int cachedTokens) {
        return new Usage(prompt.length(), cachedTokens, choice.tokenCount());
    }

    private ChoiceText newChoice() {
        ModelTokenizer tokenizer = prompt.model().tokenizer();
        IntStream ownEos = request.ignoreEos() ? IntStream.empty()
                : tokenizer.eosIds().stream().mapToInt(Integer::intValue);
        return new ChoiceText(tokenizer, request.stopStrings(), request.includeStop(),
                IntStream.concat(Arrays.stream(request.stopTokenIds()), ownEos),
                isParsed() ? dialect.marks(request.tools().mayCall()) : List.of());
    }

    private boolean isParsed() {
        return dialect.hasParts(request.tools().mayCall());
    }

    private @Nullable AnswerParser newParser() {
        if (!isParsed()) {
            return null;
        }
        int[] ids = prompt.tokens();
        int[] end = Arrays.copyOfRange(ids, Math.max(0, ids.length - Dialect.PROMPT_END), ids.length);
        String promptEnd = prompt.model().tokenizer().decode(end, /* skipSpecialTokens */ false);
        return dialect.newParser(request.tools().names(), request.tools().maxCalls(), promptEnd,
                ThreadLocalRandom.current());
    }
}
