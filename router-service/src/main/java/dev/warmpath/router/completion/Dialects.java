package dev.warmpath.router.completion;

import com.github.benmanes.caffeine.cache.Caffeine;
import com.github.benmanes.caffeine.cache.LoadingCache;
import dev.warmpath.router.answer.dialect.Dialect;
import dev.warmpath.router.completion.BadRequestException.Fault;
import dev.warmpath.router.models.ServedModel;
import dev.warmpath.tokenization.ModelTokenizer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.stereotype.Component;

/** How each model writes what is not text: as a setting says, else as its chat template shows. */
@Component
final class Dialects {

    private static final Logger log = LoggerFactory.getLogger(Dialects.class);

    private final AnswerProperties settings;
    /** Templates are long; each is looked through once. */
    private final LoadingCache<ModelTokenizer, Dialect> ofTemplates = Caffeine.newBuilder().weakKeys()
            .build(tokenizer -> Dialect.of(tokenizer.chatTemplate()));

    Dialects(AnswerProperties settings) {
        this.settings = settings;
        settings.toolParsers().forEach((model, format) ->
                log.info("calls of tools by model {} are read as {}", model, format));
        settings.reasoningParsers().forEach((model, format) ->
                log.info("reasoning of model {} is read as {}", model, format));
    }

    /** How answers to this request are read. */
    Dialect of(ServedModel model, CompletionRequest request) {
        if (!(request.prompt() instanceof Prompt.Chat)) {
            return Dialect.PLAIN;
        }
        Dialect shown = ofTemplates.get(model.tokenizer());
        return new Dialect(settings.toolParsers().getOrDefault(model.name(), shown.tools()),
                settings.reasoningParsers().getOrDefault(model.name(), shown.reasoning()));
    }

    /** @throws BadRequestException if the request has tools and nobody knows how the model calls them */
    void check(ServedModel model, CompletionRequest request) {
        if (request.tools().mayCall() && !of(model, request).canCall()) {
            throw new BadRequestException(Fault.UNSUPPORTED_PARAMETER, "tools", "'tools' is not supported by the model '"
                    + model.name() + "': its chat template shows no known way to call them (an operator may name one in "
                    + "warmpath.answers.tool-parsers)");
        }
    }
}
