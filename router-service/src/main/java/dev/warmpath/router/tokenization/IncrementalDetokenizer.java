package dev.warmpath.router.tokenization;

import dev.warmpath.router.tokenization.bpe.TextStream;

/**
 * Text from tokens as they come. What it returns, joined, is {@link ModelTokenizer#decode(int[])} of all ids, and never
 * ends inside a character. One generation, one thread.
 *
 * <p>How depends on the model's decoder: a byte-level one has bytes for each token, of which only those of a character
 * in the making wait; any other is asked for the text of the {@link WindowStream last few tokens} each time.
 */
public final class IncrementalDetokenizer {
    private final TextStream stream;

    public IncrementalDetokenizer(ModelTokenizer tokenizer) {
        stream = tokenizer.textStream();
    }

    /** @return the text that became certain, often empty */
    public String accept(int id) {
        return stream.accept(id);
    }

    /** @return what waited for more tokens: a broken character comes out as U+FFFD */
    public String finish() {
        return stream.finish();
    }
}
