package dev.warmpath.router.dispatch;

import dev.warmpath.protocol.generate.GenerateEvent;
import dev.warmpath.protocol.generate.GenerateRequest;
import dev.warmpath.router.decisions.Decision;
import dev.warmpath.router.dispatch.DispatchEvent.Chosen;
import dev.warmpath.router.dispatch.DispatchFailure.NoWorker;
import dev.warmpath.router.dispatch.DispatchFailure.Refused;
import dev.warmpath.router.dispatch.DispatchFailure.WorkerLost;
import dev.warmpath.router.dispatch.Dispatcher.Reader;
import dev.warmpath.router.dispatch.Dispatcher.Tries;
import dev.warmpath.router.fleet.FleetWorker;
import dev.warmpath.router.handshake.StrangerException;
import dev.warmpath.router.routing.RouteDecision;
import dev.warmpath.router.routing.RouteResult;
import dev.warmpath.router.routing.RouteResult.Placed;
import dev.warmpath.router.routing.RouteResult.Unplaced;
import dev.warmpath.router.routing.ShadowChoice;
import dev.warmpath.router.tracing.AttemptTrace;
import java.time.Duration;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Subscription;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import reactor.core.CoreSubscriber;
import reactor.core.publisher.Operators;
import reactor.util.context.Context;

/**
 * The workers of one revision that a request is sent to, one after the other, and what comes from them as one
 * stream. One operator where several would do, since every token passes it. Signals come one at a time, but for what
 * its reader asks for and its leaving.
 */
final class Attempts implements Subscription {

    private static final Logger log = LoggerFactory.getLogger(Attempts.class);

    private final Dispatcher dispatcher;
    private final Tries tries;
    private final GenerateRequest request;
    private final Function<Set<String>, RouteResult> route;
    private final Reader reader;
    private final boolean hasElsewhere;
    private final CoreSubscriber<? super DispatchEvent> events;
    private final Set<String> triedWorkerIds = new HashSet<>();

    // guarded by this
    /** Events that were asked for; those of the current attempt are taken off when it ends. */
    private long wanted;
    private @Nullable Attempt current;
    private boolean left;

    Attempts(Dispatcher dispatcher, Tries tries, GenerateRequest request, Function<Set<String>, RouteResult> route,
            Reader reader, boolean hasElsewhere, CoreSubscriber<? super DispatchEvent> events) {
        this.dispatcher = dispatcher;
        this.tries = tries;
        this.request = request;
        this.route = route;
        this.reader = reader;
        this.hasElsewhere = hasElsewhere;
        this.events = events;
    }

    void start() {
        events.onSubscribe(this);
        next(new DispatchException(new NoWorker()));
    }

    /** @param before what to say if nobody is left to ask */
    private void next(DispatchException before) {
        try {
            switch (route.apply(triedWorkerIds)) {
                case Unplaced unplaced when before.failure() instanceof NoWorker && unplaced.hasOutdated() ->
                        events.onError(new DispatchException(new NoWorker(/* onlyOutdated */ true), before.getCause()));
                case Unplaced _ -> events.onError(before);
                case Placed placed -> attemptAt(placed);
            }
        } catch (RuntimeException e) {                         // a fault of this router
            events.onError(e);
        }
    }

    private void attemptAt(Placed placed) {
        triedWorkerIds.add(placed.worker().id());
        dispatcher.metrics.routed(placed.decision().reason().text());
        countShadow(placed.decision());
        Attempt attempt;
        try {
            attempt = attempt(placed);
        } catch (RuntimeException e) {                         // a fault of this router
            placed.inFlight().close();
            throw e;
        }
        synchronized (this) {
            current = attempt;
        }
        attempt.announce();
    }

    private Attempt attempt(Placed placed) {
        AttemptTrace trace = tries.trace.attempt(tries.watches.size() + 1, placed.worker().id(),
                placed.decision().reason().text(), placed.decision().cachedTokens());
        var watch = new AttemptWatch(placed, record(placed), trace, dispatcher.nanoTime);
        var attempt = new Attempt(placed, watch, deadline(placed), trace.headers());
        tries.add(watch);
        watch.begin();
        return attempt;
    }

    private void countShadow(RouteDecision.Routed decision) {
        ShadowChoice shadow = decision.shadow();
        if (shadow != null) {
            dispatcher.metrics.shadowed(decision.policy().text(), shadow.policy().text(), shadow.isSame(),
                    shadow.liveTokens(), shadow.shadowTokens());
        }
    }

    private Decision record(Placed placed) {
        var subject = new Decision.Subject(request.requestId(), triedWorkerIds.size(),
                placed.worker().model().name(), placed.worker().revision());
        return dispatcher.decisions.decide(tries.record, subject, placed.prompt(), placed.decision());
    }

    /** The last one that can be asked gets all the time there is: a late answer is better than none. */
    private Duration deadline(Placed placed) {
        boolean lastHere = triedWorkerIds.size() >= dispatcher.properties.maxAttempts()
                || placed.decision().snapshot().candidateCount() == 1;
        return lastHere && !hasElsewhere ? dispatcher.properties.firstTokenTimeout() : FirstTokenDeadline.of(
                placed.decision().predictedFirstTokenNanos(), dispatcher.properties.leastFirstTokenTimeout(),
                dispatcher.properties.firstTokenTimeout());
    }

    private void afterFailure(DispatchException failed) {
        dispatcher.metrics.attemptFailed(failed.failure().cause());
        boolean mayGoOn = !reader.hasShown() && failed.failure().isRetryable();
        if (!mayGoOn || triedWorkerIds.size() >= dispatcher.properties.maxAttempts()
                || !dispatcher.takeRetry(failed.failure())) {
            events.onError(failed);
            return;
        }
        tries.trace.within(() -> log.info("Request {} goes on to another worker: {}", request.requestId(),
                failed.failure()));
        dispatcher.metrics.retried(failed.failure().cause());
        boolean lost = failed.failure() instanceof WorkerLost;
        next(lost ? new DispatchException(new NoWorker(), failed) : failed);
    }

