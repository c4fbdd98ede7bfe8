package dev.warmpath.router.openai;

import dev.warmpath.router.admission.AdmissionControl.Permit;
import dev.warmpath.router.completion.CompletionFlow;
import dev.warmpath.router.completion.CompletionRequest;
import dev.warmpath.router.http.JsonBody;
import dev.warmpath.router.http.KeyFilter;
import dev.warmpath.router.http.RequestBodyReader;
import dev.warmpath.router.http.RequestIdFilter;
import dev.warmpath.router.http.ResponseWriter;
import java.util.random.RandomGenerator;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.server.ServerWebExchange;
import reactor.core.publisher.Mono;

/** What generates text, and the explanation of where that would happen. */
@RestController
final class CompletionsController {

    private final RequestBodyReader bodies;
    private final AnswerWriter answers;
    private final ResponseWriter responses;
    private final CompletionFlow flow;
    private final RandomGenerator seeds;

    CompletionsController(RequestBodyReader bodies, AnswerWriter answers, ResponseWriter responses,
            CompletionFlow flow, RandomGenerator seeds) {
        this.bodies = bodies;
        this.answers = answers;
        this.responses = responses;
        this.flow = flow;
        this.seeds = seeds;
    }

    @PostMapping("/v1/chat/completions")
    Mono<Void> chat(ServerWebExchange exchange) {
        return bodies.read(exchange, body -> chat(body, exchange),
                (request, permit) -> answer(exchange, request, permit, new ChatFormat(request.shown())));
    }

    @PostMapping("/v1/completions")
    Mono<Void> text(ServerWebExchange exchange) {
        return bodies.read(exchange, body -> text(body, exchange),
                (request, permit) -> answer(exchange, request, permit, new TextFormat(request.shown())));
    }

    /** Takes the body of either of the others; messages make it a chat. It tells what anybody's prompts have cached. */
    @PostMapping("/v1/route")
    Mono<Void> route(ServerWebExchange exchange) {
        KeyFilter.callerOf(exchange).refuseUnlessOperator("this path");
        return bodies.read(exchange,
                body -> body.has(OpenAiFields.MESSAGES) ? chat(body, exchange) : text(body, exchange),
                (request, permit) -> flow.explain(request.onlyPrompt(), permit)
                        .flatMap(explanation -> responses.write(exchange, permit, RouteAnswer.of(explanation))));
    }

    private GenerationRequest chat(JsonBody body, ServerWebExchange exchange) {
        return ChatRequest.read(body.read(OpenAiFields.CHAT), RequestIdFilter.requestId(exchange), seeds);
    }

    private GenerationRequest text(JsonBody body, ServerWebExchange exchange) {
        return TextRequest.read(body.read(OpenAiFields.TEXT), RequestIdFilter.requestId(exchange), seeds);
    }

    private Mono<Void> answer(
            ServerWebExchange exchange, GenerationRequest request, Permit permit, AnswerFormat format) {
        CompletionRequest first = request.completions().getFirst();
        if (first.priority() < 0) {
            KeyFilter.callerOf(exchange).refuseUnlessOperator("'priority' below 0");
        }
        return first.streamed() ? answers.writeStream(exchange, request, permit, format)
                : answers.writeWhole(exchange, request, permit, format);
    }
}
