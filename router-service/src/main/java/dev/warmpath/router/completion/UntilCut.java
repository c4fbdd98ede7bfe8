package dev.warmpath.router.completion;

import dev.warmpath.router.dispatch.DispatchException;
import org.reactivestreams.Subscription;
import reactor.core.CoreSubscriber;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Operators;

/**
 * Passes an answer on to its reader until it ends, or until this router cuts it: a failure like any other, except that
 * it comes from another thread, whatever is on its way. The lock keeps the two apart; nothing but the reader's next event
 * is delivered under it.
 */
final class UntilCut extends Passing<CompletionEvent, CompletionEvent> {

    private final RouterDrain drain;
    private final Runnable whenOver;
    private boolean over;
    /** Its reader knows of it. One that is cut before finds out when it begins. */
    private volatile boolean begun;
    private volatile boolean left;

    private UntilCut(RouterDrain drain, Runnable whenOver, CoreSubscriber<? super CompletionEvent> reader) {
        super(reader);
        this.drain = drain;
        this.whenOver = whenOver;
    }

    /** @param whenOver runs once the answer has ended, in whatever way, before its reader hears of it; may run twice */
    static Flux<CompletionEvent> of(Flux<CompletionEvent> answer, RouterDrain drain, Runnable whenOver) {
        return Flux.from(reader -> answer.subscribe(
                new UntilCut(drain, whenOver, Operators.toCoreSubscriber(reader))));
    }

    @Override
    public void onSubscribe(Subscription subscription) {
        upstream = subscription;
        drain.begins(this);                                        // a reader that leaves at once takes it out again
        reader.onSubscribe(this);
        begun = true;
        drain.cutIfLate(this);
    }

    @Override
    public synchronized void onNext(CompletionEvent event) {
        if (!over) {
            reader.onNext(event);
        }
    }

    @Override
    public void onComplete() {
        if (end()) {
            reader.onComplete();
        }
    }

    @Override
    public void onError(Throwable error) {
        if (end()) {
            reader.onError(error);
        }
    }

    /** From any thread. */
    void cut(DispatchException why) {
        if (begun && !left && end()) {
            upstream.cancel();
            reader.onError(why);
        }
    }

    /** From any thread; does not wait for what is on its way. */
    @Override
    public void cancel() {
        left = true;
        upstream.cancel();
        drain.isOver(this);
        whenOver.run();
    }

    /** Waits for the event that is being delivered. @return false if it had ended before */
    private boolean end() {
        synchronized (this) {
            if (over) {
                return false;
            }
            over = true;
        }
        drain.isOver(this);
        whenOver.run();
        return true;
    }
}