    private long wantedBeside(long delivered) {
        return wanted == Long.MAX_VALUE ? wanted : wanted - delivered;
    }

    @Override
    public void request(long count) {
        if (Operators.validate(count)) {
            Attempt asked;
            Subscription upstream;
            synchronized (this) {
                wanted = Operators.addCap(wanted, count);
                asked = current;
                // one that has not begun asks for all that is wanted when it does
                upstream = asked == null ? null : asked.upstream;
            }
            if (upstream != null) {
                upstream.request(count);
            } else if (asked != null) {
                asked.announce();
            }
        }
    }

    @Override
    public void cancel() {
        Attempt leaving;
        synchronized (this) {
            left = true;
            leaving = current;
        }
        if (leaving != null) {
            leaving.leave();
        }
    }

    /** One worker's try at one request. */
    private final class Attempt implements CoreSubscriber<GenerateEvent> {

        private final Placed placed;
        private final FleetWorker worker;
        private final AttemptWatch watch;
        private final Duration firstToken;
        private final Map<String, String> traceHeaders;
        private long delivered;
        private boolean hasToken;
        private boolean ended;

        // guarded by the attempts
        private @Nullable Subscription upstream;
        private boolean announced;

        /** @param firstToken longest wait for it */
        Attempt(Placed placed, AttemptWatch watch, Duration firstToken, Map<String, String> traceHeaders) {
            this.placed = placed;
            this.worker = placed.worker();
            this.watch = watch;
            this.firstToken = firstToken;
            this.traceHeaders = traceHeaders;
        }

        @Override
        public Context currentContext() {
            return events.currentContext();
        }

        /** Tells who was chosen, as soon as that is asked for, and only then asks the worker. */
        void announce() {
            synchronized (Attempts.this) {
                if (announced || wanted == 0 && !left) {
                    return;
                }
                announced = true;
            }
            try {
                if (!isLeft()) {
                    emit(new Chosen(placed.decision()));
                }
                if (isLeft()) {
                    leave();
                } else {
                    dispatcher.client.generate(worker, request, traceHeaders, firstToken, reader)
                            .subscribe(this);
                }
            } catch (RuntimeException e) {                         // a fault of this router
                fail(e);
            }
        }

        private boolean isLeft() {
            synchronized (Attempts.this) {
                return left;
            }
        }

        @Override
        public void onSubscribe(Subscription subscription) {
            long undelivered;
            synchronized (Attempts.this) {
                upstream = subscription;
                undelivered = wantedBeside(delivered);
            }
            if (isLeft()) {
                leave();
            } else if (undelivered > 0) {
                subscription.request(undelivered);
            }
        }

        void leave() {
            watch.left();
            stopAsking();
            placed.inFlight().close();
        }

        private void stopAsking() {
            Subscription asked;
            synchronized (Attempts.this) {
                asked = upstream;
            }
            if (asked != null) {
                asked.cancel();
            }
        }

        @Override
        public void onNext(GenerateEvent event) {
            try {
                take(event);
            } catch (RuntimeException e) {                         // a fault of this router, and not of the worker
                stopAsking();
                fail(e);
            }
        }

        private void take(GenerateEvent event) {
            switch (event) {
                case GenerateEvent.Tokens tokens -> {
                    dispatcher.fleet.heardFrom(worker);
                    if (!hasToken) {
                        hasToken = true;
                        placed.inFlight().firstToken();
                    }
                    emit(new DispatchEvent.Tokens(tokens.index(), tokens.ids(), tokens.scores()));
                }
                case GenerateEvent.Prompt told -> emit(new DispatchEvent.Prompt(told.scores(), told.ranks()));
                case GenerateEvent.Finished finished ->
                        emit(new DispatchEvent.Finished(finished.index(), finished.reason(), finished.usage()));
                case GenerateEvent.Failed failed -> failUnlessEnough(
                        new DispatchException(new Refused(worker.id(), failed.reason(), failed.message())));
            }
        }

        private void emit(DispatchEvent event) {
            delivered++;
            watch.see(event);
            tries.see(event);
            events.onNext(event);
        }

        @Override
        public void onComplete() {
            if (!ended) {
                ended = true;
                watch.answered();
                placed.inFlight().close();
                events.onComplete();
            }
        }

        @Override
        public void onError(Throwable error) {
            reportLostConnection(error);
            failUnlessEnough(error);
        }

        private void failUnlessEnough(Throwable error) {
            if (reader.hasEnough()) {
                onComplete();              // it has its answer; what is missing is what the worker had to say about it
            } else {
                fail(error);
            }
        }

        private void fail(Throwable error) {
            if (ended) {
                return;
            }
            ended = true;
            watch.failed(error);
            placed.inFlight().close();
            synchronized (Attempts.this) {
                wanted = wantedBeside(delivered);
                current = null;
                if (left) {
                    return;
                }
            }
            if (error instanceof DispatchException failed) {
                afterFailure(failed);
            } else {
                events.onError(error);
            }
        }

        private void reportLostConnection(Throwable error) {
            if (error instanceof DispatchException failed && failed.failure() instanceof WorkerLost
                    && failed.getCause() != null) {
                if (failed.getCause() instanceof StrangerException) {
                    dispatcher.fleet.remove(worker,
                            "somebody else answers at its address: " + failed.getCause().getMessage());
                } else {
                    dispatcher.fleet.connectionLost(worker, failed.getCause());
                }
            }
        }
    }
}
