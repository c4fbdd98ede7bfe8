package dev.warmpath.router.completion;

import dev.warmpath.protocol.generate.FinishReason;
import dev.warmpath.protocol.generate.GenerateEvent.Usage;
import dev.warmpath.router.answer.ChoiceText;
import dev.warmpath.router.completion.CompletionEvent.Finished;
import dev.warmpath.router.completion.CompletionEvent.Routed;
import dev.warmpath.router.completion.CompletionEvent.Text;
import dev.warmpath.router.dispatch.DispatchEvent;
import dev.warmpath.router.dispatch.Dispatcher;
import dev.warmpath.router.routing.TokenizedPrompt;
import dev.warmpath.router.tokenization.ModelTokenizer;
import java.util.Arrays;
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
    private ChoiceText choice;
    private int predictedCachedTokens;
    private boolean shown;
    private boolean finished;

    AnswerEvents(TokenizedPrompt prompt, CompletionRequest request) {
        this.prompt = prompt;
        this.request = request;
        this.choice = newChoice();
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
                if (choice.tokenCount() > 0) {
                    choice = newChoice();                          // nothing was shown of what another worker has drawn
                }
                predictedCachedTokens = chosen.decision().cachedTokens();
                yield new Routed(prompt.model().revision(), chosen.decision());
            }
            case DispatchEvent.Tokens tokens -> {
                String text = choice.accept(tokens.ids());
                shown |= request.streamed() && !text.isEmpty();
                yield text.isEmpty() ? null : new Text(tokens.choice(), text);
            }
            case DispatchEvent.Finished end -> {
                finished = true;
                yield finish(end);
            }
        };
    }

    /** The end of an answer that a stop string ended, if the worker has not told its own. */
    Mono<CompletionEvent> endWithoutWorker() {
        return choice.isStopped() && !finished
                ? Mono.just(new Finished(ONLY_CHOICE, "", FinishReason.STOP, usageAtStop(predictedCachedTokens), false))
                : Mono.empty();
    }

    private Finished finish(DispatchEvent.Finished end) {
        if (choice.isStopped()) {
            return new Finished(ONLY_CHOICE, "", FinishReason.STOP, usageAtStop(end.usage().cachedTokens()), true);
        }
        String rest = choice.finish();
        FinishReason reason = choice.isStopped() ? FinishReason.STOP : end.reason();
        return new Finished(ONLY_CHOICE, rest, reason, end.usage(), true);
    }

    private Usage usageAtStop(int cachedTokens) {
        return new Usage(prompt.length(), cachedTokens, choice.tokenCount());
    }

    private ChoiceText newChoice() {
        ModelTokenizer tokenizer = prompt.model().tokenizer();
        IntStream ownEos = request.ignoreEos() ? IntStream.empty()
                : tokenizer.eosIds().stream().mapToInt(Integer::intValue);
        return new ChoiceText(tokenizer, request.stopStrings(),
                IntStream.concat(Arrays.stream(request.stopTokenIds()), ownEos));
    }
}
