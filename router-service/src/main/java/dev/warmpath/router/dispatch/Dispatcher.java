package dev.warmpath.router.dispatch;

import dev.warmpath.protocol.generate.GenerateEvent;
import dev.warmpath.protocol.generate.GenerateRequest;
import dev.warmpath.router.decisions.Decision;
import dev.warmpath.router.decisions.DecisionLog;
import dev.warmpath.router.decisions.RequestRecord;
import dev.warmpath.router.dispatch.DispatchEvent.Chosen;
import dev.warmpath.router.dispatch.DispatchFailure.NoWorker;
import dev.warmpath.router.dispatch.DispatchFailure.Refused;
import dev.warmpath.router.dispatch.DispatchFailure.WorkerLost;
import dev.warmpath.router.fleet.Fleet;
import dev.warmpath.router.fleet.FleetWorker;
import dev.warmpath.router.handshake.StrangerException;
import dev.warmpath.router.metrics.RouterMeter;
import dev.warmpath.router.metrics.RouterMetrics;
import dev.warmpath.router.routing.InFlightRequest;
import dev.warmpath.router.routing.RouteDecision;
import dev.warmpath.router.routing.RouteResult;
import dev.warmpath.router.routing.RouteResult.Placed;
import dev.warmpath.router.routing.RouteResult.Unplaced;
import dev.warmpath.router.routing.ShadowChoice;
import dev.warmpath.router.tracing.AttemptTrace;
import dev.warmpath.router.tracing.RequestTrace;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Function;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Subscription;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.stereotype.Component;
import reactor.core.CoreSubscriber;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Operators;
import reactor.util.context.Context;

/**
 * Sends a request to a worker, and to another one as long as nothing of its answer was shown: until then a client cannot
 * tell. After that a failure ends the stream, since another worker's continuation could not be told from a repetition.
 *
 * <p>Every attempt's end is told to the worker's health, see {@link AttemptWatch}; a failure without a token counts
 * against the worker if another one could answer, of whichever revision, or no other one was asked.
 *
 * <p>Further tries have a budget, see {@link RetryBudget}; where it is used up, the first failure is the answer.
 *
 * <p>A booking at a worker lives exactly as long as the attempt there, whichever way that ends.
 */
@Component
public final class Dispatcher {

    private static final Logger log = LoggerFactory.getLogger(Dispatcher.class);

    private final WorkerClient client;
    private final Fleet fleet;
    private final DecisionLog decisions;
    private final RouterMetrics metrics;
    private final DispatchProperties properties;
    private final RetryBudget retries;
    private final LongSupplier nanoTime;

    @Autowired
    Dispatcher(WorkerClient client, Fleet fleet, DecisionLog decisions, RouterMetrics metrics,
            DispatchProperties properties) {
        this(client, fleet, decisions, metrics, properties, System::nanoTime);
    }

    /** @param nanoTime the fleet's monotonic clock: retries are counted by it, and health is told by it */
    Dispatcher(WorkerClient client, Fleet fleet, DecisionLog decisions, RouterMetrics metrics,
            DispatchProperties properties, LongSupplier nanoTime) {
        this.client = client;
        this.fleet = fleet;
        this.decisions = decisions;
        this.metrics = metrics;
        this.properties = properties;
        this.retries = new RetryBudget(properties.retryShare(), properties.leastRetries());
        this.nanoTime = nanoTime;
        metrics.watch(RouterMeter.RETRY_BUDGET, () -> retries.left(nanoTime.getAsLong()));
        for (String cause : DispatchFailure.CAUSES) {
            metrics.expect(RouterMeter.DISPATCH_FAILURES, "cause", cause);
            metrics.expect(RouterMeter.DISPATCH_RETRIES, "cause", cause);
            metrics.expect(RouterMeter.DISPATCH_RETRIES_REFUSED, "cause", cause);
        }
    }

    /** What the reader of an answer has made of it so far. Asked on the threads that bring the events. */
    public interface Reader {

        /** True once a client may have seen something of the answer: from then on it cannot be begun anew. */
        boolean hasShown();

        /** True once it needs no more tokens: the worker is to end, and its last words are waited for. */
        boolean hasEnough();
    }

