package dev.warmpath.router.openai;

import com.fasterxml.jackson.annotation.JsonProperty;
import dev.warmpath.router.completion.CompletionFlow;
import dev.warmpath.router.completion.Prompt;
import dev.warmpath.router.completion.PromptTokenizer;
import dev.warmpath.router.fields.FieldValues;
import dev.warmpath.router.http.JsonBody;
import dev.warmpath.router.http.RequestBodyReader;
import dev.warmpath.router.http.ResponseWriter;
import dev.warmpath.router.models.ServedModel;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.server.ServerWebExchange;
import reactor.core.publisher.Mono;

/** Text to token ids and back, in the shape of vLLM's endpoints. */
@RestController
final class TokensController {

    private final RequestBodyReader bodies;
    private final CompletionFlow flow;
    private final PromptTokenizer tokenizer;
    private final ResponseWriter responses;

    TokensController(
            RequestBodyReader bodies, CompletionFlow flow, PromptTokenizer tokenizer, ResponseWriter responses) {
        this.bodies = bodies;
        this.flow = flow;
        this.tokenizer = tokenizer;
        this.responses = responses;
    }

    record Tokenized(int count, @JsonProperty("max_model_len") int maxModelLen, int[] tokens) {}

    record Detokenized(String prompt) {}

    private record ToTokenize(String model, Prompt prompt) {}

    private record ToDetokenize(String model, int[] ids) {}

    /** Takes a prompt, or the messages of a chat: the ids that a completion would begin with. */
    @PostMapping("/tokenize")
    Mono<Void> tokenize(ServerWebExchange exchange) {
        return bodies.read(exchange, TokensController::toTokenize, (request, permit) -> {
            ServedModel served = flow.servedModel(request.model(), request.prompt());
            return tokenizer.tokenize(served, request.prompt(), permit)
                    .map(ids -> new Tokenized(ids.length, served.description().contextLength(), ids))
                    .flatMap(answer -> responses.write(exchange, permit, answer));
        });
    }

    private static ToTokenize toTokenize(JsonBody body) {
        boolean isChat = body.has(OpenAiFields.MESSAGES);
        FieldValues fields = body.read(isChat ? OpenAiFields.TOKENIZE_CHAT : OpenAiFields.TOKENIZE_TEXT);
        return new ToTokenize(fields.requiredText(OpenAiFields.MODEL), isChat
                ? ChatRequest.readPrompt(fields)
                : TextRequest.readPrompt(fields, fields.flag(OpenAiFields.ADD_SPECIAL_TOKENS)));
    }

    /** Takes as many ids as the model's context has. */
    @PostMapping("/detokenize")
    Mono<Void> detokenize(ServerWebExchange exchange) {
        return bodies.read(exchange, TokensController::toDetokenize, (request, permit) -> {
            ServedModel served = flow.servedModel(request.model(),
                    new Prompt.Tokens(OpenAiFields.TOKENS.name(), request.ids()));
            return tokenizer.detokenize(served, request.ids(), permit)
                    .flatMap(text -> responses.write(exchange, permit, new Detokenized(text)));
        });
    }

    private static ToDetokenize toDetokenize(JsonBody body) {
        FieldValues fields = body.read(OpenAiFields.DETOKENIZE);
        return new ToDetokenize(fields.requiredText(OpenAiFields.MODEL), fields.ids(OpenAiFields.TOKENS));
    }
}
