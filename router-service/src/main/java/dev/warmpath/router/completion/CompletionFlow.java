package dev.warmpath.router.completion;

import dev.warmpath.process.tracing.ServerSpans;
import dev.warmpath.protocol.generate.GenerateRequest;
import dev.warmpath.router.admission.AdmissionControl.Permit;
import dev.warmpath.router.admission.WaitingRoom;
import dev.warmpath.router.admission.WaitingRoom.Place;
import dev.warmpath.router.completion.BadRequestException.Fault;
import dev.warmpath.router.decisions.DecisionLog;
import dev.warmpath.router.decisions.RequestRecord;
import dev.warmpath.router.dispatch.DispatchException;
import dev.warmpath.router.dispatch.DispatchFailure.NoWorker;
import dev.warmpath.router.dispatch.Dispatcher;
import dev.warmpath.router.dispatch.Dispatcher.Tries;
import dev.warmpath.router.fleet.Fleet;
import dev.warmpath.router.keys.Caller;
import dev.warmpath.router.metrics.RouterMeter;
import dev.warmpath.router.metrics.RouterMetrics;
import dev.warmpath.router.metrics.RouterMetrics.Stage;
import dev.warmpath.router.models.ServedModel;
import dev.warmpath.router.routing.RecentChains;
import dev.warmpath.router.routing.RequestRouter;
import dev.warmpath.router.routing.RouteResult;
import dev.warmpath.router.routing.TokenizedPrompt;
import dev.warmpath.router.tracing.RequestTrace;
import dev.warmpath.router.tracing.RequestTraces;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.springframework.stereotype.Component;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/**
 * The router's spine: the way of a request from words to words, in this order.
 * <pre>
 *   tokenize → hash chain → wait for a turn → match + route → dispatch → answer
 *    int[]     block keys     or be refused    worker, why     token ids   text
 * </pre>
 * The request comes with the permit that it was given before its body was read. Everything before dispatch runs on the
 * client's event loop if the prompt is short, on the tokenizer's threads if it is not, or for one that has waited on the
 * thread that gave it its turn; everything after it on the client's event loop, where the worker's bytes arrive, too.
 * Nothing is sent to a worker before the request is known to be one that it can answer.
 *
 * <p>Ends. Whoever subscribes may cancel at any time: the worker's connection is closed, and its booking is given back.
 * The same happens, once, when the answer ends or fails. The permit is given back by whoever took it, when the answer
 * has been written; a computation that cannot be stopped keeps a share of it until it has ended.
 */
@Component
public final class CompletionFlow {

    /** Of a model, that one request is sent to, the first included. */
    private static final int MAX_REVISIONS = 3;
    /** Of one client's request. */
    private static final int PROMPTS_AT_ONCE = 8;
    /** In an error. */
    private static final int MAX_NAMED_MODELS = 16;

    private final Fleet fleet;
    private final Dialects dialects;
    private final PromptTokenizer tokenizer;
    private final RecentChains chains;
    private final WaitingRoom waitingRoom;
    private final RequestRouter router;
    private final Dispatcher dispatcher;
    private final RouterDrain drain;
    private final DecisionLog decisions;
    private final RouterMetrics metrics;
    private final RequestTraces traces;

    CompletionFlow(Fleet fleet, Dialects dialects, PromptTokenizer tokenizer, RecentChains chains, WaitingRoom waitingRoom,
            RequestRouter router, Dispatcher dispatcher, RouterDrain drain, DecisionLog decisions, RouterMetrics metrics,
            RequestTraces traces) {
        this.fleet = fleet;
        this.dialects = dialects;
        this.tokenizer = tokenizer;
        this.chains = chains;
        this.waitingRoom = waitingRoom;
        this.router = router;
        this.dispatcher = dispatcher;
        this.drain = drain;
        this.decisions = decisions;
        this.metrics = metrics;
        this.traces = traces;
        metrics.watch(RouterMeter.RECENT_CHAINS_BYTES, chains::bytes);
        metrics.follow(RouterMeter.CHAIN_BLOCKS, chains, RecentChains::continuedBlocks, "hash", "known");
        metrics.follow(RouterMeter.CHAIN_BLOCKS, chains, RecentChains::hashedBlocks, "hash", "computed");
    }

