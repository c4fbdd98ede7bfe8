package dev.warmpath.tokenization;

import dev.warmpath.tokenization.bpe.TextStream;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Text from tokens as they come. What it returns, joined, is {@link ModelTokenizer#decode(int[])} of all ids, and never
 * ends inside a character; marks that it is to show are in it, too. One generation, one thread.
 *
 * <p>How depends on the model's decoder. A byte-level one has bytes for each token, of which only those of a character
 * in the making wait; one with byte fallback has text for each, and bytes that wait until their run ends; any other is
 * asked for the text of the {@link WindowStream last few tokens} each time.
 */
public final class IncrementalDetokenizer {
    private final TextStream stream;
    /** Special tokens by their ids; nearly always none. */
    private final Map<Integer, String> shown;

    public IncrementalDetokenizer(ModelTokenizer tokenizer) {
        this(tokenizer, List.of(), /* continues */ false);
    }

    /**
     * @param marks     special tokens among them are shown, though {@code decode} leaves them out
     * @param continues the tokens go on with a text: a space that is left out where a text begins stays
     */
    public IncrementalDetokenizer(ModelTokenizer tokenizer, List<String> marks, boolean continues) {
        stream = tokenizer.textStream(continues);
        shown = marks.isEmpty() ? Map.of() : new HashMap<>();
        for (String mark : marks) {
            @Nullable Integer id = tokenizer.specialId(mark);
            if (id != null) {
                shown.put(id, mark);
            }
        }
    }

    /** @return the text that became certain, often empty */
    public String accept(int id) {
        @Nullable String mark = shown.isEmpty() ? null : shown.get(id);
        return mark == null ? stream.accept(id) : stream.finish() + mark;
    }

    /** @return what waited for more tokens: a broken character comes out as U+FFFD */
    public String finish() {
        return stream.finish();
    }
}
