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
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.stereotype.Component;
import reactor.core.publisher.Flux;
import reactor.core.publisher.SynchronousSink;

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
            return Flux.defer(() -> {
                if (!begun) {
                    begun = true;
                    retries.request(nanoTime.getAsLong());
                }
                return new Attempts(this, request, route, reader, hasElsewhere)
                        .next(new DispatchException(new NoWorker()));
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

    /** The workers of one revision that a request is sent to, one after the other. */
    private final class Attempts {

        private final Tries tries;
        private final GenerateRequest request;
        private final Function<Set<String>, RouteResult> route;
        private final Reader reader;
        private final boolean hasElsewhere;
        private final Set<String> triedWorkerIds = new HashSet<>();

        Attempts(Tries tries, GenerateRequest request, Function<Set<String>, RouteResult> route, Reader reader,
                boolean hasElsewhere) {
            this.tries = tries;
            this.request = request;
            this.route = route;
            this.reader = reader;
            this.hasElsewhere = hasElsewhere;
        }

        /** @param before what to say if nobody is left to ask */
        Flux<DispatchEvent> next(DispatchException before) {
            return switch (route.apply(triedWorkerIds)) {
                case Unplaced _ -> Flux.error(before);
                case Placed placed -> at(placed);
            };
        }

        private Flux<DispatchEvent> at(Placed placed) {
            triedWorkerIds.add(placed.worker().id());
            metrics.routed(placed.decision().reason().text());
            countShadow(placed.decision());
            AttemptTrace trace = tries.trace.attempt(tries.watches.size() + 1, placed.worker().id(),
                    placed.decision().reason().text(), placed.decision().cachedTokens());
            var attempt = new Attempt(placed, request, reader, deadline(placed), trace.headers());
            var watch = new AttemptWatch(placed, record(placed), trace, nanoTime);
            tries.add(watch);
            return Flux.using(placed::inFlight, _ -> watch.over(attempt.events()), InFlightRequest::close)
                    .doOnNext(tries::see)
                    .onErrorResume(DispatchException.class, this::afterFailure);
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

        private Flux<DispatchEvent> afterFailure(DispatchException failed) {
            metrics.attemptFailed(failed.failure().cause());
            boolean mayGoOn = !reader.hasShown() && failed.failure().isRetryable();
            if (!mayGoOn || triedWorkerIds.size() >= properties.maxAttempts()) {
                return Flux.error(failed);
            }
            if (!takeRetry(failed.failure())) {
                return Flux.error(failed);
            }
            tries.trace.within(() -> log.info("Request {} goes on to another worker: {}", request.requestId(),
                    failed.failure()));
            metrics.retried(failed.failure().cause());
            boolean lost = failed.failure() instanceof WorkerLost;
            return next(lost ? new DispatchException(new NoWorker(), failed) : failed);
        }
    }

    /** One worker's try at one request. Its signals come one at a time, so that they need no lock. */
    private final class Attempt {

        private final Placed placed;
        private final FleetWorker worker;
        private final GenerateRequest request;
        private final Reader reader;
        private final Duration firstToken;
        private final Map<String, String> traceHeaders;
        private boolean hasToken;

        /** @param firstToken longest wait for it */
        Attempt(Placed placed, GenerateRequest request, Reader reader, Duration firstToken,
                Map<String, String> traceHeaders) {
            this.placed = placed;
            this.worker = placed.worker();
            this.request = request;
            this.reader = reader;
            this.firstToken = firstToken;
            this.traceHeaders = traceHeaders;
        }

        Flux<DispatchEvent> events() {
            return client.generate(worker, request, traceHeaders, firstToken, reader::hasEnough)
                    .<DispatchEvent>handle(this::translate)
                    .doOnError(this::reportLostConnection)
                    // it has its answer; what is missing is only what the worker had to say about it
                    .onErrorResume(e -> reader.hasEnough() ? Flux.empty() : Flux.error(e))
                    .startWith(new Chosen(placed.decision()));
        }

        private void translate(GenerateEvent event, SynchronousSink<DispatchEvent> sink) {
            switch (event) {
                case GenerateEvent.Tokens tokens -> {
                    fleet.heardFrom(worker);
                    if (!hasToken) {
                        hasToken = true;
                        placed.inFlight().firstToken();
                    }
                    sink.next(new DispatchEvent.Tokens(tokens.index(), tokens.ids()));
                }
                case GenerateEvent.Finished finished ->
                        sink.next(new DispatchEvent.Finished(finished.reason(), finished.usage()));
                case GenerateEvent.Failed failed ->
                        sink.error(new DispatchException(new Refused(worker.id(), failed.reason(), failed.message())));
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
