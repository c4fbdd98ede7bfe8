package dev.warmpath.router.completion;

import org.reactivestreams.Subscription;
import reactor.core.CoreSubscriber;
import reactor.core.publisher.Operators;
import reactor.util.context.Context;

/**
 * An operator that answers pass: hands everything on, in both directions, but for what its kind does otherwise.
 *
 * @param <I> what comes
 * @param <O> what its reader gets
 */
abstract class Passing<I, O> implements CoreSubscriber<I>, Subscription {

    final CoreSubscriber<? super O> reader;
    Subscription upstream = Operators.emptySubscription();

    Passing(CoreSubscriber<? super O> reader) {
        this.reader = reader;
    }

    @Override
    public final Context currentContext() {
        return reader.currentContext();
    }

    @Override
    public void onSubscribe(Subscription subscription) {
        upstream = subscription;
        reader.onSubscribe(this);
    }

    @Override
    public void onComplete() {
        reader.onComplete();
    }

    @Override
    public void onError(Throwable error) {
        reader.onError(error);
    }

    @Override
    public void request(long count) {
        upstream.request(count);
    }

    @Override
    public void cancel() {
        upstream.cancel();
    }
}
