package dev.warmpath.router.openai;

import com.fasterxml.jackson.annotation.JsonProperty;
import dev.warmpath.router.completion.CompletionFlow;
import dev.warmpath.router.completion.Prompt;
import dev.warmpath.router.completion.PromptTokenizer;
import dev.warmpath.router.fields.FieldReader;
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

    /** Takes a prompt, or the messages of a chat: the ids that a completion would begin with. */
    @PostMapping("/tokenize")
    Mono<Void> tokenize(ServerWebExchange exchange) {
        return bodies.read(exchange, (json, permit) -> {
            boolean isChat = json.hasNonNull("messages");
            FieldReader body = FieldReader.ofBody(
                    json, isChat ? OpenAiFields.TOKENIZE_CHAT : OpenAiFields.TOKENIZE_TEXT);
            String model = body.requiredText(OpenAiFields.MODEL);
            Prompt prompt = isChat
                    ? ChatRequest.readPrompt(body)
                    : TextRequest.readPrompt(body, body.flag(OpenAiFields.ADD_SPECIAL_TOKENS));
            body.refuseOthers();
            ServedModel served = flow.servedModel(model, prompt);
            return tokenizer.tokenize(served, prompt, permit)
                    .map(ids -> new Tokenized(ids.length, served.description().contextLength(), ids))
                    .flatMap(answer -> responses.write(exchange, permit, answer));
        });
    }

    /** Takes as many ids as the model's context has. */
    @PostMapping("/detokenize")
    Mono<Void> detokenize(ServerWebExchange exchange) {
        return bodies.read(exchange, (json, permit) -> {
            FieldReader body = FieldReader.ofBody(json, OpenAiFields.DETOKENIZE);
            String model = body.requiredText(OpenAiFields.MODEL);
            int[] ids = body.ids(OpenAiFields.TOKENS);
            body.refuseOthers();
            ServedModel served = flow.servedModel(model, new Prompt.Tokens(ids));
            return tokenizer.detokenize(served, ids, permit)
                    .flatMap(text -> responses.write(exchange, permit, new Detokenized(text)));
        });
    }
}