    /**
     * Runs a request.
     *
     * @param permit the request's, taken before its body was read; open until the answer has ended
     * @param caller whose tokens it takes
     * @return events as told by {@link CompletionEvent}. Fails with {@link BadRequestException},
     *         {@link dev.warmpath.router.keys.KeyException} or
     *         {@link dev.warmpath.router.admission.OverloadedException} before the first of them, with
     *         {@link DispatchException} at any time
     */
    public Flux<CompletionEvent> complete(CompletionRequest request, Permit permit, Caller caller) {
        return Flux.deferContextual(subscriber -> {
            RequestRecord.Asked asked = request.inNumbers(caller.name());
            RequestTrace trace = traces.begin(ServerSpans.observationOf(subscriber), asked);
            RequestRecord record = decisions.begin(asked, trace.sampledTraceId());
            var meter = new CompletionMeter(metrics, request, record, trace, permit.sinceNanos(), System::nanoTime);
            var journey = new Journey(request, permit, new Spending(caller), dispatcher.begin(record, trace), trace,
                    meter, new Turn());
            return meter.measure(UntilCut.of(Flux.defer(() -> answer(journey)), drain, journey::close));
        });
    }

    /**
     * Runs several that are one to their client: the choices of each have indexes behind those of the one before. A few
     * at a time, so that one client does not fill everybody's queue; if one fails, all do.
     *
     * @param requests for equal numbers of choices
     */
    public Flux<CompletionEvent> complete(List<CompletionRequest> requests, Permit permit, Caller caller) {
        if (requests.size() == 1) {
            return complete(requests.getFirst(), permit, caller);
        }
        int choices = requests.getFirst().answers().count();
        return Flux.range(0, requests.size()).flatMap(i -> complete(requests.get(i), permit, caller)
                .map(event -> event.behind(i * choices)), PROMPTS_AT_ONCE, /* prefetch */ 1);
    }

    /** One client's request on its way, whoever answers it. */
    private record Journey(CompletionRequest request, Permit permit, Spending spending, Tries tries,
            RequestTrace trace, CompletionMeter meter, Turn turn) {

        void close() {
            turn.isOver();
            tries.close();
            spending.settle();
        }
    }

    /** The place that a request has among those of its revision, from when its turn comes until it is over. */
    private static final class Turn {

        private @Nullable Place place;
        private boolean over;

        void takes(Place next) {
            @Nullable Place tooLate = next;
            synchronized (this) {
                if (!over) {
                    place = next;
                    tooLate = null;
                }
            }
            close(tooLate);
        }

        /** It is given back; another revision may be tried. */
        void leave() {
            @Nullable Place left;
            synchronized (this) {
                left = place;
                place = null;
            }
            close(left);
        }

        void isOver() {
            synchronized (this) {
                over = true;
            }
            leave();
        }

        /** Not under the lock: whoever gives a place back runs what the next one does first. */
        private static void close(@Nullable Place place) {
            if (place != null) {
                place.close();
            }
        }
    }

    private Flux<CompletionEvent> answer(Journey journey) {
        CompletionRequest request = journey.request();
        ServedModel model = servedModel(request.model(), request.prompt());
        journey.meter().isServed();
        return answer(journey, model, Set.of());
    }

    /** @param failed revisions that could not answer it before */
    private Flux<CompletionEvent> answer(Journey journey, ServedModel model, Set<String> failed) {
        waitingRoom.refuseIfHopeless(model);
        CompletionRequest request = journey.request();
        dialects.check(model, request);
        Set<String> tried = plus(failed, model.revision());
        return tokens(model, request, journey.permit(), journey.trace())
                .map(tokens -> journey.trace().stage(Stage.HASH, () -> chains.prompt(model, tokens,
                        request.prompt().beginning(), request.extraKeys())))
                .map(request::asAnswered)
                .doOnNext(prompt -> journey.meter().tokenized(prompt.length()))
                .flatMapMany(prompt -> dispatch(journey, prompt, tried));
    }

    /** Of the prompt, as far as they are to be answered. */
    private Mono<int[]> tokens(ServedModel model, CompletionRequest request, Permit permit, RequestTrace trace) {
        return tokenizer.tokenize(model, request.prompt(), request.logits().hasText(), request.mayBeCut(), permit, trace)
                .map(ids -> request.truncated(ids, model.description().contextLength()));
    }

    /**
     * What no worker of a revision could begin to answer, or what was tokenized for one that has just lost its last
     * worker, is tokenized once more for another one, if operators allow one.
     */
    private Flux<CompletionEvent> answerElsewhere(Journey journey, Set<String> failed, DispatchException failure) {
        boolean mayHelp = failure.failure() instanceof NoWorker || failure.failure().isRetryable();
        @Nullable ServedModel other = mayHelp ? otherThan(failed, journey.request()) : null;
        boolean wasTried = !(failure.failure() instanceof NoWorker) || failure.getCause() != null;
        if (other == null || wasTried && !dispatcher.takeRetry(failure.failure())) {
            return Flux.error(failure);
        }
        metrics.retried(failure.failure().cause());
        journey.turn().leave();
        return Flux.defer(() -> answer(journey, other, failed))
                .onErrorMap(BadRequestException.class, _ -> failure);      // it was good enough for the first
    }

