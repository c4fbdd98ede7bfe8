package dev.warmpath.router.answer;

import dev.warmpath.tokenization.IncrementalDetokenizer;
import dev.warmpath.tokenization.ModelTokenizer;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;

/**
 * One choice of an answer, as one worker draws it: whole characters only, up to the first stop string. One thread at a
 * time.
 */
public final class ChoiceText {

    private final IncrementalDetokenizer detokenizer;
    private final StopStrings stops;
    /** In ascending order: few, or none. */
    private final int[] silentIds;
    private int tokenCount;
    private int readLength;

    /**
     * @param stopStrings text that ends the choice; none empty
     * @param includeStop whether that is part of it
     * @param silentIds   tokens that end it and are not part of its text; the model's own of this kind among them if
     *                    they end it
     * @param marks       special tokens that are part of its text nevertheless
     * @param continues   it goes on with a text: a space at its beginning stays
     */
    public ChoiceText(ModelTokenizer tokenizer, List<String> stopStrings, boolean includeStop, IntStream silentIds,
            List<String> marks, boolean continues) {
        this.detokenizer = new IncrementalDetokenizer(tokenizer, marks, continues);
        this.stops = new StopStrings(stopStrings, includeStop);
        this.silentIds = silentIds.sorted().toArray();
    }

    /**
     * @param ids the next tokens; those behind a stop string are no part of the choice
     * @return text that is certain now, often empty
     */
    public String accept(int[] ids) {
        if (ids.length == 1) {
            return accept(ids[0]);
        }
        var text = new StringBuilder();
        for (int id : ids) {
            text.append(accept(id));
        }
        return text.toString();
    }

    /** The same for one token. */
    public String accept(int id) {
        if (isStopped()) {
            return "";
        }
        tokenCount++;
        boolean isSilent = Arrays.binarySearch(silentIds, id) >= 0;
        return stops.accept(read(isSilent ? "" : detokenizer.accept(id)));
    }

    private String read(String text) {
        readLength += text.codePointCount(0, text.length());
        return text;
    }

    /** The end of the tokens. @return the text that waited for more; it may contain a stop string yet */
    public String finish() {
        if (isStopped()) {
            return "";
        }
        String last = stops.accept(read(detokenizer.finish()));
        return isStopped() ? last : last + stops.finish();
    }

    /** Characters so far, those among them that may become a stop string. */
    public int readLength() {
        return readLength;
    }

    /** True once a stop string has come: the choice is over. */
    public boolean isStopped() {
        return stops.isStopped();
    }

    /** Tokens so far, that which completed a stop string included. */
    public int tokenCount() {
        return tokenCount;
    }
}
