package dev.warmpath.router.completion;

import dev.warmpath.protocol.generate.FinishReason;
import dev.warmpath.protocol.generate.GenerateEvent.Scores;
import dev.warmpath.protocol.generate.GenerateEvent.Usage;
import dev.warmpath.router.answer.ChoiceText;
import dev.warmpath.router.answer.TokenDetails;
import dev.warmpath.router.answer.TokenDetails.Told;
import dev.warmpath.router.answer.TokenScore;
import dev.warmpath.router.answer.dialect.AnswerParser;
import dev.warmpath.router.answer.dialect.AnswerPart;
import dev.warmpath.router.answer.dialect.Dialect;
import dev.warmpath.router.completion.CompletionEvent.Finished;
import dev.warmpath.router.completion.CompletionEvent.Parts;
import dev.warmpath.router.completion.CompletionEvent.Text;
import dev.warmpath.router.dispatch.DispatchEvent;
import dev.warmpath.router.routing.TokenizedPrompt;
import dev.warmpath.tokenization.ModelTokenizer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/** One choice of an answer, as one worker draws it, from its tokens to its events. */
final class ChoiceEvents {

    private final int index;
    private final TokenizedPrompt prompt;
    private final CompletionRequest request;
    private final ChoiceText text;
    /** Null: all of it is text. */
    private final @Nullable AnswerParser parser;
    /** Null: nothing is told of its tokens but their text. */
    private final @Nullable TokenDetails details;
    /** The prompt, while it has to be told as the beginning of this choice; null: it has been, or need not be. */
    private @Nullable PromptEcho echo;
    /** Where its own text begins behind that. */
    private final int ownStart;
    private boolean finished;

    /** @param echo what it begins with; null: nothing */
    ChoiceEvents(int index, TokenizedPrompt prompt, CompletionRequest request, Dialect dialect, @Nullable PromptEcho echo) {
        this.index = index;
        this.echo = echo;
        this.ownStart = echo == null ? 0 : echo.length();
        this.prompt = prompt;
        this.request = request;
        boolean mayCall = request.tools().mayCall();
        boolean isParsed = dialect.hasParts(mayCall);
        ModelTokenizer tokenizer = prompt.model().tokenizer();
        IntStream ownEos = request.ignoreEos() ? IntStream.empty()
                : tokenizer.eosIds().stream().mapToInt(Integer::intValue);
        this.text = new ChoiceText(tokenizer, request.stopStrings(), request.includeStop(),
                IntStream.concat(Arrays.stream(request.stopTokenIds()), ownEos),
                isParsed ? dialect.marks(mayCall) : List.of(),
                /* continues */ !(request.prompt() instanceof Prompt.Chat));
        this.parser = isParsed ? newParser(prompt, request, dialect) : null;
        this.details = request.answers().tellsTokens() ? new TokenDetails() : null;
    }

    private static AnswerParser newParser(TokenizedPrompt prompt, CompletionRequest request, Dialect dialect) {
        int[] ids = prompt.tokens();
        int[] end = Arrays.copyOfRange(ids, Math.max(0, ids.length - Dialect.PROMPT_END), ids.length);
        String promptEnd = prompt.model().tokenizer().decode(end, /* skipSpecialTokens */ false);
        return dialect.newParser(request.tools().names(), request.tools().maxCalls(), promptEnd,
                ThreadLocalRandom.current());
    }

    /** True once a stop string has come: the choice is over, whatever the worker still draws. */
    boolean isStopped() {
        return text.isStopped();
    }

    boolean isFinished() {
        return finished;
    }

    boolean isComplete() {
        return finished || text.isStopped();
    }

    int tokenCount() {
        return request.answers().empty() ? 0 : text.tokenCount();
    }

    /** @return null: nothing that can be shown yet */
    @Nullable CompletionEvent read(DispatchEvent.Tokens tokens) {
        if (request.answers().empty()) {
            return null;
        }
        String more = details == null ? text.accept(tokens.ids()) : accept(tokens, details);
        if (more.isEmpty()) {
            return null;
        }
        if (parser != null) {
            List<AnswerPart> parts = parser.accept(more);
            return parts.isEmpty() ? null : new Parts(index, parts, text.tokenCount(), take());
        }
        @Nullable PromptEcho before = echo;
        echo = null;
        return before == null ? new Text(index, more, text.tokenCount(), take())
                : new Text(index, before.text() + more, text.tokenCount(), take().after(before.told()));
    }

    private String accept(DispatchEvent.Tokens tokens, TokenDetails details) {
        var more = new StringBuilder();
        for (int i = 0; i < tokens.ids().length && !text.isStopped(); i++) {
            int id = tokens.ids()[i];
            int offset = text.readLength();
            more.append(text.accept(id));
            if (request.answers().tokenIds()) {
                details.add(id);
            }
            @Nullable Scores scores = tokens.scores();
            if (request.answers().logprobs() && scores != null) {
                details.add(TokenScore.of(id, prompt.model().tokenizer(), ownStart + offset, scores, i, /* rank */ 0));
            }
        }
        return more.toString();
    }

    private Told take() {
        return details == null ? Told.NOTHING : details.take();
    }

    Finished finish(DispatchEvent.Finished end) {
        int cached = end.usage().cachedTokens();
        if (text.isStopped()) {
            return finish("", FinishReason.STOP, usage(cached, text.tokenCount()), true);
        }
        if (request.answers().empty()) {
            return finish("", FinishReason.LENGTH, usage(cached, 0), true);
        }
        String last = text.finish();
        return finish(last, text.isStopped() ? FinishReason.STOP : end.reason(), end.usage(), true);
    }

    /** The end of a choice that a stop string has ended. */
    Finished finishWithoutWorker(int cachedTokens) {
        return finish("", FinishReason.STOP, usage(cachedTokens, text.tokenCount()), false);
    }

    private Usage usage(int cachedTokens, int completionTokens) {
        return new Usage(prompt.length(), cachedTokens, completionTokens);
    }

    private Finished finish(String last, FinishReason reason, Usage usage, boolean byWorker) {
        finished = true;
        List<AnswerPart> rest = rest(echo == null ? last : echo.text() + last);
        Told told = echo == null ? take() : take().after(echo.told());
        return new Finished(index, rest, told, reason, usage, byWorker, /* last */ false);
    }

    /** The last parts of the choice. */
    private List<AnswerPart> rest(String last) {
        if (parser == null) {
            return last.isEmpty() ? List.of() : List.of(new AnswerPart.Text(last));
        }
        List<AnswerPart> parts = new ArrayList<>(parser.accept(last));
        parts.addAll(parser.finish());
        return parts;
    }
}
