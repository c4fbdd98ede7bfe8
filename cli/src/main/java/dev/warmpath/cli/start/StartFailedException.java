package dev.warmpath.cli.start;

import dev.warmpath.cli.fleet.LogTail;
import java.nio.file.Path;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** A process did not come up. */
public final class StartFailedException extends Exception {

    private static final long serialVersionUID = 1;

    private final transient List<String> lastWords;

    /** @param log whose last words, as they are now, tell more; null: the sentence is all */
    StartFailedException(String sentence, @Nullable Path log) {
        super(sentence);
        lastWords = log == null ? List.of() : LogTail.lastWords(log);
    }

    /** Of the log that tells more. */
    public List<String> lastWords() {
        return lastWords;
    }
}
