package dev.warmpath.worker.generate;

import dev.warmpath.protocol.generate.FailureReason;
import dev.warmpath.protocol.generate.FinishReason;
import dev.warmpath.protocol.generate.GenerateEvent;
import dev.warmpath.protocol.generate.GenerateEvent.Scores;
import dev.warmpath.protocol.generate.GenerateEvent.Usage;
import dev.warmpath.worker.engine.GenerationListener;
import dev.warmpath.worker.engine.GenerationTimes;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.List;
import java.util.function.Consumer;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.FluxSink;

/**
 * Carries the answers to one request from the engine's thread to the network, as one stream.
 *
 * <p>The engine only appends to small arrays and never waits. Whenever the reader has asked for more, one event goes out
 * with the tokens of one choice that have come together since, and choices that have news take turns: a quick reader
 * gets every token by itself, a slow one gets fewer and longer events. What can pile up is bounded by the answers'
 * length, which the request's token limit and the model's context bound, so there is no "full" to answer.
 *
 * <p>Each choice ends by itself, but fails with all others: what was told before goes out, then the failure.
 */
final class TokenStream {

    /** A line of so many tokens has some ten characters for each; routers read lines of up to 256 KiB. */
    private static final int TOKENS_A_LINE = 4_096;

    private final Outbox.Lane lane;
    private final boolean logprobsWanted;
    private final @Nullable Consumer<GenerationTimes> whenOver;
    private final List<Choice> choices;
    private volatile @Nullable Reader reader;
    /** The lane's thread's own. */
    private boolean over;
    private boolean othersCancelled;
    /** The engine's thread's own: as of which sending this stream is on its lane's list. */
    long addedBefore = -1;

    // guarded by this
    /** Each at most once. */
    private final ArrayDeque<Choice> withNews = new ArrayDeque<>();
    private int unfinished;
    private GenerateEvent.@Nullable Failed failure;

    /** @param cancel ends all that is alive of the request; harmless twice */
    private record Reader(FluxSink<GenerateEvent> sink, Runnable cancel) {}

    /**
     * @param lane     writes this stream, one task at a time
     * @param choices  how many answers there are, at least 1
     * @param whenOver takes the first choice's times when that has ended, on the lane's thread; null: nobody asks for
     *                 them
     */
    TokenStream(Outbox.Lane lane, int choices, boolean logprobsWanted, @Nullable Consumer<GenerationTimes> whenOver) {
        this.lane = lane;
        this.logprobsWanted = logprobsWanted;
        this.whenOver = whenOver;
        this.choices = IntStream.range(0, choices).mapToObj(Choice::new).toList();
        this.unfinished = choices;
    }

    /** One for each choice, in order. */
    List<? extends GenerationListener> listeners() {
        return choices;
    }

    /** The events; to be subscribed once. @param cancel called when the reader leaves before the end, or a choice fails */
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
        private int[] ids = new int[8];
        private float[] logprobs = new float[8];
        private int from;
        private int to;
        private GenerateEvent.@Nullable Finished end;

        Choice(int index) {
            this.index = index;
        }

        @Override
        public void onToken(int token, float logprob) {
            synchronized (TokenStream.this) {
                if (failure != null) {
                    return;
                }
                announce();
                if (to == ids.length) {
                    ids = Arrays.copyOf(ids, to * 2);
                    logprobs = Arrays.copyOf(logprobs, to * 2);
                }
                ids[to] = token;
                logprobs[to] = logprob;
                to++;
            }
            lane.add(TokenStream.this);
        }

        @Override
        public void onFinished(FinishReason reason, Usage usage) {
            synchronized (TokenStream.this) {
                if (failure != null) {
                    return;
                }
                announce();
                end = new GenerateEvent.Finished(index, reason, usage);
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

        /** Puts itself into the row of those with news, before it has some. */
        private void announce() {
            if (!hasNews()) {
                withNews.add(this);
            }
        }

        private boolean hasNews() {
            return from < to || end != null;
        }

        private @Nullable GenerateEvent take() {
            if (from == to) {
                GenerateEvent last = end;
                end = null;
                return last;
            }
            int until = Math.min(to, from + TOKENS_A_LINE);
            @Nullable Scores scores = logprobsWanted
                    ? new Scores(Arrays.copyOfRange(logprobs, from, until), new int[0], new float[0]) : null;
            var tokens = new GenerateEvent.Tokens(index, Arrays.copyOfRange(ids, from, until), scores);
            from = until;
            if (from == to) {
                from = 0;
                to = 0;
            }
            return tokens;
        }
    }
}
