package dev.warmpath.router.completion;

import dev.warmpath.router.dispatch.DispatchException;
import org.reactivestreams.Subscription;
import reactor.core.CoreSubscriber;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Operators;
import reactor.util.context.Context;

/**
 * Passes an answer on to its reader until it ends, or until this router cuts it: a failure like any other, except that
 * it comes from another thread, whatever is on its way. The lock is for that, and free at all other times.
 */
final class UntilCut implements CoreSubscriber<CompletionEvent>, Subscription {

    private final RouterDrain drain;
    private final Runnable whenOver;
    private final CoreSubscriber<? super CompletionEvent> reader;
    private Subscription upstream = Operators.emptySubscription();
    private boolean over;

    private UntilCut(RouterDrain drain, Runnable whenOver, CoreSubscriber<? super CompletionEvent> reader) {
        this.drain = drain;
        this.whenOver = whenOver;
        this.reader = reader;
    }

    /** @param whenOver runs once the answer has ended, in whatever way, before its reader hears of it; may run twice */
    static Flux<CompletionEvent> of(Flux<CompletionEvent> answer, RouterDrain drain, Runnable whenOver) {
        return Flux.from(reader -> answer.subscribe(
                new UntilCut(drain, whenOver, Operators.toCoreSubscriber(reader))));
    }

    @Override
    public Context currentContext() {
        return reader.currentContext();
    }

    @Override
    public void onSubscribe(Subscription subscription) {
        upstream = subscription;
        reader.onSubscribe(this);
        drain.begins(this);
    }

    @Override
    public synchronized void onNext(CompletionEvent event) {
        if (!over) {
            reader.onNext(event);
        }
    }

    @Override
    public synchronized void onComplete() {
        if (end()) {
            reader.onComplete();
        }
    }

    @Override
    public synchronized void onError(Throwable error) {
        if (end()) {
            reader.onError(error);
        }
    }

    /** From any thread. */
    synchronized void cut(DispatchException why) {
        if (!over) {
            upstream.cancel();
            onError(why);
        }
    }

    @Override
    public void request(long count) {
        upstream.request(count);
    }

    /** From any thread; does not wait for what is on its way. */
    @Override
    public void cancel() {
        upstream.cancel();
        drain.isOver(this);
        whenOver.run();
    }

    private boolean end() {
        boolean ends = !over;
        over = true;
        if (ends) {
            drain.isOver(this);
            whenOver.run();
        }
        return ends;
    }
}