    /**
     * A client's request begins; to be closed when it has ended, in whatever way.
     *
     * @param record is told its tries
     * @param trace  likewise
     */
    public Tries begin(RequestRecord record, RequestTrace trace) {
        return new Tries(record, trace);
    }

    /**
     * All that is tried for one client's request, at workers of one revision after the other. Its signals come one at a
     * time.
     */
    public final class Tries implements AutoCloseable {

        private final RequestRecord record;
        private final RequestTrace trace;
        private final List<AttemptWatch> watches = new CopyOnWriteArrayList<>();
        private boolean begun;
        /** So many of them, the first ones, need no decision any more. */
        private int decided;
        private volatile boolean closed;

        private Tries(RequestRecord record, RequestTrace trace) {
            this.record = record;
            this.trace = trace;
        }

        /**
         * @param request its epoch is filled in per worker
         * @param route   where to go, given the ids of workers that failed this request already
         * @param reader  of the returned events, which has to take each of them in before it asks for the next
         * @param hasElsewhere whether the caller knows another revision to ask when all workers of this one have failed
         * @return events as told by {@link DispatchEvent}; fails with {@link DispatchException}. Cancelling it makes the
         *         worker stop. Without {@code Finished} only if the reader has enough and the worker does not tell
         */
        public Flux<DispatchEvent> dispatch(GenerateRequest request, Function<Set<String>, RouteResult> route,
                Reader reader, boolean hasElsewhere) {
            return Flux.from(events -> {
                if (!begun) {
                    begun = true;
                    retries.request(nanoTime.getAsLong());
                }
                new Attempts(this, request, route, reader, hasElsewhere, Operators.toCoreSubscriber(events)).start();
            });
        }

        /** Somebody could do it, so those who failed it before are to blame. */
        private void see(DispatchEvent event) {
            boolean shows = event instanceof DispatchEvent.Tokens || event instanceof DispatchEvent.Finished;
            if (shows && decided < watches.size()) {
                decided = watches.size();
                watches.forEach(each -> each.decide(/* workersFault */ true));
            }
        }

        private void add(AttemptWatch watch) {
            watches.add(watch);
            if (closed) {                                          // its client has just left: it tells nothing
                watch.decide(/* workersFault */ false);
            }
        }

        /** A request that several workers failed, and nobody answered, may have broken them: none is to blame. */
        @Override
        public void close() {
            closed = true;
            boolean onlyOne = watches.stream().filter(AttemptWatch::isSuspected).count() == 1;
            watches.forEach(each -> each.decide(onlyOne));
        }
    }

    /** Takes one more try of a request from what this router may spend on them; false if that is used up. */
    public boolean takeRetry(DispatchFailure failure) {
        boolean taken = retries.take(nanoTime.getAsLong());
        if (!taken) {
            metrics.retryRefused(failure.cause());
        }
        return taken;
    }

    /**
     * The workers of one revision that a request is sent to, one after the other, and what comes from them as one
     * stream. One operator where several would do, since every token passes it. Signals come one at a time, but for what
     * its reader asks for and its leaving.
     */
    private final class Attempts implements Subscription {

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

