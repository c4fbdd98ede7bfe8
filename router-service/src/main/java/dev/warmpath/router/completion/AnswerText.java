package dev.warmpath.router.completion;

import dev.warmpath.protocol.generate.FinishReason;
import dev.warmpath.protocol.generate.GenerateEvent.Usage;
import dev.warmpath.router.completion.CompletionEvent.Finished;
import dev.warmpath.router.completion.CompletionEvent.Routed;
import dev.warmpath.router.completion.CompletionEvent.Text;
import dev.warmpath.router.dispatch.DispatchEvent;
import dev.warmpath.router.dispatch.Dispatcher;
import dev.warmpath.router.fleet.ServedModel;
import dev.warmpath.router.tokenization.IncrementalDetokenizer;
import dev.warmpath.router.tokenization.StopStrings;
import java.util.Arrays;
import java.util.BitSet;
import reactor.core.publisher.Mono;
import reactor.core.publisher.SynchronousSink;

/**
 * Turns one answer's tokens into text: whole characters only, up to the first stop string. One generation; its signals
 * come one at a time.
 */
final class AnswerText implements Dispatcher.Reader {

    private final ServedModel model;
    private final CompletionRequest request;
    private final BitSet silentIds = new BitSet();
    private final int promptTokens;
    private IncrementalDetokenizer detokenizer;
    private StopStrings stopStrings;
    private int completionTokens;
    private int predictedCachedTokens;
    private boolean shown;
    private boolean stopped;
    private boolean finished;

    AnswerText(ServedModel model, CompletionRequest request, int promptTokens) {
        this.model = model;
        this.request = request;
        this.detokenizer = new IncrementalDetokenizer(model.tokenizer());
        this.stopStrings = new StopStrings(request.stopStrings());
        this.promptTokens = promptTokens;
        // a token that ends the answer is no part of its text
        Arrays.stream(request.stopTokenIds()).forEach(silentIds::set);
        if (!request.ignoreEos()) {
            model.tokenizer().eosIds().forEach(silentIds::set);
        }
    }

    @Override
    public boolean hasShown() {
        return shown;
    }

    /** After a stop string. What the worker still draws until it hears of that is no part of the answer. */
    @Override
    public boolean hasEnough() {
        return stopped;
    }

    void accept(DispatchEvent event, SynchronousSink<CompletionEvent> sink) {
        switch (event) {
            case DispatchEvent.Chosen chosen -> {
                beginAnew();
                predictedCachedTokens = chosen.decision().cachedTokens();
                sink.next(new Routed(model.description().revision(), chosen.decision()));
            }
            case DispatchEvent.Tokens tokens when stopped -> { }
            case DispatchEvent.Tokens tokens -> accept(tokens.ids(), sink);
            case DispatchEvent.Finished end -> sink.next(finish(end));
        }
    }

    /** The end of an answer that a stop string ended, if the worker has not told its own. */
    Mono<CompletionEvent> endWithoutWorker() {
        return stopped && !finished
                ? Mono.just(new Finished("", FinishReason.STOP, usageAtStop(predictedCachedTokens), false))
                : Mono.empty();
    }

    /** Nothing was shown of what another worker has drawn before. */
    private void beginAnew() {
        detokenizer = new IncrementalDetokenizer(model.tokenizer());
        stopStrings = new StopStrings(request.stopStrings());
        completionTokens = 0;
    }

    private void accept(int[] ids, SynchronousSink<CompletionEvent> sink) {
        var text = new StringBuilder();
        for (int id : ids) {
            completionTokens++;
            StopStrings.Piece piece = stopStrings.accept(silentIds.get(id) ? "" : detokenizer.accept(id));
            text.append(piece.text());
            if (piece.stopped()) {
                stopped = true;
                break;
            }
        }
        if (!text.isEmpty()) {
            shown |= request.streamed();
            sink.next(new Text(text.toString()));
        }
    }

    private Finished finish(DispatchEvent.Finished end) {
        finished = true;
        if (stopped) {
            return new Finished("", FinishReason.STOP, usageAtStop(end.usage().cachedTokens()), true);
        }
        StopStrings.Piece last = stopStrings.accept(detokenizer.finish());
        StopStrings.Piece rest = last.stopped() ? new StopStrings.Piece("", true) : stopStrings.finish();
        boolean stoppedByText = last.stopped() || rest.stopped();
        return new Finished(last.text() + rest.text(), stoppedByText ? FinishReason.STOP : end.reason(),
                end.usage(), true);
    }

    private Usage usageAtStop(int cachedTokens) {
        return new Usage(promptTokens, cachedTokens, completionTokens);
    }
}
