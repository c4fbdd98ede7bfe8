package dev.warmpath.router.completion;

import dev.warmpath.router.answer.TokenScore;
import dev.warmpath.router.answer.dialect.Dialect;
import dev.warmpath.router.completion.CompletionEvent.Finished;
import dev.warmpath.router.completion.CompletionEvent.Routed;
import dev.warmpath.router.completion.CompletionRequest.Echo;
import dev.warmpath.router.dispatch.DispatchEvent;
import dev.warmpath.router.dispatch.Dispatcher;
import dev.warmpath.router.routing.TokenizedPrompt;
import java.util.List;
import org.jspecify.annotations.Nullable;
import reactor.core.CoreSubscriber;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Operators;

/**
 * Turns what happens to a request into the events of its answer: of all choices of one prompt. One generation; its signals
 * come one at a time.
 */
final class AnswerEvents implements Dispatcher.Reader {

    private final TokenizedPrompt prompt;
    private final CompletionRequest request;
    private final Dialect dialect;
    private final ChoiceEvents[] choices;
    /** Null: nobody asks for the prompt, or what its tokens were to the model. */
    private final @Nullable PromptEcho echo;
    private int predictedCachedTokens;
    private int finishedCount;
    private int finishedTokens;
    private boolean shown;
    private boolean sent;

    AnswerEvents(TokenizedPrompt prompt, CompletionRequest request, Dialect dialect) {
        this.prompt = prompt;
        this.request = request;
        this.dialect = dialect;
        this.choices = new ChoiceEvents[request.answers().count()];
        this.echo = request.answers().tellsPrompt() ? new PromptEcho(prompt, request) : null;
        begin();
    }

    private void begin() {
        finishedCount = 0;
        finishedTokens = 0;
        if (echo != null) {
            echo.begin();
        }
        for (int index = 0; index < choices.length; index++) {
            choices[index] = new ChoiceEvents(index, prompt, request, dialect,
                    request.answers().echo() == Echo.NONE ? null : echo);
        }
    }

    @Override
    public boolean hasShown() {
        return shown;
    }

    /** After a stop string in each of them. What the worker still draws until it hears of that is no part of the answer. */
    @Override
    public boolean hasEnough() {
        for (ChoiceEvents choice : choices) {
            if (!choice.isComplete()) {
                return false;
            }
        }
        return true;
    }

    @Override
    public boolean hasEnough(int choice) {
        return choices[choice].isComplete();
    }

    /** Whether a worker was chosen for it. */
    boolean wasSent() {
        return sent;
    }

    /** By the worker that was asked last. */
    int drawnTokens() {
        int tokens = 0;
        for (ChoiceEvents choice : choices) {
            tokens += choice.tokenCount();
        }
        return tokens;
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
                if (sent) {
                    begin();                                       // nothing was shown of what another worker has drawn
                }
                sent = true;
                predictedCachedTokens = chosen.decision().cachedTokens();
                yield new Routed(/* firstChoice */ 0, prompt.model().revision(), prompt.tokens(), chosen.decision());
            }
            case DispatchEvent.Prompt told -> {
                List<TokenScore> scores = echo == null ? List.of() : echo.add(told);
                yield request.answers().promptLogprobs() ? new CompletionEvent.Prompt(0, scores) : null;
            }
            case DispatchEvent.Tokens tokens -> {
                @Nullable CompletionEvent more = choices[tokens.choice()].read(tokens);
                shown |= request.streamed() && more != null;
                yield more;
            }
            case DispatchEvent.Finished end -> {
                shown |= request.streamed();
                yield count(choices[end.choice()].finish(end));
            }
        };
    }

    /** The ends of choices that a stop string ended, where the worker has not told its own. */
    Flux<CompletionEvent> endWithoutWorker() {
        return Flux.fromArray(choices).filter(choice -> choice.isStopped() && !choice.isFinished())
                .map(choice -> count(choice.finishWithoutWorker(predictedCachedTokens)));
    }

    /** Its usage becomes that of all that have ended. */
    private Finished count(Finished choice) {
        finishedCount++;
        finishedTokens += choice.usage().completionTokens();
        return choice.withTotal(finishedTokens, /* last */ finishedCount == choices.length);
    }
}