        Attempts(Tries tries, GenerateRequest request, Function<Set<String>, RouteResult> route, Reader reader,
                boolean hasElsewhere, CoreSubscriber<? super DispatchEvent> events) {
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
                    case Unplaced _ -> events.onError(before);
                    case Placed placed -> attemptAt(placed);
                }
            } catch (RuntimeException e) {                         // a fault of this router
                events.onError(e);
            }
        }

        private void attemptAt(Placed placed) {
            triedWorkerIds.add(placed.worker().id());
            metrics.routed(placed.decision().reason().text());
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
            var watch = new AttemptWatch(placed, record(placed), trace, nanoTime);
            var attempt = new Attempt(this, placed, watch, deadline(placed), trace.headers());
            tries.add(watch);
            watch.begin();
            return attempt;
        }

        private void countShadow(RouteDecision.Routed decision) {
            ShadowChoice shadow = decision.shadow();
            if (shadow != null) {
                metrics.shadowed(decision.policy().text(), shadow.policy().text(), shadow.isSame(),
                        shadow.liveTokens(), shadow.shadowTokens());
            }
        }

        private Decision record(Placed placed) {
            var subject = new Decision.Subject(request.requestId(), triedWorkerIds.size(),
                    placed.worker().model().name(), placed.worker().revision());
            return decisions.decide(tries.record, subject, placed.decision());
        }

        /** The last one that can be asked gets all the time there is: a late answer is better than none. */
        private Duration deadline(Placed placed) {
            boolean lastHere = triedWorkerIds.size() >= properties.maxAttempts()
                    || placed.decision().snapshot().candidateCount() == 1;
            return lastHere && !hasElsewhere ? properties.firstTokenTimeout() : FirstTokenDeadline.of(
                    placed.decision().predictedFirstTokenNanos(), properties.leastFirstTokenTimeout(),
                    properties.firstTokenTimeout());
        }

        private void afterFailure(DispatchException failed) {
            metrics.attemptFailed(failed.failure().cause());
            boolean mayGoOn = !reader.hasShown() && failed.failure().isRetryable();
            if (!mayGoOn || triedWorkerIds.size() >= properties.maxAttempts() || !takeRetry(failed.failure())) {
                events.onError(failed);
                return;
            }
            tries.trace.within(() -> log.info("Request {} goes on to another worker: {}", request.requestId(),
                    failed.failure()));
            metrics.retried(failed.failure().cause());
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
    }

    /** One worker's try at one request. */
    private final class Attempt implements CoreSubscriber<GenerateEvent> {

        private final Attempts attempts;
        private final CoreSubscriber<? super DispatchEvent> events;
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
        Attempt(Attempts attempts, Placed placed, AttemptWatch watch, Duration firstToken,
                Map<String, String> traceHeaders) {
            this.attempts = attempts;
            this.events = attempts.events;
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
            synchronized (attempts) {
                if (announced || attempts.wanted == 0 && !attempts.left) {
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
                    client.generate(worker, attempts.request, traceHeaders, firstToken, attempts.reader::hasEnough)
                            .subscribe(this);
                }
            } catch (RuntimeException e) {                         // a fault of this router
                fail(e);
            }
        }

        private boolean isLeft() {
            synchronized (attempts) {
                return attempts.left;
            }
        }

        @Override
        public void onSubscribe(Subscription subscription) {
            long wanted;
            synchronized (attempts) {
                upstream = subscription;
                wanted = attempts.wantedBeside(delivered);
            }
            if (isLeft()) {
                leave();
            } else if (wanted > 0) {
                subscription.request(wanted);
            }
        }

        void leave() {
            Subscription left;
            synchronized (attempts) {
                left = upstream;
            }
            watch.left();
            if (left != null) {
                left.cancel();
            }
            placed.inFlight().close();
        }

        @Override
        public void onNext(GenerateEvent event) {
            switch (event) {
                case GenerateEvent.Tokens tokens -> {
                    fleet.heardFrom(worker);
                    if (!hasToken) {
                        hasToken = true;
                        placed.inFlight().firstToken();
                    }
                    emit(new DispatchEvent.Tokens(tokens.index(), tokens.ids()));
                }
                case GenerateEvent.Finished finished ->
                        emit(new DispatchEvent.Finished(finished.reason(), finished.usage()));
                case GenerateEvent.Failed failed ->
                        fail(new DispatchException(new Refused(worker.id(), failed.reason(), failed.message())));
            }
        }

        private void emit(DispatchEvent event) {
            delivered++;
            watch.see(event);
            attempts.tries.see(event);
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
            if (attempts.reader.hasEnough()) {
                onComplete();                  // it has its answer; what is missing is what the worker had to say about it
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
            synchronized (attempts) {
                attempts.wanted = attempts.wantedBeside(delivered);
                attempts.current = null;
                if (attempts.left) {
                    return;
                }
            }
            if (error instanceof DispatchException failed) {
                attempts.afterFailure(failed);
            } else {
                events.onError(error);
            }
        }

        private void reportLostConnection(Throwable error) {
            if (error instanceof DispatchException failed && failed.failure() instanceof WorkerLost
                    && failed.getCause() != null) {
                if (failed.getCause() instanceof StrangerException) {
                    fleet.remove(worker, "somebody else answers at its address: " + failed.getCause().getMessage());
                } else {
                    fleet.connectionLost(worker, failed.getCause());
                }
            }
        }
    }
}
