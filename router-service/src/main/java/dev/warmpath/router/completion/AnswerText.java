package dev.warmpath.router.completion;

import dev.warmpath.protocol.generate.FinishReason;
import dev.warmpath.protocol.generate.GenerateEvent.Usage;
import dev.warmpath.router.completion.CompletionEvent.Finished;
import dev.warmpath.router.completion.CompletionEvent.Routed;
import dev.warmpath.router.completion.CompletionEvent.Text;
import dev.warmpath.router.dispatch.DispatchEvent;
import dev.warmpath.router.fleet.ServedModel;
import dev.warmpath.router.tokenization.IncrementalDetokenizer;
import dev.warmpath.router.tokenization.StopStrings;
import java.util.Arrays;
import java.util.BitSet;
import reactor.core.publisher.SynchronousSink;

/**
 * Turns one answer's tokens into text: whole characters only, up to the first stop string. One generation; its signals
 * come one at a time.
 */
final class AnswerText {

    private final String revision;
    private final IncrementalDetokenizer detokenizer;
    private final StopStrings stopStrings;
    private final BitSet silentIds = new BitSet();
    private final int promptTokens;
    private int completionTokens;
    private int predictedCachedTokens;
    private boolean stopped;

    AnswerText(ServedModel model, CompletionRequest request, int promptTokens) {
        this.revision = model.description().revision();
        this.detokenizer = new IncrementalDetokenizer(model.tokenizer());
        this.stopStrings = new StopStrings(request.stopStrings());
        this.promptTokens = promptTokens;
        // a token that ends the answer is no part of its text
        Arrays.stream(request.stopTokenIds()).forEach(silentIds::set);
        if (!request.ignoreEos()) {
            model.tokenizer().eosIds().forEach(silentIds::set);
        }
    }

    /** True after a stop string: the end is told already, and what the worker still sends is not wanted. */
    boolean isStopped() {
        return stopped;
    }

    void accept(DispatchEvent event, SynchronousSink<CompletionEvent> sink) {
        switch (event) {
            case DispatchEvent.Chosen chosen -> {
                predictedCachedTokens = chosen.decision().cachedTokens();
                sink.next(new Routed(revision, chosen.decision()));
            }
            case DispatchEvent.Tokens tokens -> accept(tokens.ids(), sink);
            case DispatchEvent.Finished finished -> sink.next(finish(finished));
        }
    }

    private void accept(int[] ids, SynchronousSink<CompletionEvent> sink) {
        var text = new StringBuilder();
        for (int id : ids) {
            completionTokens++;
            StopStrings.Piece piece = stopStrings.accept(silentIds.get(id) ? "" : detokenizer.accept(id));
            text.append(piece.text());
            if (piece.stopped()) {
                stopped = true;
                sink.next(new Finished(text.toString(), FinishReason.STOP, usageAtStop(), false));
                return;
            }
        }
        if (!text.isEmpty()) {
            sink.next(new Text(text.toString()));
        }
    }

    private Finished finish(DispatchEvent.Finished finished) {
        StopStrings.Piece last = stopStrings.accept(detokenizer.finish());
        StopStrings.Piece rest = last.stopped() ? new StopStrings.Piece("", true) : stopStrings.finish();
        boolean stoppedByText = last.stopped() || rest.stopped();
        return new Finished(last.text() + rest.text(), stoppedByText ? FinishReason.STOP : finished.reason(),
                finished.usage(), true);
    }

    /** The worker tells cached tokens at its end, which a stop string does not wait for: the prediction stands in. */
    private Usage usageAtStop() {
        return new Usage(promptTokens, predictedCachedTokens, completionTokens);
    }
}
