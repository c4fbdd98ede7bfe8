package dev.warmpath.worker.generate;

import dev.warmpath.protocol.generate.FailureReason;
import dev.warmpath.protocol.generate.FinishReason;
import dev.warmpath.protocol.generate.GenerateEvent.Scores;
import dev.warmpath.protocol.generate.GenerateEvent;
import dev.warmpath.protocol.generate.GenerateEvent.Usage;
import dev.warmpath.worker.engine.GenerationListener;
import dev.warmpath.worker.engine.GenerationTimes;
import java.util.Arrays;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.FluxSink;

/**
 * Carries one generation's tokens from the engine's thread to the network.
 *
 * <p>The engine only appends to a small array and never waits. Whenever the reader has asked for more, one event with
 * all tokens that have come together since goes out: a quick reader gets every token by itself, a slow one gets fewer
 * and longer events. What can pile up is bounded by the answer's length, which the request's token limit and the
 * model's context bound, so there is no "full" to answer.
 */
final class TokenStream implements GenerationListener {

    private final Outbox.Lane lane;
    private final boolean logprobsWanted;
    private final @Nullable Consumer<GenerationTimes> whenOver;
    private volatile @Nullable FluxSink<GenerateEvent> sink;

    // guarded by this
    private int[] ids = new int[8];
    private float[] logprobs = new float[8];
    private int pendingCount;
    private @Nullable GenerateEvent end;

    /**
     * @param lane     writes this stream, one task at a time
     * @param whenOver takes the generation's times when it has ended, on the lane's thread; null: nobody asks for them
     */
    TokenStream(Outbox.Lane lane, boolean logprobsWanted, @Nullable Consumer<GenerationTimes> whenOver) {
        this.lane = lane;
        this.logprobsWanted = logprobsWanted;
        this.whenOver = whenOver;
    }

    /** The events; to be subscribed once. @param cancel called when the reader leaves before the end */
    Flux<GenerateEvent> events(Runnable cancel) {
        return Flux.<GenerateEvent>create(subscriber -> {
            sink = subscriber;
            subscriber.onCancel(cancel::run);
            subscriber.onRequest(_ -> lane.write(this));
        }, FluxSink.OverflowStrategy.ERROR);
    }

    @Override
    public void onToken(int token, float logprob) {
        synchronized (this) {
            if (pendingCount == ids.length) {
                ids = Arrays.copyOf(ids, pendingCount * 2);
                logprobs = Arrays.copyOf(logprobs, pendingCount * 2);
            }
            ids[pendingCount] = token;
            logprobs[pendingCount] = logprob;
            pendingCount++;
        }
        lane.add(this);
    }

    @Override
    public void onFinished(FinishReason reason, Usage usage) {
        end(new GenerateEvent.Finished(reason, usage));
    }

    @Override
    public void onFailed(FailureReason reason, String message) {
        end(new GenerateEvent.Failed(reason, message));
    }

    @Override
    public boolean wantsTimes() {
        return whenOver != null;
    }

    @Override
    public void onOver(GenerationTimes times) {
        Consumer<GenerationTimes> reader = whenOver;
        if (reader != null) {
            lane.run(() -> reader.accept(times));
        }
    }

    private void end(GenerateEvent last) {
        synchronized (this) {
            end = last;
        }
        lane.add(this);
    }

    /** On the lane's thread: hands the reader what it has asked for. */
    void drain() {
        FluxSink<GenerateEvent> reader = sink;
        while (reader != null && !reader.isCancelled() && reader.requestedFromDownstream() > 0) {
            GenerateEvent event = take();
            if (event == null) {
                return;
            }
            reader.next(event);
            if (!(event instanceof GenerateEvent.Tokens)) {
                reader.complete();
                return;
            }
        }
    }

    private synchronized @Nullable GenerateEvent take() {
        if (pendingCount == 0) {
            GenerateEvent last = end;
            end = null;
            return last;
        }
        @Nullable Scores scores = logprobsWanted
                ? new Scores(Arrays.copyOf(logprobs, pendingCount), new int[0], new float[0]) : null;
        var tokens = new GenerateEvent.Tokens(0, Arrays.copyOf(ids, pendingCount), scores);
        pendingCount = 0;
        return tokens;
    }
}
