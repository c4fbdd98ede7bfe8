package dev.warmpath.worker.generate;

import dev.warmpath.protocol.generate.FailureReason;
import dev.warmpath.protocol.generate.FinishReason;
import dev.warmpath.protocol.generate.GenerateEvent;
import dev.warmpath.protocol.generate.GenerateEvent.Usage;
import dev.warmpath.worker.engine.GenerationListener;
import dev.warmpath.worker.engine.GenerationTimes;
import dev.warmpath.worker.engine.TokenScores;
import java.util.ArrayDeque;
import java.util.List;
import java.util.Objects;
import java.util.function.Consumer;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.FluxSink;

/**
 * Carries the answers to one request from the engine's thread to the network, as one stream.
 *
 * <p>The engine only appends to small arrays and never waits. Whenever the reader has asked for more, one event goes
 * out with the tokens of one choice that have come together since, and choices that have news take turns: a quick
 * reader gets every token by itself, a slow one gets fewer and longer events. What can pile up is bounded by the length
 * of prompt and answers, which the request's token limit and the model's context bound, so there is no "full" to
 * answer: 4 bytes a token, or up to 170 where scores are asked for.
 *
 * <p>What is told of the prompt goes first.
 *
 * <p>Each choice ends by itself, but fails with all others: what was told before goes out, then the failure.
 */
final class TokenStream {

    private final Outbox.Lane lane;
    private final @Nullable Consumer<GenerationTimes> whenOver;
    private final List<Choice> choices;
    private volatile @Nullable Reader reader;
    /** The lane's thread's own. */
    private boolean over;
    private boolean othersCancelled;
    /** The engine's thread's own: as of which sending this stream is on its lane's list. */
    long addedBefore = -1;

    // guarded by this
    private final TokenBuffer prompt = new TokenBuffer(true);
    /** Each at most once. */
    private final ArrayDeque<Choice> withNews = new ArrayDeque<>();
    private int unfinished;
    private GenerateEvent.@Nullable Failed failure;

    /** @param cancel ends all that is alive of the request; harmless twice */
    private record Reader(FluxSink<GenerateEvent> sink, Runnable cancel) {}

    /**
     * @param lane     writes this stream, one task at a time
     * @param choices  how many answers there are, at least 1
     * @param scored   true: drawn tokens come with scores
     * @param whenOver takes the first choice's times when that has ended, on the lane's thread; null: nobody asks for
     *                 them
     */
    TokenStream(Outbox.Lane lane, int choices, boolean scored, @Nullable Consumer<GenerationTimes> whenOver) {
        this.lane = lane;
        this.whenOver = whenOver;
        this.choices = IntStream.range(0, choices).mapToObj(index -> new Choice(index, scored)).toList();
        this.unfinished = choices;
    }

    /** One for each choice, in order. */
    List<? extends GenerationListener> listeners() {
        return choices;
    }

    /** The events; to be subscribed once. @param cancel called when the reader leaves early, or a choice fails */
    Flux<GenerateEvent> events(Runnable cancel) {
        return Flux.<GenerateEvent>create(subscriber -> {
            reader = new Reader(subscriber, cancel);
            subscriber.onCancel(cancel::run);
            subscriber.onRequest(_ -> lane.write(this));
        }, FluxSink.OverflowStrategy.ERROR);
    }

    /** On the lane's thread: hands the reader what it has asked for. */
    void drain() {
        Reader now = reader;
        if (now == null || over) {
            return;
        }
        cancelOthersOfFailed(now.cancel());
        FluxSink<GenerateEvent> sink = now.sink();
        while (!sink.isCancelled() && sink.requestedFromDownstream() > 0) {
            GenerateEvent event = take();
            if (event == null) {
                return;
            }
            sink.next(event);
            if (isLast(event)) {
                over = true;
                sink.complete();
                return;
            }
        }
    }

    /** At once, and not when a slow reader has come so far. */
    private void cancelOthersOfFailed(Runnable cancel) {
        if (hasFailed() && !othersCancelled) {
            othersCancelled = true;
            cancel.run();
        }
    }

    private synchronized boolean hasFailed() {
        return failure != null;
    }

    private synchronized @Nullable GenerateEvent take() {
        if (!prompt.isEmpty()) {
            TokenBuffer.Run run = prompt.take();
            return new GenerateEvent.Prompt(Objects.requireNonNull(run.scores()), run.numbers());
        }
        Choice next = withNews.poll();
        if (next == null) {
            return failure;
        }
        GenerateEvent event = next.take();
        if (next.hasNews()) {
            withNews.add(next);
        }
        return event;
    }

    private synchronized boolean isLast(GenerateEvent event) {
        return switch (event) {
            case GenerateEvent.Prompt _, GenerateEvent.Tokens _ -> false;
            case GenerateEvent.Finished _ -> --unfinished == 0;
            case GenerateEvent.Failed _ -> true;
        };
    }

    private synchronized void fail(GenerateEvent.Failed first) {
        failure = failure == null ? first : failure;
    }

    /** One answer. What is told of it after another has failed is dropped. */
    private final class Choice implements GenerationListener {

        private final int index;

        // guarded by the stream
        private final TokenBuffer tokens;
        private GenerateEvent.@Nullable Finished end;

        Choice(int index, boolean scored) {
            this.index = index;
            this.tokens = new TokenBuffer(scored);
        }

        @Override
        public void onPrompt(TokenScores scores) {
            synchronized (TokenStream.this) {
                if (failure == null) {
                    prompt.add(scores.rank(), scores);
                }
            }
            lane.add(TokenStream.this);
        }

        @Override
        public void onToken(int token, float logprob) {
            synchronized (TokenStream.this) {
                if (announces()) {
                    tokens.add(token, logprob);
                }
            }
            lane.add(TokenStream.this);
        }

        @Override
        public void onToken(int token, TokenScores scores) {
            synchronized (TokenStream.this) {
                if (announces()) {
                    tokens.add(token, scores);
                }
            }
            lane.add(TokenStream.this);
        }

        @Override
        public void onFinished(FinishReason reason, Usage usage) {
            synchronized (TokenStream.this) {
                if (announces()) {
                    end = new GenerateEvent.Finished(index, reason, usage);
                }
            }
            lane.add(TokenStream.this);
        }

        @Override
        public void onFailed(FailureReason reason, String message) {
            fail(new GenerateEvent.Failed(reason, message));
            lane.add(TokenStream.this);
        }

        @Override
        public boolean wantsTimes() {
            return index == 0 && whenOver != null;
        }

        @Override
        public void onOver(GenerationTimes times) {
            Consumer<GenerationTimes> taker = whenOver;
            if (taker != null) {
                lane.run(() -> taker.accept(times));
            }
        }

        /** Puts itself into the row of those with news, before it has some. @return false if they come too late */
        private boolean announces() {
            if (failure == null && !hasNews()) {
                withNews.add(this);
            }
            return failure == null;
        }

        private boolean hasNews() {
            return !tokens.isEmpty() || end != null;
        }

        private @Nullable GenerateEvent take() {
            if (tokens.isEmpty()) {
                GenerateEvent last = end;
                end = null;
                return last;
            }
            TokenBuffer.Run run = tokens.take();
            return new GenerateEvent.Tokens(index, run.numbers(), run.scores());
        }
    }
}
