package dev.warmpath.router.completion;

import dev.warmpath.router.answer.TokenScore;
import dev.warmpath.router.completion.CompletionRequest.Echo;
import dev.warmpath.router.dispatch.DispatchEvent;
import dev.warmpath.router.routing.TokenizedPrompt;
import dev.warmpath.tokenization.IncrementalDetokenizer;
import dev.warmpath.tokenization.ModelTokenizer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The prompt's text, and what its tokens were to the model, for answers that tell them. */
final class PromptEcho {

    private final int[] ids;
    private final ModelTokenizer tokenizer;
    private final boolean scored;
    private final boolean echoesScores;
    private final String text;
    private final int length;
    /** Where the text of each token begins, in code points. */
    private final int[] offsets;
    private final List<TokenScore> scores = new ArrayList<>();

    PromptEcho(TokenizedPrompt prompt, CompletionRequest request) {
        this.ids = prompt.tokens();
        this.tokenizer = prompt.model().tokenizer();
        this.scored = request.answers().needsPromptLogprobs();
        this.echoesScores = request.answers().echo() == Echo.SCORED;
        this.offsets = new int[ids.length];
        // a text's own special tokens are part of it; what the tokenizer has put before it is not
        @Nullable String given = request.prompt() instanceof Prompt.Text whole ? whole.text() : null;
        var read = new StringBuilder();
        this.length = read(given, read);
        this.text = read.toString();
    }

    /** A worker is asked; what another one has told before is forgotten. */
    void begin() {
        scores.clear();
        if (scored) {
            scores.add(TokenScore.first(ids[0], tokenizer, offsets[0]));
        }
    }

    private int read(@Nullable String given, StringBuilder read) {
        var stream = new IncrementalDetokenizer(tokenizer);
        int characters = 0;
        for (int i = 0; i < ids.length; i++) {
            if (!tokenizer.isSpecial(ids[i])) {
                offsets[i] = characters;
                characters += append(read, stream.accept(ids[i]));
                continue;
            }
            characters += append(read, stream.finish());
            offsets[i] = characters;
            String spelling = new String(tokenizer.bytesOf(ids[i]), StandardCharsets.UTF_8);
            if (given == null || characters > 0 || given.startsWith(spelling)) {
                characters += append(read, spelling);
            }
        }
        return characters + append(read, stream.finish());
    }

    private static int append(StringBuilder to, String text) {
        to.append(text);
        return text.codePointCount(0, text.length());
    }

    /** What a worker tells next. @return that, and before it the prompt's first token, of which there is nothing to tell */
    List<TokenScore> add(DispatchEvent.Prompt told) {
        int from = scores.size() == 1 ? 0 : scores.size();
        for (int i = 0; i < told.ranks().length; i++) {
            int position = scores.size();
            scores.add(TokenScore.of(ids[position], tokenizer, offsets[position], told.scores(), i, told.ranks()[i]));
        }
        return List.copyOf(scores.subList(from, scores.size()));
    }

    String text() {
        return text;
    }

    /** In characters, as code points. */
    int length() {
        return length;
    }

    /** What a choice that begins with the prompt tells of it; empty if that is not asked for. */
    List<TokenScore> told() {
        return echoesScores ? scores : List.of();
    }
}
