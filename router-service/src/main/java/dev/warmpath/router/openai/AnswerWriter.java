package dev.warmpath.router.openai;

import dev.warmpath.router.admission.AdmissionControl.Permit;
import dev.warmpath.router.completion.CompletionEvent;
import dev.warmpath.router.completion.CompletionFlow;
import dev.warmpath.router.completion.CompletionRequest.Answers;
import dev.warmpath.router.completion.ComputationPool;
import dev.warmpath.router.http.DecisionHeaders;
import dev.warmpath.router.http.KeyFilter;
import dev.warmpath.router.http.RequestIdFilter;
import dev.warmpath.router.http.ResponseWriter;
import dev.warmpath.router.http.SseEvents;
import java.time.InstantSource;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.springframework.stereotype.Component;
import org.springframework.web.server.ServerWebExchange;
import reactor.core.publisher.Mono;

/** Runs a completion and writes its answer in the words of an endpoint, whole or as server-sent events. */
@Component
final class AnswerWriter {

    /** As many may be without a word about their texts' memory, as one may. */
    private static final int MANY_ANSWERS = 4;
    private static final long BYTES_PER_CHAR = 2;

    private final CompletionFlow flow;
    private final ComputationPool computations;
    private final DecisionHeaders decisionHeaders;
    private final ResponseWriter responses;
    private final InstantSource time;

    AnswerWriter(
            CompletionFlow flow, ComputationPool computations, DecisionHeaders decisionHeaders, ResponseWriter responses,
            InstantSource answerTime) {
        this.flow = flow;
        this.computations = computations;
        this.decisionHeaders = decisionHeaders;
        this.responses = responses;
        this.time = answerTime;
    }

    Mono<Void> writeWhole(
            ServerWebExchange exchange, GenerationRequest request, Permit permit, AnswerFormat format) {
        return flow.complete(request.completions(), permit, KeyFilter.callerOf(exchange))
                .doOnNext(decisionHeaders.of(exchange))
                .doOnNext(event -> hold(event, request, permit))
                .collect(() -> new WholeAnswer(request.completions().size(), request.drawnChoices(), request.choices()),
                        WholeAnswer::add)
                .flatMap(answer -> {
                    Supplier<AnswerBody> body = () -> answer.body(format, headOf(request, format));
                    return answer.isLarge() ? computations.run(permit, body) : Mono.fromSupplier(body);
                })
                .flatMap(body -> responses.writeInAnyCase(exchange, permit, body));
    }

    /**
     * What is told of drawn tokens takes many times the memory of their text, until the answer is written, and of many
     * answers even that is much.
     */
    private static void hold(CompletionEvent event, GenerationRequest request, Permit permit) {
        Answers answers = request.completions().getFirst().answers();
        boolean areMany = request.drawnChoices() * request.completions().size() > MANY_ANSWERS;
        long bytes = switch (event) {
            case CompletionEvent.Text text -> answers.scoreBytes(text.told().scores().size())
                    + (areMany ? BYTES_PER_CHAR * text.text().length() : 0);
            case CompletionEvent.Parts parts -> answers.scoreBytes(parts.told().scores().size());
            case CompletionEvent.Finished finished -> answers.scoreBytes(finished.told().scores().size());
            case CompletionEvent.Routed _, CompletionEvent.Prompt _ -> 0;
        };
        if (bytes > 0) {
            permit.holdMore(bytes);
        }
    }

    Mono<Void> writeStream(ServerWebExchange exchange, GenerationRequest request, Permit permit, AnswerFormat format) {
        SseEvents events = responses.newEvents(exchange);
        var answer = new SseAnswer(events, format, headOf(request, format), request.usage(),
                request.completions().size(), request.choices());
        Consumer<CompletionEvent> headers = decisionHeaders.of(exchange);
        // little of a stream is ever on its way, and where its reader has stopped that may last: so the permit goes early
        return responses.writeEvents(exchange,
                flow.complete(request.completions(), permit, KeyFilter.callerOf(exchange)), events,
                headers.andThen(answer::accept), permit::close);
    }

    private AnswerFormat.HeadOf headOf(GenerationRequest request, AnswerFormat format) {
        String id = format.idPrefix() + RequestIdFilter.newId();
        long created = time.instant().getEpochSecond();
        String model = request.completions().getFirst().model();
        return revision -> new AnswerFormat.Head(id, created, model, revision);
    }
}