    /** A revision that the request may be sent to when these have failed it, or null. */
    private @Nullable ServedModel otherThan(Set<String> failed, CompletionRequest request) {
        return failed.size() < MAX_REVISIONS
                ? fleet.model(request.model(), request.prompt().beginning(), failed) : null;
    }

    private static Set<String> plus(Set<String> some, String one) {
        Set<String> all = new HashSet<>(some);
        all.add(one);
        return all;
    }

    /** @param tried revisions that have failed it, and the prompt's own */
    private Flux<CompletionEvent> dispatch(Journey journey, TokenizedPrompt prompt, Set<String> tried) {
        CompletionRequest request = journey.request();
        GenerateRequest generate = request.toGenerate(prompt);
        if (tried.size() == 1) {                                   // once, however many revisions are tried
            journey.permit().holdMore(request.promptBytes(prompt.length()));
        }
        journey.spending().takePrompt(prompt.length());
        var answer = new AnswerEvents(prompt, request, dialects.of(prompt.model(), request));
        journey.spending().answeredBy(answer);
        journey.meter().inLine();
        return Mono.fromFuture(() -> waitingRoom.enter(prompt.model(),
                        () -> router.uncachedTokens(prompt)))
                .flatMapMany(place -> {
                    journey.turn().takes(place);
                    journey.meter().turn();
                    Flux<CompletionEvent> told = answer.of(journey.tries().dispatch(generate,
                            excluded -> route(journey, prompt, generate, excluded), answer,
                            /* hasElsewhere */ otherThan(tried, request) != null));
                    return request.stopStrings().isEmpty() ? told
                            : told.concatWith(Flux.defer(answer::endWithoutWorker));
                })
                .onErrorResume(DispatchException.class, e -> answer.hasShown() ? Flux.error(e)
                        : answerElsewhere(journey, tried, e));
    }

    private RouteResult route(Journey journey, TokenizedPrompt prompt, GenerateRequest generate,
            Set<String> excludedWorkerIds) {
        return journey.trace().stage(Stage.ROUTE,
                () -> router.route(prompt, excludedWorkerIds, generate.needs()));
    }

    /** What {@link #complete} would do with this request now, up to the choice of a worker. */
    public Mono<RouteExplanation> explain(CompletionRequest request, Permit permit) {
        return Mono.defer(() -> {
            ServedModel model = servedModel(request.model(), request.prompt());
            dialects.check(model, request);
            return tokens(model, request, permit, traces.notTraced())
                    .map(tokens -> explain(request, request.asAnswered(TokenizedPrompt.of(model, tokens,
                            request.prompt().beginning(), request.extraKeys()))));
        });
    }

    private RouteExplanation explain(CompletionRequest request, TokenizedPrompt prompt) {
        GenerateRequest generate = request.toGenerate(prompt);     // refuses what would be refused
        return new RouteExplanation(prompt, router.explain(prompt, generate.needs()));
    }

    /** Names those that are. */
    public static BadRequestException notServed(String name, Fleet fleet) {
        List<String> served = fleet.models().stream().map(ServedModel::name).distinct().sorted()
                .map(each -> "'" + BadRequestException.shown(each) + "'").toList();
        int more = Math.max(0, served.size() - MAX_NAMED_MODELS);
        String others = served.isEmpty() ? "" : "; served are "
                + String.join(", ", served.subList(0, served.size() - more)) + (more == 0 ? "" : " and " + more + " more");
        return new BadRequestException(Fault.MODEL_NOT_FOUND, "model",
                "the model '" + BadRequestException.shown(name) + "' is not served here" + others);
    }

    /**
     * The revision of a model that takes this prompt now.
     *
     * @throws BadRequestException if the fleet serves other models, and has had none of this name
     * @throws DispatchException   if it serves none at all, so that the name may well be right, if the last worker with
     *                             this one has gone, or if operators keep new requests from all that it has of it
     */
    public ServedModel servedModel(String name, Prompt prompt) {
        @Nullable ServedModel model = fleet.model(name, prompt.beginning(), Set.of());
        if (model != null) {
            return model;
        }
        if (fleet.models().isEmpty() || fleet.knows(name)) {
            throw new DispatchException(new NoWorker());
        }
        throw notServed(name, fleet);
    }
}
