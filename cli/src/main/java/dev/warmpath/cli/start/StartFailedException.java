package dev.warmpath.cli.start;

import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/** A process did not come up. */
public final class StartFailedException extends Exception {

    private static final long serialVersionUID = 1;

    /** Whose last words tell more; null: the sentence is all. */
    private final transient @Nullable Path log;

    StartFailedException(String sentence, @Nullable Path log) {
        super(sentence);
        this.log = log;
    }

    public @Nullable Path log() {
        return log;
    }
}
