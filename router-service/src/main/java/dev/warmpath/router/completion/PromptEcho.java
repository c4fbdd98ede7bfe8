package dev.warmpath.router.completion;

import dev.warmpath.router.answer.TokenDetails.Told;
import dev.warmpath.router.answer.TokenScore;
import dev.warmpath.router.dispatch.DispatchEvent;
import dev.warmpath.router.routing.TokenizedPrompt;
import dev.warmpath.router.tokenization.IncrementalDetokenizer;
import dev.warmpath.router.tokenization.ModelTokenizer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The prompt's text, and what its tokens were to the model, for answers that tell them. */
final class PromptEcho {

    private final int[] ids;
    private final ModelTokenizer tokenizer;
    private final boolean scored;
    private final String text;
    /** Where the text of each token begins. */
    private final int[] offsets;
    private final List<TokenScore> scores = new ArrayList<>();

    PromptEcho(TokenizedPrompt prompt, CompletionRequest request) {
        this.ids = prompt.tokens();
        this.tokenizer = prompt.model().tokenizer();
        this.scored = request.answers().needsPromptLogprobs();
        this.offsets = new int[ids.length];
        // a text's own special tokens are part of it; what the tokenizer has put before it is not
        @Nullable String given = request.prompt() instanceof Prompt.Text whole ? whole.text() : null;
        this.text = read(given);
    }

    /** A worker is asked; what another one has told before is forgotten. */
    void begin() {
        scores.clear();
        if (scored) {
            scores.add(TokenScore.first(ids[0], tokenizer, offsets[0]));
        }
    }

    private String read(@Nullable String given) {
        var read = new StringBuilder();
        var stream = new IncrementalDetokenizer(tokenizer);
        for (int i = 0; i < ids.length; i++) {
            if (!tokenizer.isSpecial(ids[i])) {
                offsets[i] = read.length();
                read.append(stream.accept(ids[i]));
                continue;
            }
            read.append(stream.finish());
            offsets[i] = read.length();
            String spelling = new String(tokenizer.bytesOf(ids[i]), StandardCharsets.UTF_8);
            if (given == null || read.length() > 0 || given.startsWith(spelling)) {
                read.append(spelling);
            }
        }
        return read.append(stream.finish()).toString();
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

    /** What a choice that begins with the prompt tells of it. */
    Told told() {
        return scored ? new Told(scores) : Told.NOTHING;
    }
}
