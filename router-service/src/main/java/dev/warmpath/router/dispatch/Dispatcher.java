package dev.warmpath.router.dispatch;

import dev.warmpath.protocol.generate.GenerateRequest;
import dev.warmpath.router.decisions.DecisionLog;
import dev.warmpath.router.decisions.RequestRecord;
import dev.warmpath.router.fleet.Fleet;
import dev.warmpath.router.metrics.RouterMeter;
import dev.warmpath.router.metrics.RouterMetrics;
import dev.warmpath.router.routing.RouteResult;
import dev.warmpath.router.tracing.RequestTrace;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Function;
import java.util.function.LongSupplier;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.stereotype.Component;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Operators;

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

    final WorkerClient client;
    final Fleet fleet;
    final DecisionLog decisions;
    final RouterMetrics metrics;
    final DispatchProperties properties;
    private final RetryBudget retries;
    final LongSupplier nanoTime;

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

        /** True once it needs no more tokens at all: the worker is to end, and its last words are waited for. */
        boolean hasEnough();

        /** True once it needs no more of this choice, from 0. */
        boolean hasEnough(int choice);
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

        final RequestRecord record;
        final RequestTrace trace;
        final List<AttemptWatch> watches = new CopyOnWriteArrayList<>();
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
                new Attempts(Dispatcher.this, this, request, route, reader, hasElsewhere,
                        Operators.toCoreSubscriber(events)).start();
            });
        }

        /** Somebody could do it, so those who failed it before are to blame. */
        void see(DispatchEvent event) {
            boolean shows = event instanceof DispatchEvent.Tokens || event instanceof DispatchEvent.Finished;
            if (shows && decided < watches.size()) {
                decided = watches.size();
                watches.forEach(each -> each.decide(/* workersFault */ true));
            }
        }

        void add(AttemptWatch watch) {
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
}
